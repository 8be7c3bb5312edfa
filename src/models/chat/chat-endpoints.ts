// The language-model endpoints shared by all wires: calls of unit-priced models, and the free lists of models and prices.

import { type Audience, BY_KEY, seenBy } from "../../catalog/catalog.ts";
import { keptJson } from "../../catalog/kept-by-audience.ts";
import type { Answer, Call, Endpoint, EndpointSpec } from "../../core/endpoint.ts";
import { allowedModel, allowedPricing } from "../../money/accounts/allowed-models.ts";
import { chatErrors } from "../formats/chat-completions/wire.ts";
import { MODEL_WIRES } from "../formats/model-wires.ts";
import { at } from "../formats/paths.ts";
import type { ModelRow, ModelRows } from "../formats/wire.ts";
import type { ChatDeps } from "./deps.ts";
import { unitEndpoints } from "./unit-endpoints.ts";

/** Free catalog answers, as the caller may see them. The list and the prices are the same objects until the catalog changes. */
export interface PriceAnswers {
  models(audience: Audience): Promise<ModelList>;
  /** Accepts any name that a call may use. Throws for an unknown one. */
  model(name: string, audience: Audience): AnyModelRow;
  pricing(audience: Audience): Promise<Priced>;
}

type AnyModelRow = ModelRow & { readonly id: string; readonly available: boolean };
type ModelList = { readonly data: readonly AnyModelRow[] };
type Priced = Parameters<typeof allowedPricing>[0];

const NO_QUERY = new URLSearchParams();
const FREE = { method: "GET", auth: "none", bodyBytesMax: 0, errors: chatErrors } as const;

/** An endpoint of no particular wire, under the language-model path, with OpenAI's error format. */
export function inChatWire(spec: EndpointSpec): Endpoint {
  return { ...spec, ...at(spec.path), errors: chatErrors };
}

function free(path: string, make: (call: Call) => unknown): Endpoint {
  return {
    ...FREE,
    ...at(path),
    answer: async (call): Promise<Answer> => ({ status: 200, body: await make(call), headers: BY_KEY }),
  };
}

/** The same answers for wires that have their own list of models. */
export function modelRows(answers: Pick<PriceAnswers, "models" | "model">): ModelRows {
  return {
    async all(caller) {
      const { data } = await answers.models(seenBy(caller));
      return caller === null ? data : data.map((row) => allowedModel(row, caller.allows));
    },
    one: (name, caller) => allowedModel(answers.model(name, seenBy(caller)), caller?.allows),
  };
}

/** The endpoints under the language-model path that belong to no wire. */
export function chatEndpoints(deps: ChatDeps, answers: PriceAnswers): readonly Endpoint[] {
  const rows = modelRows(answers);
  const listText = keptJson((list: ModelList) => list);
  const ownLists = MODEL_WIRES.flatMap(({ models }) => {
    if (models === undefined) return [];
    return [{ models, text: keptJson((list: ModelList) => models.list(list.data, NO_QUERY)) }];
  });
  const pricesText = keptJson((prices: object) => prices);
  return [
    ...unitEndpoints(deps).map(inChatWire),
    free("/models", async ({ request, caller }) => {
      const all = await answers.models(seenBy(caller));
      const isForAll = caller === null || caller.allows.models === null;
      const list = isForAll ? all : { ...all, data: await rows.all(caller) };
      const own = ownLists.find(({ models }) => models.isAsked(request));
      // The list that all callers share is serialized once.
      if (own === undefined) return isForAll ? listText(all) : list;
      return isForAll && request.query.size === 0 ? own.text(all) : own.models.list(list.data, request.query);
    }),
    free("/models/{slug...}", ({ request, caller }) => {
      const row = rows.one(request.params.slug ?? "", caller);
      return ownLists.find(({ models }) => models.isAsked(request))?.models.one(row) ?? row;
    }),
    free("/pricing", async ({ caller }) => {
      const prices = await answers.pricing(seenBy(caller));
      const isForAll = caller === null || caller.allows.models === null;
      return isForAll ? pricesText(prices) : allowedPricing(prices, caller.allows);
    }),
  ];
}
