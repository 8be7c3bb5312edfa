// One answer that a model gives in several rounds: what it says goes out in the caller's wire as it comes, what it calls is kept from it.
import type {
  AnswerBlock,
  AnswerCodec,
  EventEncoder,
  FinishReason,
  NeutralAnswer,
  NeutralEvent,
  ReasoningBlock,
} from "../neutral.ts";
import type { AnswerHead } from "../wires/wire.ts";

/** What one round came to. */
export interface Round {
  /** In the order they were said. */
  readonly blocks: readonly AnswerBlock[];
  readonly reason: FinishReason;
  readonly native: string;
}

const NOTHING = Buffer.alloc(0);
/** Shows that the model is at work, and commits its round to the route that it came by: clients of events pass over it. */
const AT_WORK = Buffer.from(": the model calls an action\n\n");
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

/** The blocks of one attempt, gathered while they stream. */
class Gathered {
  readonly blocks: AnswerBlock[] = [];
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>();
  #thought = "";

  add(event: NeutralEvent): void {
    switch (event.kind) {
      case "text":
      case "refusal":
        return this.#say(event.kind, event.text);
      case "reasoning":
        this.#thought += event.text;
        return;
      case "thought":
        this.#thought = "";
        this.blocks.push(event.thought);
        return;
      case "tool-call": {
        this.#endThought();
        const call = { kind: "tool-call", id: event.id, name: event.name, arguments: event.arguments } as const;
        const open = { ...call };
        this.#calls.set(event.at, open);
        this.blocks.push(open);
        return;
      }
      case "tool-arguments": {
        const call = this.#calls.get(event.at);
        if (call !== undefined) call.arguments += event.text;
        return;
      }
      case "image":
        this.blocks.push({ kind: "image", url: event.url });
        return;
      case "finish":
        return this.#endThought();
      default:
        return;
    }
  }

  #say(kind: "text" | "refusal", text: string): void {
    this.#endThought();
    const last = this.blocks.at(-1);
    const before = last?.kind === kind ? last.text : "";
    if (last?.kind === kind) this.blocks.pop();
    this.blocks.push({ kind, text: before + text, citations: [] });
  }

  /** A thought that its vendor wants nothing back of but the text. */
  #endThought(): void {
    if (this.#thought === "") return;
    const text = this.#thought;
    this.#thought = "";
    const thought: ReasoningBlock = {
      kind: "reasoning",
      text,
      format: null,
      signature: null,
      sealed: null,
      callId: null,
    };
    this.blocks.push(thought);
  }
}

/** Begins a round's content: until then another route can take its place, and nothing of it may have been written. */
const BEARS: ReadonlySet<NeutralEvent["kind"]> = new Set(["text", "reasoning", "refusal", "tool-call", "image"]);

/** The events of one attempt. Its end is not written: whether the answer ends with it is known when its calls have been looked at. */
class RoundEncoder implements EventEncoder {
  readonly encoder: EventEncoder;
  readonly gathered = new Gathered();
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
    if (this.#transcript.isAction(event.name)) return AT_WORK;
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

  /** What the round has come to that has just ended as a stream, and what of it has yet to go out. */
  streamed(): { readonly round: Round; readonly rest: Buffer } {
    const one = this.#attempts.findLast(({ end }) => end !== null);
    this.#attempts = [];
    if (one === undefined || one.end === null) throw new Error("a round that was answered has come to its finish");
    this.#encoder = one.encoder;
    this.#hasText ||= one.hasText;
    return { round: { blocks: one.gathered.blocks, ...one.end }, rest: one.rest() };
  }

  /** The same of a round that was answered whole. */
  whole(body: Readonly<Record<string, unknown>>): Round {
    const { neutral, codec } = body as { neutral: NeutralAnswer; codec: AnswerCodec };
    this.#attempts = [];
    this.#codec = codec;
    const [choice] = neutral.choices;
    if (choice === undefined) throw new Error("an answer has a choice");
    const { blocks, reason, native } = choice;
    const isNext = this.hasText;
    let isFirstText = true;
    const told = blocks.map((block): AnswerBlock => {
      if (block.kind !== "text" || block.text === "") return block;
      const before = isNext && isFirstText ? BETWEEN : "";
      isFirstText = false;
      this.#hasText = true;
      return { ...block, text: before + block.text };
    });
    return { blocks: told, reason, native };
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
