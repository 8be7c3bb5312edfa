// The language-model endpoints that every wire shares: embeddings and units make plans, models and pricing answer for free.
import { allowedModel, allowedPricing } from "../accounts/allowed-models.ts";
import { BY_KEY, seenBy } from "../catalog/audience.ts";
import type { Audience } from "../catalog/catalog.ts";
import { keptJson } from "../catalog/kept-by-audience.ts";
import type { Answer, Call, Endpoint, EndpointSpec } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { chatErrors } from "../wires/chat-completions/errors.ts";
import { VERSION_HEADER } from "../wires/messages/headers.ts";
import { asksForPage, type ModelRow, modelJson, modelListJson, modelPageJson } from "../wires/messages/models.ts";
import { at } from "../wires/paths.ts";
import { embeddingsPlan } from "./embeddings-plan.ts";
import type { ChatDeps } from "./model-plan.ts";
import { unitEndpoints } from "./unit-endpoints.ts";
import { PAID } from "./wire-endpoints.ts";

/** The free answers, from the catalog as the caller sees it; the list and the prices are the same objects while it is in force. */
export interface PriceAnswers {
  models(audience: Audience): ModelList;
  /** By any name that a call may give it. */
  model(name: string, audience: Audience): AnyModelRow | GatewayError;
  pricing(audience: Audience): Priced;
}

type AnyModelRow = ModelRow & { readonly id: string; readonly available: boolean };
type ModelList = { readonly data: readonly AnyModelRow[] };
type Priced = Parameters<typeof allowedPricing>[0];

const FREE = { method: "GET", auth: "none", bodyBytesMax: 0, errors: chatErrors } as const;
const paid = { ...PAID, errors: chatErrors } as const;

/** An endpoint that knows no wire, below the language models' path and in OpenAI's words for errors. */
export function inChatWire(spec: EndpointSpec): Endpoint {
  return { ...spec, ...at(spec.path), errors: chatErrors };
}

function free(path: string, make: (call: Call) => unknown): Endpoint {
  return {
    ...FREE,
    ...at(path),
    answer(call): Answer | GatewayError {
      const body = make(call);
      return body instanceof GatewayError ? body : { status: 200, body, headers: BY_KEY };
    },
  };
}

/** The endpoints below the language models' path that are no wire's own. */
export function chatEndpoints(deps: ChatDeps, answers: PriceAnswers): readonly Endpoint[] {
  const listText = keptJson((list: ModelList) => list);
  const otherListText = keptJson((list: ModelList) => modelListJson(list.data));
  const pricesText = keptJson((prices: object) => prices);
  return [
    { ...paid, ...at("/embeddings"), plan: (call) => embeddingsPlan(call, deps) },
    ...unitEndpoints(deps).map(inChatWire),
    free("/models", ({ request, caller }) => {
      const all = answers.models(seenBy(caller));
      const isOther = request.headers.has(VERSION_HEADER);
      const isForAll = caller === null || caller.allows.models === null;
      const list = isForAll ? all : { ...all, data: all.data.map((row) => allowedModel(row, caller.allows)) };
      if (isOther && asksForPage(request.query)) return modelPageJson(list.data, request.query);
      // What is the same for everybody is written once.
      if (isForAll) return isOther ? otherListText(all) : listText(all);
      return isOther ? modelListJson(list.data) : list;
    }),
    free("/models/{slug...}", ({ request, caller }) => {
      const known = answers.model(request.params.slug ?? "", seenBy(caller));
      const row = known instanceof GatewayError ? known : allowedModel(known, caller?.allows);
      return row instanceof GatewayError || !request.headers.has(VERSION_HEADER) ? row : modelJson(row);
    }),
    free("/pricing", ({ caller }) => {
      const prices = answers.pricing(seenBy(caller));
      const isForAll = caller === null || caller.allows.models === null;
      return isForAll ? pricesText(prices) : allowedPricing(prices, caller.allows);
    }),
  ];
}
