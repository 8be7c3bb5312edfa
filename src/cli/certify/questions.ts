// The questions of `tollgate certify` to one vendor: five to the cheapest model of each family, and the example of each action.

import { upstreamCentsOf } from "../../actions/run/action-price.ts";
import type { ActionOffer, Adapter, Catalog, Offer } from "../../catalog/catalog.ts";
import { boundOf, priceAt } from "../../catalog/price.ts";
import type { Params } from "../../catalog/said.ts";
import { type Nano, nanoFromCents, ZERO } from "../../core/money.ts";
import {
  askAction,
  askModel,
  type CheckAsk,
  type CheckOrder,
  cheapestFirst,
  MADE_UP,
} from "../../gateway/check-question.ts";
import type { ChatBody } from "../../models/formats/chat-completions/fields.ts";

/** More tokens than any prompt below, including what vendors add to it. */
const PROMPT_TOKENS_MAX = 600;
/** Enough for a short thought and a short answer. */
const OUTPUT_TOKENS = 300;
/** A model that no vendor has; its stand-in refuses it as the vendor would. */
const NO_MODEL = "404";

export const QUESTION_KINDS = ["whole", "streamed", "tools", "schema", "refusal", "action"] as const;
export type QuestionKind = (typeof QUESTION_KINDS)[number];

export interface Question {
  readonly kind: QuestionKind;
  /** The vendor's model, or the action. */
  readonly asked: string;
  readonly boundNano: Nano;
  /** The offer that our price comes from. */
  readonly offer:
    | { readonly of: "model"; readonly offer: Offer }
    | { readonly of: "action"; readonly offer: ActionOffer; readonly params: Params };
  /** Why it is skipped; null: it is not. */
  readonly without: string | null;
  /** The question to this vendor, or to its stand-in. Null: the stand-in does not know it. */
  open(order: CheckOrder, sandbox: boolean): CheckAsk;
}

const says = (content: string) => [{ role: "user", content }];
const WORD = {
  type: "object",
  properties: { word: { type: "string" } },
  required: ["word"],
  additionalProperties: false,
};

const BODIES: Readonly<Record<Exclude<QuestionKind, "action">, ChatBody>> = {
  whole: { messages: says("Answer with the word ok.") },
  streamed: { messages: says("Answer with the word ok."), stream: true },
  tools: {
    messages: says("Call note_word with the word ok."),
    tools: [{ type: "function", function: { name: "note_word", description: "Notes a word.", parameters: WORD } }],
    tool_choice: "required",
  },
  schema: {
    messages: says("Answer with the word ok, as JSON."),
    response_format: { type: "json_schema", json_schema: { name: "word", strict: true, schema: WORD } },
  },
  refusal: { messages: says("Answer with the word ok.") },
};

/** Models of a vendor with the same wire format are a family; its cheapest model represents it. */
function familiesOf(offers: readonly ModelOffer[]): readonly ModelOffer[] {
  const families = new Map<string, ModelOffer>();
  const cheapest = [...offers].sort((a, b) => cheapestFirst(a.offer, b.offer));
  for (const one of cheapest) {
    const family = JSON.stringify(one.offer.wire);
    if (!families.has(family)) families.set(family, one);
  }
  return [...families.values()];
}

interface ModelOffer {
  readonly slug: string;
  readonly offer: Offer;
}

function modelOffers(catalog: Catalog, id: string, sandbox: boolean): readonly ModelOffer[] {
  return catalog
    .models({ sandbox })
    .flatMap(({ slug, offers }) => offers.map((offer) => ({ slug, offer })))
    .filter(({ offer }) => offer.adapter.id === id);
}

function actionOffers(catalog: Catalog, id: string, sandbox: boolean): readonly ActionOffer[] {
  return catalog
    .actions({ sandbox })
    .flatMap(({ offers }) => offers)
    .filter(({ adapter }) => adapter.id === id);
}

function modelQuestions({ slug, offer }: ModelOffer, catalog: Catalog, nowMs: number): readonly Question[] {
  const same = ({ offer: other }: ModelOffer) => other.upstreamModel === offer.upstreamModel;
  const standIn = () => modelOffers(catalog, offer.adapter.id, true).find(same)?.offer;
  const bound = boundOf(priceAt(offer.cost, nowMs), {
    inputTokensMax: PROMPT_TOKENS_MAX,
    outputTokensMax: OUTPUT_TOKENS,
  });
  const { formats, refuses = [] } = offer.wire.takes ?? {};
  const lacks: Partial<Record<QuestionKind, string>> = {
    ...(formats === "json_object" ? { schema: "it takes no schema" } : null),
    ...(refuses.includes("tools") ? { tools: "it takes no tools" } : null),
  };
  return (Object.keys(BODIES) as (keyof typeof BODIES)[]).map((kind) => ({
    kind,
    asked: offer.upstreamModel,
    boundNano: kind === "refusal" ? ZERO : bound,
    offer: { of: "model", offer },
    without: lacks[kind] ?? null,
    open(order, sandbox) {
      const found = sandbox ? standIn() : offer;
      if (found === undefined) return "the stand-in does not know it";
      const asked = kind === "refusal" ? { ...found, upstreamModel: NO_MODEL } : found;
      return askModel({ offer: asked, slug, body: BODIES[kind], outputTokensMax: OUTPUT_TOKENS }, order);
    },
  }));
}

/** Why an action is skipped whose example names something that another call of the same caller creates. */
export const NEEDS_ANOTHER = "it needs what another call made";

/** Why a live action's example is not called; null: it is. */
function whyNot({ adapter, spec }: ActionOffer): string | null {
  if (spec.table !== undefined) return "it is a table of endpoints";
  if (!(spec.requires ?? []).every(({ inside }) => inside !== undefined)) return NEEDS_ANOTHER;
  if (spec.files) return "it needs a file";
  if (adapter.isSandbox === true) return null;
  if (spec.effect !== "read") return "it has an effect";
  return MADE_UP.test(JSON.stringify(spec.example.params)) ? "its example names a host that is made up" : null;
}

function actionQuestion(offer: ActionOffer, catalog: Catalog): Question {
  const params: Params = offer.spec.params.parse(offer.spec.example.params);
  const without = whyNot(offer);
  return {
    kind: "action",
    asked: offer.id,
    boundNano: without === null ? nanoFromCents(upstreamCentsOf(offer.spec, params, null)) : ZERO,
    offer: { of: "action", offer, params },
    without,
    open(order, sandbox) {
      const found = sandbox ? actionOffers(catalog, offer.adapter.id, true).find(({ id }) => id === offer.id) : offer;
      return found === undefined ? "the stand-in does not know it" : askAction(found, params, order);
    },
  };
}

export function questionsFor(adapter: Adapter, catalog: Catalog, nowMs: number): readonly Question[] {
  const sandbox = adapter.isSandbox === true;
  const families = familiesOf(modelOffers(catalog, adapter.id, sandbox));
  return [
    ...families.flatMap((family) => modelQuestions(family, catalog, nowMs)),
    ...actionOffers(catalog, adapter.id, sandbox).map((offer) => actionQuestion(offer, catalog)),
  ];
}
