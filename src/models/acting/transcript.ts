// One answer made of several rounds: streams the model's text in the caller's wire, and hides calls that the gateway runs.
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

export interface Round {
  /** In order of appearance. */
  readonly blocks: readonly AnswerBlock[];
  readonly reason: FinishReason;
  readonly native: string;
}

const NOTHING = Buffer.alloc(0);
/** Separates the text of two rounds in a wire with a single text field. */
const BETWEEN = "\n\n";

export interface TranscriptParts {
  answers(head: AnswerHead): AnswerCodec;
  /** True if the gateway runs calls of this name. */
  isAction(name: string): boolean;
  readonly oneText: boolean;
  /** When the answer began, in seconds since the epoch. */
  readonly createdS: number;
}

export function textOf({ blocks }: Round): string {
  return blocks.map((block) => (block.kind === "text" ? block.text : "")).join("");
}

/** Events that begin content. Before one of them, another route can still take over, so nothing may have been written. */
const BEARS: ReadonlySet<NeutralEvent["kind"]> = new Set(["text", "reasoning", "refusal", "tool-call", "image"]);

/** Encodes the events of one attempt, except its finish: only its calls tell whether the answer ends here. */
class RoundEncoder implements EventEncoder {
  readonly encoder: EventEncoder;
  readonly gathered = new AnswerBlocks();
  end: Pick<Round, "reason" | "native"> | null = null;
  readonly #transcript: Transcript;
  readonly #isFirst: boolean;
  #pending: NeutralEvent[] = [];
  #bears = false;
  #hasText = false;
  /** Maps indexes of the caller's own function calls to indexes without our calls. */
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

  /** Events deferred until content began. */
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
  /** Encodes all rounds of a stream; null before the first has ended. */
  #encoder: EventEncoder | null = null;
  #codec: AnswerCodec | null = null;
  #attempts: RoundEncoder[] = [];
  #hasText = false;
  atWork: Buffer = AT_WORK;
  /** The length of all text so far, for wires with a single text field. */
  #chars = 0;

  constructor(parts: TranscriptParts) {
    this.#parts = parts;
  }

  /** True if an earlier round sent text, so that the next text needs a separator. */
  get hasText(): boolean {
    return this.#hasText && this.#parts.oneText;
  }

  isAction(name: string): boolean {
    return this.#parts.isAction(name);
  }

  codec(head: AnswerHead): AnswerCodec {
    const { answers, createdS } = this.#parts;
    const codec = answers({ ...head, createdS });
    this.atWork = codec.atWork ?? AT_WORK;
    return {
      encoder: () => {
        const isFirst = this.#encoder === null;
        // Until the first round has ended, another attempt may still replace this one unseen.
        const one = new RoundEncoder(this, this.#encoder ?? codec.encoder(), isFirst);
        this.#attempts.push(one);
        return one;
      },
      whole: (answer) => {
        return { neutral: answer, codec };
      },
    };
  }

  /** The offset of an ended round's text in the caller's single text field; 0 where the wire has none. */
  textFrom(round: Round): number {
    return this.#parts.oneText ? this.#chars - textOf(round).length : 0;
  }

  #took(round: Round): Round {
    const before = this.#chars > 0 && textOf(round) !== "" ? BETWEEN.length : 0;
    this.#chars += before + textOf(round).length;
    return round;
  }

  /** Ends a streamed round: returns it, and the bytes not sent yet. */
  streamed(): { readonly round: Round; readonly rest: Buffer } {
    const one = this.#attempts.findLast(({ end }) => end !== null);
    this.#attempts = [];
    if (one === undefined || one.end === null) throw new Error("a round that was answered has come to its finish");
    this.#encoder = one.encoder;
    this.#hasText ||= one.hasText;
    return { round: this.#took({ blocks: one.gathered.blocks, ...one.end }), rest: one.rest() };
  }

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

  /** The blocks, with a separator before the first text where the wire has a single text field. */
  apart(blocks: readonly AnswerBlock[], isNext: boolean): readonly AnswerBlock[] {
    if (!isNext || !this.#parts.oneText) return blocks;
    const at = blocks.findIndex((block) => block.kind === "text" && block.text !== "");
    return blocks.map((block, place) =>
      place === at && block.kind === "text" ? { ...block, text: BETWEEN + block.text } : block,
    );
  }

  write(event: NeutralEvent): Buffer {
    return this.#encoder?.encode(event) ?? NOTHING;
  }

  body(blocks: readonly AnswerBlock[], { reason, native }: Pick<Round, "reason" | "native">): Record<string, unknown> {
    if (this.#codec === null) throw new Error("a whole answer has at least one round");
    return this.#codec.whole({ choices: [{ index: 0, blocks, reason, native }], usage: null });
  }
}
