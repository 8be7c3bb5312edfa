// What a call's span says of what was asked and answered, where the operator wants that (OTEL_CAPTURE_CONTENT): messages as OpenTelemetry's
// conventions of generative AI have them, without what is to be taken out, and cut to size.
import type { Attributes } from "@opentelemetry/api";
import type { CallerRequest } from "../../core/neutral.ts";
import { type Cut, cutTo, newestOf } from "./cut-messages.ts";
import type { RequestRecord } from "./record.ts";
import { instructionsOf, newestMessages, type OutputChoice, outputOf } from "./span-messages.ts";

/** Calls whose content is gathered at once; spans of further ones have none. */
const OPEN_MAX = 256;
/** Of one attribute before it is redacted: of more, the newest messages are looked at. */
const REDACTED_CHARACTERS_MAX = 256 * 1024;
/** Of one attribute as it is sent: JSON, as the conventions have it where spans take no structures. */
const ATTRIBUTE_CHARACTERS_MAX = 32 * 1024;

/** What is known of a call when it has ended. */
export interface Said {
  readonly asked: Pick<CallerRequest, "body" | "neutral">;
  /** Reads what was answered; null: that is too long, or of no wire that is read here. */
  choices(): readonly OutputChoice[] | null;
}

export interface SpanContentsOptions {
  /** Makes a JSON text one without what the operator's rules name; null: it cannot be read. */
  readonly redact: (text: string) => string | null;
  /** Whether the request's span goes to the collector. */
  readonly isSent: (record: RequestRecord) => boolean;
  readonly onBroken: (error: unknown) => void;
}

/** Keeps it beside the records of requests, in which no word of a caller's has a place, until their spans are made. */
export class SpanContents {
  readonly #options: SpanContentsOptions;
  readonly #attributes = new WeakMap<RequestRecord, Attributes>();
  #open = 0;

  constructor(options: SpanContentsOptions) {
    this.#options = options;
  }

  /** Begins to gather a call; null: it is not wanted, or too many are gathered already. Call what comes back once, with null for nothing. */
  begin(record: RequestRecord): ((said: Said | null) => void) | null {
    if (this.#open >= OPEN_MAX || !this.#options.isSent(record)) return null;
    this.#open += 1;
    return (said) => {
      this.#open -= 1;
      if (said === null) return;
      try {
        this.#attributes.set(record, this.#attributesOf(said));
      } catch (error) {
        // No call breaks because it could not be told.
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

  /** Nothing is cut before it has been redacted: half of a key would not be known as one. */
  #fit(newestFirst: Iterable<object>): Cut {
    const { kept, isCut } = newestOf(newestFirst, REDACTED_CHARACTERS_MAX);
    const text = this.#options.redact(JSON.stringify(kept));
    if (text === null) return { kept: [], isCut: true };
    const fit = cutTo(JSON.parse(text) as readonly object[], ATTRIBUTE_CHARACTERS_MAX);
    return { kept: fit.kept, isCut: isCut || fit.isCut };
  }
}
