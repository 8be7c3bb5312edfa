// The plain form of OpenAI's responses wire, used by vendors that search before they answer: typed messages with one text each.
import { defined, isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { NeutralRequest } from "../../../core/neutral.ts";
import { JSON_ONLY } from "../../../upstream/dialects/json-words.ts";

/** A message with its parts joined into one text. Media was refused earlier: no such vendor accepts it. */
function plainItem(item: Json): Json {
  if (item.role === undefined) return item;
  const parts = Array.isArray(item.content) ? item.content.filter(isRecord) : [];
  return { type: "message", role: item.role, content: parts.map(({ text }) => stringOf(text) ?? "").join("") };
}

/** The request fields that differ in this form; undefined ones are removed. */
export function plainFields(items: readonly Json[], { format }: NeutralRequest): Json {
  const input = items.map(plainItem);
  if (format === null) return { input, text: undefined };
  // It cannot request arbitrary JSON objects, only ones that match a schema.
  if (format.kind === "json") return { input, text: undefined, instructions: JSON_ONLY };
  const { name, schema, strict } = format;
  const json_schema = defined({ name: name ?? "answer", schema, strict: strict ?? undefined });
  return { input, text: undefined, response_format: { type: "json_schema", json_schema } };
}
