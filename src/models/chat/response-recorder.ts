// Parses an answer back while it is sent to its caller, in any wire, to recover its content.
import type { DialectName } from "../../catalog/chat-wire.ts";
import { isRecord } from "../../core/json.ts";
import { readJson } from "../../core/json-bytes.ts";
import type { AnswerBlock, FinishReason, NeutralEvent } from "../../core/neutral.ts";
import { jsonText, parseRaw } from "../../core/raw-json.ts";
import { AnswerBlocks } from "../../upstream/answer-blocks.ts";
import type { AnswerReader, ChatContext, EventOut } from "../../upstream/format-kit/dialect.ts";
import { SseScanner } from "../../upstream/sse-scanner.ts";
import { DIALECTS } from "../formats/vendor-dialects.ts";

/** Per event, and for a whole non-streamed answer. */
const BYTES_MAX = 1024 * 1024;
/** The most text in total. Longer text is dropped entirely: a cut could split something that has to be redacted. */
const CHARACTERS_MAX = 256 * 1024;
const CHOICES_MAX = 128;

export interface RecordedChoice {
  /** In order of appearance. */
  readonly blocks: readonly AnswerBlock[];
  /** `error`: the answer broke off. */
  readonly reason: FinishReason | "error";
  /** The vendor's own finish reason. */
  readonly native: string;
}

interface OpenChoice {
  readonly said: AnswerBlocks;
  reason: RecordedChoice["reason"];
  native: string;
}

function isDialect(wire: string): wire is DialectName {
  return Object.hasOwn(DIALECTS, wire);
}

/** The parsed result goes nowhere, so the names in it do not matter. */
function contextOf(dialect: DialectName): ChatContext {
  const names = { upstreamModel: "", servedSlug: "", completionId: "", createdS: 0 };
  const spec = { dialect, models: {} };
  return { ...names, stream: true, mayBeEmpty: true, outputTokensMax: 0, spec, wire: {} };
}

function charactersOf(event: NeutralEvent): number {
  switch (event.kind) {
    case "tool-call":
      return event.arguments.length;
    case "thought":
      return event.thought.text.length;
    case "image":
      return event.url.length;
    default:
      return "text" in event ? event.text.length : 0;
  }
}

/** Records one answer in its caller's wire, parsed by the dialect of that name. */
export class ResponseRecorder {
  readonly #reader: AnswerReader;
  readonly #scanner: SseScanner;
  readonly #choices = new Map<number, OpenChoice>();
  /** Of a non-streamed answer. */
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #characters = 0;
  /** The answer is too long or malformed. */
  #lost = false;

  private constructor(name: DialectName) {
    this.#reader = DIALECTS[name].reader(contextOf(name), this.#out());
    this.#scanner = new SseScanner((data, start, end, event) => {
      if (!this.#lost) this.#reader.event(data, start, end, event);
    }, BYTES_MAX);
  }

  /** Null where no dialect has that wire's name. */
  static of(wire: string): ResponseRecorder | null {
    return isDialect(wire) ? new ResponseRecorder(wire) : null;
  }

  /** Takes the next bytes; `type` is the media type of the whole answer. Does not keep `bytes` after it returns. */
  take(bytes: Buffer, type: string): void {
    if (this.#lost) return;
    try {
      if (type.startsWith("text/event-stream")) this.#scanner.push(bytes);
      else this.#keep(bytes);
    } catch {
      this.#lost = true;
    }
  }

  /** The complete content; null if it is too long or unreadable. */
  choices(): readonly RecordedChoice[] | null {
    if (this.#parts.length > 0 && !this.#lost) this.#readWhole();
    if (this.#lost) return null;
    const told = [...this.#choices].toSorted(([a], [b]) => a - b);
    return told.map(([, { said, reason, native }]) => ({ blocks: said.blocks, reason, native }));
  }

  #keep(bytes: Buffer): void {
    this.#bytes += bytes.length;
    this.#lost = this.#bytes > BYTES_MAX;
    if (!this.#lost) this.#parts.push(Buffer.from(bytes));
  }

  /** A single message, or a JSON list of what would otherwise be events. */
  #readWhole(): void {
    const read = readJson(Buffer.concat(this.#parts.splice(0)), parseRaw);
    const json = "wrong" in read ? null : read.json;
    for (const event of Array.isArray(json) ? json : []) {
      const bytes = Buffer.from(jsonText(event));
      this.#reader.event(bytes, 0, bytes.length, null);
    }
    if (isRecord(json)) this.#reader.whole(json);
  }

  #out(): EventOut {
    const ignore = () => {};
    return {
      event: (event) => this.#add(event),
      fail: () => {
        for (const choice of this.#choices.values()) choice.reason = "error";
      },
      usage: ignore,
      upstreamCost: ignore,
      empty: ignore,
      end: ignore,
    };
  }

  #add(event: NeutralEvent): void {
    this.#count(charactersOf(event));
    const choice = this.#choice(event.choice);
    if (choice === null) return;
    choice.said.add(event);
    if (event.kind === "finish") Object.assign(choice, { reason: event.reason, native: event.native });
  }

  #count(characters: number): void {
    this.#characters += characters;
    if (this.#characters > CHARACTERS_MAX) this.#lose();
  }

  #lose(): void {
    this.#lost = true;
    this.#choices.clear();
  }

  #choice(index: number): OpenChoice | null {
    if (this.#lost) return null;
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    if (this.#choices.size >= CHOICES_MAX) {
      this.#lose();
      return null;
    }
    const choice: OpenChoice = { said: new AnswerBlocks(), reason: "error", native: "" };
    this.#choices.set(index, choice);
    return choice;
  }
}
