// Request parts that all formats read the same way.
import { isRecord, type Json, numberOf, stringOf } from "../../core/json.ts";
import type { Effort, ResponseFormat, Sampling } from "../../core/neutral.ts";
import type { ActionsAsk } from "./action-tools.ts";
import type { Field } from "./field-table.ts";
import type { KnownBody } from "./known-fields.ts";
import type { ModelRequest, OutputBound } from "./model-request.ts";
import { readPreferences } from "./preferences.ts";
import { readText, sentText } from "./prompt-text.ts";

/** The models named in a body: its model, then the alternatives. */
export function wantedNames(model: string | null | undefined, models: readonly string[] | null | undefined) {
  const more = (models ?? []).map((name, at) => ({ name, param: `models.${at}` }));
  return typeof model === "string" ? [{ name: model, param: "model" }, ...more] : more;
}

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
  const parts = {
    sent,
    dropped: more.length === 0 ? dropped : [...dropped, ...more],
    unknownPart: unknown,
    maxCostCents: sent.max_cost_cents,
    preferences,
    sentText: () => sentText(body, table),
    readText: () => readText(body, table),
  };
  return actions === null ? parts : { ...parts, actions };
}

/** The output limit for formats whose clients request far more than they use. */
export function sharedOutput(asked: number | null | undefined): OutputBound {
  return { asked: asked ?? null, fallback: null, cap: null, shared: true };
}

const EFFORTS: readonly Effort[] = ["minimal", "low", "medium", "high", "xhigh", "max"];

export function effortOf(word: unknown): Effort | null {
  return EFFORTS.find((effort) => effort === word) ?? null;
}

/** One stop sequence or a list; empty ones are dropped. */
export function stopsIn(stops: unknown): string[] {
  if (stops === undefined || stops === null) return [];
  return [stops].flat().filter((stop): stop is string => typeof stop === "string" && stop !== "");
}

const SNAKE = {
  topP: "top_p",
  topK: "top_k",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
};
const CAMEL = { topP: "topP", topK: "topK", presencePenalty: "presencePenalty", frequencyPenalty: "frequencyPenalty" };

/** The sampling fields of a body, in snake case or camel case. */
export function samplingOf(body: Json, spelling: "snake" | "camel" = "snake"): Sampling {
  const names = spelling === "snake" ? SNAKE : CAMEL;
  const number = (field: string) => numberOf(body[field]) ?? null;
  return {
    temperature: number("temperature"),
    topP: number(names.topP),
    topK: number(names.topK),
    presencePenalty: number(names.presencePenalty),
    frequencyPenalty: number(names.frequencyPenalty),
    seed: number("seed"),
  };
}

/** OpenAI's response format, whose schema is in `spec`. */
export function responseFormat(type: unknown, spec: unknown): ResponseFormat | null {
  if (type !== "json_schema") return type === "json_object" ? { kind: "json" } : null;
  const { schema, name, strict } = isRecord(spec) ? spec : {};
  if (!isRecord(schema)) return { kind: "json" };
  return { kind: "schema", schema, name: stringOf(name) ?? null, strict: typeof strict === "boolean" ? strict : null };
}
