// The request that shows whether a vendor serves us: the cheapest one that can, as one candidate of a route.
import { z } from "zod";
import { upstreamCentsOf } from "../actions/run/action-price.ts";
import type { ActionSpec } from "../catalog/action.ts";
import type { ActionOffer, Adapter, Catalog, Offer } from "../catalog/catalog.ts";
import type { Params } from "../catalog/said.ts";
import { idAfter } from "../core/ids.ts";
import { nanoFromCents } from "../core/money.ts";
import type { Candidate } from "../core/route.ts";
import { chatAnswers } from "../models/formats/chat-completions/answers.ts";
import type { ChatBody } from "../models/formats/chat-completions/fields.ts";
import { chatRequest } from "../models/formats/chat-completions/request.ts";
import type { Upstream } from "../upstream/upstream.ts";

/** Enough for a word. A reasoning model may stop before it; that counts as an answer too. */
const OUTPUT_TOKENS = 16;
/** Costlier questions are not sent. */
const CENTS_MAX = 1;
/** A host made up for an example: it cannot be fetched. */
export const MADE_UP = /\.example\b/;
const LIVE = { sandbox: false };
const CHECK_BODY: ChatBody = { messages: [{ role: "user", content: "Answer with the word ok." }] };

export interface CheckOrder {
  readonly catalog: Catalog;
  readonly upstream: Upstream;
  readonly requestId: string;
  readonly createdS: number;
  readonly msMax: number;
}

export interface CheckQuestion {
  /** The model, action or path that the question calls. */
  readonly asked: string;
  readonly candidate: Candidate;
}

/** The question, or why there is none. */
export type CheckAsk = CheckQuestion | string;

/** Models that answer without hidden reasoning first, then the cheapest: a question costs a thousandth of a cent. */
export function cheapestFirst(a: Offer, b: Offer): number {
  const reasons = Number(a.wire.hidesReasoning === true) - Number(b.wire.hidesReasoning === true);
  return reasons || a.cost.output - b.cost.output || a.cost.input - b.cost.input;
}

export interface ModelQuestion {
  readonly offer: Offer;
  readonly slug: string;
  readonly body: ChatBody;
  readonly outputTokensMax: number;
}

/** A question to a model as a candidate, or why the model cannot take it. */
export function askModel({ offer, slug, body, outputTokensMax }: ModelQuestion, order: CheckOrder): CheckAsk {
  const { upstream, requestId, createdS, msMax } = order;
  const completionId = idAfter(requestId, "chatcmpl-");
  const candidate = upstream.chatCandidate(offer, {
    asked: { ...chatRequest(body), mayBeEmpty: true },
    answers: chatAnswers({ id: completionId, createdS, model: slug }),
    requestId,
    completionId,
    createdS,
    stream: body.stream === true,
    servedSlug: slug,
    contextTokens: offer.spec.contextTokens,
    outputTokensMax,
    clocks: { firstTokenMsMax: msMax, lastFirstTokenMsMax: msMax, gapMsMax: msMax },
  });
  return typeof candidate === "string" ? candidate : { asked: offer.upstreamModel, candidate };
}

export function askAction(offer: ActionOffer, params: Params, { upstream, requestId }: CheckOrder): CheckQuestion {
  const isSandbox = offer.adapter.isSandbox === true;
  const candidate = upstream.actionCandidate(offer, {
    soldId: offer.id,
    // Our own check spends no money: a merchant that charges per call is checked only with play money.
    ...(isSandbox ? { paying: { mostNano: nanoFromCents(offer.spec.price.cents), isCallers: false } } : null),
    params,
    row: null,
    requestId,
    restore: (json) => json,
    preamble: null,
    sandbox: isSandbox ? { fault: null } : null,
  });
  return { asked: offer.id, candidate };
}

/** The list of a server's models, called like an action. */
function askList(adapter: Adapter, path: string, order: CheckOrder): CheckQuestion {
  const spec: ActionSpec = {
    description: "Lists the models of the server.",
    category: "models",
    effect: "read",
    params: z.strictObject({}),
    price: { mode: "fixed", cents: 0 },
    upstreamCents: 0,
    request: { method: "GET", path },
    timeoutMs: order.msMax,
    example: { params: {}, answers: [{ data: [] }] },
  };
  const id = `${adapter.id}${path}`;
  const offer: ActionOffer = { adapter, id, spec, table: null, healthKey: id, names: {}, lacks: [] };
  return { ...askAction(offer, {}, order), asked: path };
}

function cheapestAction(adapter: Adapter, order: CheckOrder): CheckAsk {
  const asks = order.catalog
    .actions(LIVE)
    .flatMap(({ offers }) => offers)
    .filter((offer) => offer.adapter.id === adapter.id)
    .filter(({ spec: { effect, table } }) => effect === "read" && table === undefined)
    .filter(({ spec: { requires = [], files } }) => requires.every(({ inside }) => inside !== undefined) && !files)
    .filter(({ spec: { example } }) => !MADE_UP.test(JSON.stringify(example.params)))
    .map((offer) => {
      const params: Params = offer.spec.params.parse(offer.spec.example.params);
      return { offer, params, cents: upstreamCentsOf(offer.spec, params, null) };
    })
    .sort((a, b) => a.cents - b.cents);
  const [least] = asks;
  if (least === undefined) return "none of its actions can be asked without an effect";
  if (least.cents > CENTS_MAX) return `its cheapest action costs ${least.cents} cents`;
  const spec = { ...least.offer.spec, timeoutMs: order.msMax };
  return askAction({ ...least.offer, adapter, spec }, least.params, order);
}

/** The smallest ranking request: one single-word document. */
function askRanks(adapter: Adapter, { catalog, upstream, requestId, createdS, msMax }: CheckOrder): CheckAsk {
  const offers = catalog.unitModels(LIVE).flatMap(({ slug, offers: some }) => some.map((offer) => ({ slug, offer })));
  const first = offers.find(({ offer }) => offer.adapter.id === adapter.id && offer.spec.kind === "rerank");
  if (first === undefined) return "none of its models can be asked for less than a cent";
  const candidate = upstream.unitCandidate(
    { ...first.offer, adapter },
    {
      requestId,
      completionId: requestId,
      createdS,
      servedSlug: first.slug,
      clocks: { firstTokenMsMax: msMax, lastFirstTokenMsMax: msMax, gapMsMax: msMax },
      asked: { task: "rerank", body: { query: "ok", documents: ["ok"], top_n: 1 }, files: [], stream: false },
    },
  );
  return { asked: first.offer.upstreamModel, candidate };
}

export function checkQuestion(adapter: Adapter, order: CheckOrder): CheckAsk {
  const { chat, actions, unitModels } = adapter.spec;
  if (chat === undefined && actions === undefined && unitModels !== undefined) return askRanks(adapter, order);
  if (chat === undefined) return cheapestAction(adapter, order);
  const offers = order.catalog
    .models(LIVE)
    .flatMap(({ slug, retires, offers }) => offers.map((offer) => ({ slug, retires, offer })))
    .filter(({ offer }) => offer.adapter.id === adapter.id)
    // The vendor may have retired a model that ends soon before its date.
    .sort((a, b) => Number(a.retires !== null) - Number(b.retires !== null) || cheapestFirst(a.offer, b.offer));
  const [first] = offers;
  if (first !== undefined) {
    const offer = { ...first.offer, adapter };
    return askModel({ offer, slug: first.slug, body: CHECK_BODY, outputTokensMax: OUTPUT_TOKENS }, order);
  }
  if (chat.modelsPath !== undefined) return askList(adapter, chat.modelsPath, order);
  return "none of its models is sold here";
}
