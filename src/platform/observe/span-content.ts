// A call's request and answer in its span (OTEL_CAPTURE_CONTENT), in OpenTelemetry's form, redacted and cut to size.
import type { Attributes } from "@opentelemetry/api";
import type { CallerRequest } from "../../core/neutral.ts";
import type { RequestRecord } from "./record.ts";
import { instructionsOf, newestMessages, type OutputChoice, outputOf } from "./span-messages.ts";

/** The most calls to collect at the same time; spans of further calls have no content. */
const OPEN_MAX = 256;
/** Per attribute, before redaction; of longer conversations, only the newest messages are used. */
const REDACTED_CHARACTERS_MAX = 256 * 1024;
/** Per attribute as sent: JSON, which the conventions prescribe where spans cannot contain structures. */
const ATTRIBUTE_CHARACTERS_MAX = 32 * 1024;

/** If the newest message does not fit, its texts are cut to the first of these lengths, in characters, with which it does. */
const TEXT_CHARACTERS = [24 * 1024, 4 * 1024, 512];

interface Cut {
  readonly kept: readonly object[];
  /** True if anything is missing. */
  readonly isCut: boolean;
}

/** The newest whole messages that fit into `charactersMax` of JSON. Does not produce any further ones. */
function newestOf(newestFirst: Iterable<object>, charactersMax: number): Cut {
  const kept: object[] = [];
  let room = charactersMax - "[]".length;
  for (const message of newestFirst) {
    room -= JSON.stringify(message).length + ",".length;
    if (room < 0) return { kept: kept.toReversed(), isCut: true };
    kept.push(message);
  }
  return { kept: kept.toReversed(), isCut: false };
}

/** Never splits a surrogate pair. */
function beginning(text: string, characters: number): string {
  return text.length <= characters ? text : text.slice(0, characters).replace(/[\ud800-\udbff]$/, "");
}

function withTexts(message: object, characters: number): object {
  const cut = (_: string, value: unknown) => (typeof value === "string" ? beginning(value, characters) : value);
  return JSON.parse(JSON.stringify(message), cut) as object;
}

/** The same, but cuts texts of the newest message if it does not fit otherwise. */
function cutTo(messages: readonly object[], charactersMax: number): Cut {
  const whole = newestOf(messages.toReversed(), charactersMax);
  const last = messages.at(-1);
  if (whole.kept.length > 0 || last === undefined) return whole;
  for (const characters of TEXT_CHARACTERS) {
    const { kept } = newestOf([withTexts(last, characters)], charactersMax);
    if (kept.length > 0) return { kept, isCut: true };
  }
  return { kept: [], isCut: true };
}

export interface Said {
  readonly asked: Pick<CallerRequest, "body" | "neutral">;
  /** Parses the answer; null: it is too long, or in a wire that cannot be parsed. */
  choices(): readonly OutputChoice[] | null;
}

export interface SpanContentsOptions {
  /** Redacts a JSON text by the operator's rules; null: it cannot be parsed. */
  readonly redact: (text: string) => string | null;
  /** True if the request's span goes to the collector. */
  readonly isSent: (record: RequestRecord) => boolean;
  readonly onBroken: (error: unknown) => void;
}

/** Keeps content apart from request records, which must not contain any, until the spans are made. */
export class SpanContents {
  readonly #options: SpanContentsOptions;
  readonly #attributes = new WeakMap<RequestRecord, Attributes>();
  #open = 0;

  constructor(options: SpanContentsOptions) {
    this.#options = options;
  }

  /** Starts to collect a call; null: not wanted, or too many are. Call the returned function once, with null to discard it. */
  begin(record: RequestRecord): ((said: Said | null) => void) | null {
    if (this.#open >= OPEN_MAX || !this.#options.isSent(record)) return null;
    this.#open += 1;
    return (said) => {
      this.#open -= 1;
      if (said === null) return;
      try {
        this.#attributes.set(record, this.#attributesOf(said));
      } catch (error) {
        // A failure here must not break the call.
        this.#options.onBroken(error);
      }
    };
  }

  of(record: RequestRecord): Attributes {
    return this.#attributes.get(record) ?? {};
  }

  #attributesOf({ asked, choices: read }: Said): Attributes {
    const choices = read();
    const { instructions, rest } = instructionsOf(asked.body, asked.neutral().turns);
    const answers = choices?.map(outputOf) ?? [];
    const reasons = answers.map(({ finish_reason }) => finish_reason);
    const told: Attributes = reasons.length === 0 ? {} : { "gen_ai.response.finish_reasons": reasons };
    let isCut = choices === null;
    for (const [name, newestFirst] of [
      ["gen_ai.system_instructions", instructions.toReversed()],
      ["gen_ai.input.messages", newestMessages(rest)],
      ["gen_ai.output.messages", answers.toReversed()],
    ] as const) {
      const fit = this.#fit(newestFirst);
      isCut ||= fit.isCut;
      if (fit.kept.length > 0) told[name] = JSON.stringify(fit.kept);
    }
    return isCut ? { ...told, "tollgate.content_cut": true } : told;
  }

  /** Redacts before it cuts, because half a key would not be recognized. */
  #fit(newestFirst: Iterable<object>): Cut {
    const { kept, isCut } = newestOf(newestFirst, REDACTED_CHARACTERS_MAX);
    const text = this.#options.redact(JSON.stringify(kept));
    if (text === null) return { kept: [], isCut: true };
    const fit = cutTo(JSON.parse(text) as readonly object[], ATTRIBUTE_CHARACTERS_MAX);
    return { kept: fit.kept, isCut: isCut || fit.isCut };
  }
}
