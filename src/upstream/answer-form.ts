// Whole answers that must match a JSON Schema: repairs near-JSON, and checks the result against the schema.
import type { ChatWire } from "../catalog/chat-wire.ts";
import { parsedJson } from "../core/json.ts";
import type { AnswerCodec, ResponseFormat } from "../core/neutral.ts";
import type { AttemptFailure } from "../core/route.ts";
import { fitsSchema } from "./fits-schema.ts";
import type { UnaryAnswer } from "./format-kit/dialect.ts";
import type { CallerSide } from "./lane.ts";
import { nearlyJson } from "./nearly-json.ts";

/** Longer texts are left alone, because repairs run in the thread that serves all calls. */
const TEXT_CHARS_MAX = 16 * 1024;

type Schema = Extract<ResponseFormat, { readonly kind: "schema" }>;

function isGood(text: string, schema: Schema): boolean {
  const json = parsedJson(text);
  return json !== undefined && fitsSchema(json, schema.schema);
}

/** Repairs a text that is not JSON into JSON that fits; null if that fails. Only objects and lists: any text could count as a string. */
export function mended(text: string, schema: Schema): string | null {
  if (text.length > TEXT_CHARS_MAX || parsedJson(text) !== undefined) return null;
  const made = nearlyJson(text);
  return made !== null && isGood(made, schema) ? made : null;
}

type Whole = Exclude<UnaryAnswer, AttemptFailure>;

/** Checks the whole answers of one call. An answer beyond repair is unfit only if the vendor got the schema as an instruction. */
export class AnswerForm {
  readonly #schema: Schema;
  readonly #texts: NonNullable<AnswerCodec["texts"]>;
  readonly #inWords: boolean;
  /** The last answer was near-JSON and has been repaired. */
  isRepaired = false;

  constructor(schema: Schema, texts: NonNullable<AnswerCodec["texts"]>, inWords: boolean) {
    this.#schema = schema;
    this.#texts = texts;
    this.#inWords = inWords;
  }

  answer(read: Whole): Whole {
    if (read.empty !== undefined) return read;
    this.isRepaired = false;
    let isUnfit = false;
    for (const { text, put } of this.#texts(read.body)) {
      if (isGood(text, this.#schema)) continue;
      const better = mended(text, this.#schema);
      if (better === null) {
        isUnfit = true;
        continue;
      }
      put(better);
      this.isRepaired = true;
    }
    return isUnfit && this.#inWords
      ? { ...read, unfit: "the answer does not fit the schema that was asked for" }
      : read;
  }
}

/** Null where the call asks for no schema, or for a stream. */
export function answerForm(
  { stream, asked, answers: { texts } }: Pick<CallerSide, "asked" | "answers"> & { readonly stream: boolean },
  { takes }: ChatWire,
): AnswerForm | null {
  const format = stream || texts === undefined ? null : asked.format();
  if (format?.kind !== "schema" || texts === undefined) return null;
  return new AnswerForm(format, texts, takes?.formats === "json_object");
}
