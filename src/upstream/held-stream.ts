// The output of one streamed attempt, in the caller's wire: holds back what must not be sent yet, and passes on the rest.
import { ChunkList } from "../core/chunk-list.ts";
import type { Nano } from "../core/money.ts";
import type { AnswerSink, AttemptFailure, Counts, Reading, TokenUsage } from "../core/route.ts";
import type { BytesOut } from "./format-kit/dialect.ts";
import { emptyAnswer, malformed } from "./vendor-failure.ts";

/** About the longest answer we sell. Beyond it, tokens follow from the bytes. Thousands of streams keep this at once. */
const KEPT_BYTES_MAX = 98_304;

const EMPTY: Buffer = Buffer.alloc(0);

export class DeliveredText {
  #kept: Buffer = EMPTY;
  #length = 0;
  #bytes = 0;

  /** Appends JSON-escaped UTF-8 text. */
  add(bytes: Buffer, start: number, end: number): void {
    const size = end - start;
    this.#bytes += size;
    if (this.#length + size > KEPT_BYTES_MAX) return;
    if (this.#length + size > this.#kept.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(KEPT_BYTES_MAX, Math.max(256, (this.#length + size) * 2)));
      this.#kept.copy(grown, 0, 0, this.#length);
      this.#kept = grown;
    }
    bytes.copy(this.#kept, this.#length, start, end);
    this.#length += size;
  }

  addText(text: string): void {
    if (text === "") return;
    const escaped = Buffer.from(JSON.stringify(text));
    this.add(escaped, 1, escaped.length - 1);
  }

  /** The kept part as plain text, and the size of the whole in bytes of escaped text. */
  read(): { text: string; bytes: number } {
    const escaped = this.#kept.toString("utf8", 0, this.#length);
    return { text: unescaped(escaped), bytes: this.#bytes };
  }
}

/** Fragments were escaped separately, so together they form one JSON string, unless the vendor split a surrogate pair. */
function unescaped(escaped: string): string {
  try {
    return JSON.parse(`"${escaped}"`) as string;
  } catch {
    return escaped;
  }
}

/** Before content and after a finish. The largest event does not count, because an answer with images may arrive whole in its finish. */
const HELD_BYTES_MAX = 1024 * 1024;
/** The limit on a vendor's choices, each of which takes memory. We ask for eight at most. */
const CHOICES_MAX = 128;
/** A vendor that sends this many unreadable events speaks another format. */
const UNREADABLE_MAX = 100;

/**
 * Independent of the wire. Holds preamble until content arrives, so that another candidate can still take over unnoticed. Holds finish
 * events until the end, because more may follow, and because the ledger commits before they go out.
 */
export class HeldStream implements BytesOut {
  readonly #sink: AnswerSink;
  readonly #text = new DeliveredText();
  #preamble: Buffer[] = [];
  /** Null until a choice finishes, as thousands of open streams have none. */
  #ends: Map<number, { readonly bytes: number; readonly write: () => Buffer }> | null = null;
  /** The size of what is held, and of the largest event in it. */
  #heldBytes = 0;
  #largestBytes = 0;
  #closing = false;
  #closings = 0;
  /** A choice continued after its finish, so finishes are not trusted until the answer is over. */
  #endsEarly = false;
  /** Content of the current piece: one write for all events that arrived together. */
  readonly #ready = new ChunkList();
  #committed = false;
  /** Whether choice 0 has ended; undefined: it has not begun. Most answers have no other choice, and a map would take 200 bytes. */
  #zeroEnded: boolean | undefined = undefined;
  /** The other choices that have begun, and whether each has ended. */
  #othersEnded: Map<number, boolean> | null = null;
  /** The number of choices that have begun. */
  #begun = 0;
  /** The number of choices that have not ended. */
  #running = 0;
  #over = false;
  /** Why the answer is empty, if its reader found so at the finish. */
  #empty: string | null = null;
  #skipped = 0;
  #usage: TokenUsage | null = null;
  #counts: Counts | null = null;
  #upstreamCostNano: Nano | null = null;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** No further event can change the outcome. */
  get over(): boolean {
    return this.#over;
  }

  /** Every choice of the answer is complete; only usage and the end mark can still arrive. */
  get finished(): boolean {
    return this.#running === 0 && this.#begun > 0;
  }

  /**
   * Nonzero while the answer is complete and no content has followed: the number of times that state began, because content may follow a
   * finish. An answer that is empty so far may still begin, so it does not count.
   */
  get closing(): number {
    const isClosing = this.#closing && this.finished && (this.#committed || this.#empty === null);
    return isClosing ? this.#closings : 0;
  }

  reading(): Reading {
    const reading = {
      usage: this.#usage,
      delivered: this.#text.read(),
      upstreamCostNano: this.#upstreamCostNano,
      skippedEvents: this.#skipped,
    };
    return this.#counts === null ? reading : { ...reading, counts: this.#counts };
  }

  /** Counts an event that could not be parsed. */
  skip(): void {
    this.#skipped++;
    if (this.#skipped >= UNREADABLE_MAX) this.#tooMuch(`${UNREADABLE_MAX} events of the stream cannot be read`);
  }

  choice(index: number, ended: boolean): void {
    if (this.#over) return;
    const before = index === 0 ? this.#zeroEnded : this.#othersEnded?.get(index);
    if (before === undefined) {
      this.#running += 1;
      this.#begun += 1;
    }
    if (before === undefined || (ended && !before)) this.#setEnded(index, ended);
    if (ended && before !== true) this.#running -= 1;
    if (!ended && before === true) this.#endsEarly = true;
    if (this.#begun > CHOICES_MAX) this.#tooMuch(`the stream has more than ${CHOICES_MAX} choices`);
  }

  #setEnded(index: number, ended: boolean): void {
    if (index === 0) this.#zeroEnded = ended;
    else {
      this.#othersEnded ??= new Map();
      this.#othersEnded.set(index, ended);
    }
  }

  raw(event: Buffer, kind: "content" | "preamble" | "finish"): void {
    if (this.#over) return;
    if (kind === "finish") return this.finish(0, event.length, () => event);
    if (kind === "content") return this.#content(event);
    if (this.#committed) return this.#ready.push(event);
    this.#preamble.push(event);
    this.#hold(event.length);
  }

  finish(index: number, bytes: number, write: () => Buffer): void {
    if (this.#over) return;
    if (!this.#closing) this.#closings++;
    this.#closing = true;
    this.#ends ??= new Map();
    this.#ends.set(index, { bytes, write });
    this.#hold(bytes);
  }

  /** Releases held events in order, because content follows. */
  release(withEnds = true): void {
    for (const held of this.#preamble) this.#ready.push(held);
    this.#preamble = [];
    if (!withEnds) return;
    const ends = [...(this.#ends?.values() ?? [])];
    this.#ends = null;
    for (const { write } of ends) this.#ready.push(write());
  }

  usage(usage: TokenUsage): void {
    this.#usage = usage;
  }

  /** The units used, for a model sold by units. */
  counts(counts: Counts): void {
    this.#counts = counts;
  }

  upstreamCost(nano: Nano): void {
    this.#upstreamCostNano = nano;
  }

  empty(message: string | null): void {
    this.#empty = message;
  }

  fail(failure: AttemptFailure): void {
    if (this.#over) return;
    this.flush();
    this.#over = true;
    this.#sink.failed(failure);
  }

  /** Ends the stream at the vendor's end mark or the end of the body: complete if the answer finished, otherwise cut. */
  end(): void {
    if (this.#over) return;
    this.flush();
    if (!this.finished) {
      const message = "the stream ended before the answer was finished";
      this.fail({ kind: "provider_cut", status: 200, message, retryAfterMs: null });
      return;
    }
    this.#over = true;
    const ends = [...(this.#ends?.values() ?? [])].map(({ write }) => write());
    const answer = { kind: "stream", tail: Buffer.concat([...this.#preamble, ...ends]) } as const;
    if (this.#empty === null || this.#committed) this.#sink.done(answer);
    else this.#sink.failed(emptyAnswer(this.#empty, answer));
  }

  /** Passes on what has been read. Call at the end of each piece of the vendor's bytes, so that nothing waits for the next one. */
  flush(): void {
    if (this.#ready.length > 0) this.#sink.content(this.#ready.take());
  }

  delivered(bytes: Buffer, start: number, end: number): void {
    this.#text.add(bytes, start, end);
  }

  deliveredText(text: string): void {
    this.#text.addText(text);
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#largestBytes = Math.max(this.#largestBytes, bytes);
    if (this.#heldBytes - this.#largestBytes > HELD_BYTES_MAX)
      this.#tooMuch("the stream goes on and on without content");
  }

  #tooMuch(message: string): void {
    this.#preamble = [];
    this.#ends = null;
    this.fail(malformed(message));
  }

  #content(event: Buffer): void {
    if (!this.#committed || this.#closing) {
      this.#committed = true;
      this.#closing = false;
      // Another choice may continue after one has finished.
      this.release(!this.#endsEarly);
      this.#heldBytes = 0;
      for (const { bytes } of this.#ends?.values() ?? []) this.#heldBytes += bytes;
    }
    this.#ready.push(event);
  }
}
