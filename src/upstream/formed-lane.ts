// A lane for whole answers that must match a JSON Schema: repairs near-JSON, and checks the result against the schema.
import type { ChatWire } from "../catalog/chat-wire.ts";
import type { ResponseFormat } from "../core/neutral.ts";
import { fitsSchema } from "./fits-schema.ts";
import type { CallerSide, Lane } from "./lane.ts";
import { nearlyJson } from "./nearly-json.ts";

/** Longer texts are left alone, because repairs run in the thread that serves all calls. */
const TEXT_CHARS_MAX = 16 * 1024;

type Schema = Extract<ResponseFormat, { readonly kind: "schema" }>;

function parsed(text: string): { readonly json: unknown } | null {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return null;
  }
}

function isGood(text: string, schema: Schema): boolean {
  const read = parsed(text);
  return read !== null && fitsSchema(read.json, schema.schema);
}

/** Repairs a text that is not JSON into JSON that fits; null if that fails. Only objects and lists: any text could count as a string. */
export function mended(text: string, schema: Schema): string | null {
  if (text.length > TEXT_CHARS_MAX || parsed(text) !== null) return null;
  const made = nearlyJson(text);
  return made !== null && isGood(made, schema) ? made : null;
}

export interface FormedLane {
  readonly lane: Lane;
  repaired(): boolean;
}

/** Checks whole answers against a requested schema. One beyond repair is unfit only if the vendor got the schema as an instruction. */
export function formedLane(
  lane: Lane,
  { stream, asked, answers: { texts } }: Pick<CallerSide, "asked" | "answers"> & { readonly stream: boolean },
  { takes }: ChatWire,
): FormedLane {
  const format = stream || texts === undefined ? null : asked.format();
  if (format?.kind !== "schema" || texts === undefined) return { lane, repaired: () => false };
  const inWords = takes?.formats === "json_object";
  let isMended = false;
  const answer: Lane["answer"] = (json) => {
    const read = lane.answer(json);
    if ("kind" in read || read.empty !== undefined) return read;
    isMended = false;
    let isUnfit = false;
    for (const { text, put } of texts(read.body)) {
      if (isGood(text, format)) continue;
      const better = mended(text, format);
      if (better === null) {
        isUnfit = true;
        continue;
      }
      put(better);
      isMended = true;
    }
    return isUnfit && inWords ? { ...read, unfit: "the answer does not fit the schema that was asked for" } : read;
  };
  return { lane: { ...lane, answer }, repaired: () => isMended };
}
