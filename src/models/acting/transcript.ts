// One answer that a model gives in several rounds: what it says goes out in the caller's wire as it comes, what it calls is kept from it.
import type {
  AnswerBlock,
  AnswerCodec,
  EventEncoder,
  FinishReason,
  NeutralAnswer,
  NeutralEvent,
} from "../../core/neutral.ts";
import { AnswerBlocks } from "../../upstream/answer-blocks.ts";
import { AT_WORK } from "../formats/action-events.ts";
import type { AnswerHead } from "../formats/wire.ts";

/** What one round came to. */
export interface Round {
  /** In the order they were said. */
  readonly blocks: readonly AnswerBlock[];
  readonly reason: FinishReason;
  readonly native: string;
}

const NOTHING = Buffer.alloc(0);
/** Between what is said in two rounds, where a wire has one text for all. */
const BETWEEN = "\n\n";

export interface TranscriptParts {
  answers(head: AnswerHead): AnswerCodec;
  /** Whether the gateway runs what is called by this name. */
  isAction(name: string): boolean;
  readonly oneText: boolean;
  /** When the answer began, in seconds since the epoch. */
  readonly createdS: number;
}

/** All that a round has said aloud. */
export function textOf({ blocks }: Round): string {
  return blocks.map((block) => (block.kind === "text" ? block.text : "")).join("");
}

/** Begins a round's content: until then another route can take its place, and nothing of it may have been written. */
const BEARS: ReadonlySet<NeutralEvent["kind"]> = new Set(["text", "reasoning", "refusal", "tool-call", "image"]);

/** The events of one attempt. Its end is not written: whether the answer ends with it is known when its calls have been looked at. */
class RoundEncoder implements EventEncoder {
  readonly encoder: EventEncoder;
  readonly gathered = new AnswerBlocks();
  end: Pick<Round, "reason" | "native"> | null = null;
  readonly #transcript: Transcript;
  readonly #isFirst: boolean;
  #pending: NeutralEvent[] = [];
  #bears = false;
  #hasText = false;
  /** The calls of the caller's own functions, by their places in the answer, as they are numbered without the others. */
  readonly #own = new Map<number, number>();

  constructor(transcript: Transcript, encoder: EventEncoder, isFirst: boolean) {
    this.#transcript = transcript;
    this.encoder = encoder;
    this.#isFirst = isFirst;
  }

  get hasText(): boolean {
    return this.#hasText;
  }

  encode(event: NeutralEvent): Buffer {
    if (event.choice !== 0) return NOTHING;
    this.gathered.add(event);
    if (event.kind === "finish") {
      this.end = { reason: event.reason, native: event.native };
      return NOTHING;
    }
    if (event.kind === "begin" && !this.#isFirst) return NOTHING;
    if (this.#bears) return this.#write(event);
    if (!BEARS.has(event.kind)) {
      this.#pending.push(event);
      return NOTHING;
    }
    this.#bears = true;
    return Buffer.concat([this.rest(), this.#write(event)]);
  }

  /** What had to wait for content. */
  rest(): Buffer {
    const pending = this.#pending;
    this.#pending = [];
    return Buffer.concat(pending.map((one) => this.encoder.encode(one)));
  }

  #write(event: NeutralEvent): Buffer {
    if (event.kind === "tool-call") return this.#call(event);
    if (event.kind === "tool-arguments") {
      const at = this.#own.get(event.at);
      return at === undefined ? NOTHING : this.encoder.encode({ ...event, at });
    }
    if (event.kind !== "text") return this.encoder.encode(event);
    const isNext = !this.#hasText && this.#transcript.hasText;
    this.#hasText = true;
    return this.encoder.encode(isNext ? { ...event, text: BETWEEN + event.text } : event);
  }

  #call(event: Extract<NeutralEvent, { kind: "tool-call" }>): Buffer {
    if (this.#transcript.isAction(event.name)) return this.#transcript.atWork;
    const at = this.#own.size;
    this.#own.set(event.at, at);
    return this.encoder.encode({ ...event, at });
  }
}

export class Transcript {
  readonly #parts: TranscriptParts;
  /** What all rounds of a stream are written by; null before the first has ended. */
  #encoder: EventEncoder | null = null;
  #codec: AnswerCodec | null = null;
  /** The attempt that has come to a finish last. */
  #attempts: RoundEncoder[] = [];
  #hasText = false;
  atWork: Buffer = AT_WORK;
  /** Of all text so far, where the wire has one text for all. */
  #chars = 0;

  constructor(parts: TranscriptParts) {
    this.#parts = parts;
  }

  /** Text of an earlier round has gone out, and what comes next needs something before it. */
  get hasText(): boolean {
    return this.#hasText && this.#parts.oneText;
  }

  isAction(name: string): boolean {
    return this.#parts.isAction(name);
  }

  /** How the attempts of one round are read, at one model. */
  codec(head: AnswerHead): AnswerCodec {
    const { answers, createdS } = this.#parts;
    const codec = answers({ ...head, createdS });
    this.atWork = codec.atWork ?? AT_WORK;
    return {
      encoder: () => {
        const isFirst = this.#encoder === null;
        // Before the first has ended, each attempt may still be replaced unseen by another.
        const one = new RoundEncoder(this, this.#encoder ?? codec.encoder(), isFirst);
        this.#attempts.push(one);
        return one;
      },
      whole: (answer) => {
        return { neutral: answer, codec };
      },
    };
  }

  /** Where the text of a round that has ended begins in what the caller's wire has as one text. */
  textFrom(round: Round): number {
    return this.#parts.oneText ? this.#chars - textOf(round).length : 0;
  }

  #took(round: Round): Round {
    const before = this.#chars > 0 && textOf(round) !== "" ? BETWEEN.length : 0;
    this.#chars += before + textOf(round).length;
    return round;
  }

  /** What the round has come to that has just ended as a stream, and what of it has yet to go out. */
  streamed(): { readonly round: Round; readonly rest: Buffer } {
    const one = this.#attempts.findLast(({ end }) => end !== null);
    this.#attempts = [];
    if (one === undefined || one.end === null) throw new Error("a round that was answered has come to its finish");
    this.#encoder = one.encoder;
    this.#hasText ||= one.hasText;
    return { round: this.#took({ blocks: one.gathered.blocks, ...one.end }), rest: one.rest() };
  }

  /** The same of a round that was answered whole. */
  whole(body: Readonly<Record<string, unknown>>): Round {
    const { neutral, codec } = body as { neutral: NeutralAnswer; codec: AnswerCodec };
    this.#attempts = [];
    this.#codec = codec;
    const [choice] = neutral.choices;
    if (choice === undefined) throw new Error("an answer has a choice");
    const { blocks, reason, native } = choice;
    if (blocks.some((block) => block.kind === "text" && block.text !== "")) this.#hasText = true;
    return this.#took({ blocks, reason, native });
  }

  /** Blocks of a round with what stands between them and the text before, where the wire has one text for all. */
  apart(blocks: readonly AnswerBlock[], isNext: boolean): readonly AnswerBlock[] {
    if (!isNext || !this.#parts.oneText) return blocks;
    const at = blocks.findIndex((block) => block.kind === "text" && block.text !== "");
    return blocks.map((block, place) =>
      place === at && block.kind === "text" ? { ...block, text: BETWEEN + block.text } : block,
    );
  }

  /** The bytes of what happens between rounds, or at the end. */
  write(event: NeutralEvent): Buffer {
    return this.#encoder?.encode(event) ?? NOTHING;
  }

  /** The whole answer, in the caller's wire. */
  body(blocks: readonly AnswerBlock[], { reason, native }: Pick<Round, "reason" | "native">): Record<string, unknown> {
    if (this.#codec === null) throw new Error("a whole answer has at least one round");
    return this.#codec.whole({ choices: [{ index: 0, blocks, reason, native }], usage: null });
  }
}
