// What all formats read alike of a request.
import type { Json } from "../../core/json.ts";
import type { ActionsAsk } from "./action-tools.ts";
import type { Field } from "./field-table.ts";
import type { KnownBody } from "./known-fields.ts";
import type { ModelRequest, OutputBound } from "./model-request.ts";
import { readPreferences } from "./preferences.ts";
import { readText, sentText } from "./prompt-text.ts";

/** The names of models in a body: its model, and those that may serve in its place. */
export function wantedNames(model: string | null | undefined, models: readonly string[] | null | undefined) {
  const more = (models ?? []).map((name, at) => ({ name, param: `models.${at}` }));
  return typeof model === "string" ? [{ name: model, param: "model" }, ...more] : more;
}

/** The parts of a request that its known fields decide. */
export function commonParts(
  sent: Json,
  { body, dropped, unknown }: KnownBody,
  table: Field,
  actions: ActionsAsk | null,
): Pick<
  ModelRequest,
  "sent" | "dropped" | "unknownPart" | "maxCostCents" | "preferences" | "sentText" | "readText" | "actions"
> {
  const { preferences, dropped: more } = readPreferences(sent.provider);
  return {
    sent,
    dropped: more.length === 0 ? dropped : [...dropped, ...more],
    unknownPart: unknown,
    maxCostCents: sent.max_cost_cents,
    preferences,
    sentText: () => sentText(body, table),
    readText: () => readText(body, table),
    ...(actions === null ? {} : { actions }),
  };
}

/** The bound of formats whose clients ask for far more output than they use. */
export function sharedOutput(asked: number | null | undefined): OutputBound {
  return { asked: asked ?? null, fallback: null, cap: null, shared: true };
}
