// Bounds the memory of answers that clients have not taken yet: of each caller's together, and of the process.
import { GatewayError } from "../../core/errors.ts";

/** By then a client that reads has taken its answer, and one that does not may have been cut. */
const BUSY_SECONDS = 5;
/** About the most that an answer takes that is sent whole: a new one needs so much room to be begun. */
const ROOM_BYTES = 1_048_576;

/** An answer that waits for its client. */
export interface WaitingAnswer {
  /** The account that asked, or the address of a caller without a key. */
  readonly owner: string;
  /** There is no room for it any more. What it has taken has been given back by then. */
  giveUp(): void;
}

export interface AnswerBytes {
  /** Why no further answer of this owner may be begun; null: it may. */
  refusal(owner: string): GatewayError | null;
  /** An answer keeps this piece, and waits. Where that is too much, those give up whose clients have taken nothing for longest. */
  take(answer: WaitingAnswer, piece: Uint8Array): void;
  /** It keeps the piece no more: its client has taken some of it, which puts it behind all others that wait. */
  give(answer: WaitingAnswer, piece: Uint8Array): void;
  /** It keeps nothing any more. */
  close(answer: WaitingAnswer): void;
  /** All together. */
  readonly bytes: number;
}

export interface AnswerBounds {
  readonly bytesMax: number;
  readonly ownerBytesMax: number;
}

type Memory = ArrayBufferLike;

/** How often each block of memory is kept. */
class Uses extends Map<Memory, number> {
  /** Whether it was not kept before. */
  add(memory: Memory, times = 1): boolean {
    const before = this.get(memory) ?? 0;
    this.set(memory, before + times);
    return before === 0;
  }

  /** Whether it is kept no more. */
  remove(memory: Memory, times = 1): boolean {
    const after = (this.get(memory) ?? 0) - times;
    if (after > 0) this.set(memory, after);
    else this.delete(memory);
    return after <= 0;
  }
}

/** What one owner's answers keep. */
class Owned {
  bytes = 0;
  readonly memory = new Uses();
  /** The one whose client has taken nothing for longest is the first. */
  readonly answers = new Map<WaitingAnswer, Uses>();
}

function full(whose: string, bytesMax: number): GatewayError {
  const detail = { whose, limit_mib: Math.floor(bytesMax / 1_048_576) };
  return new GatewayError("answers_in_flight", { detail, retryAfterSeconds: BUSY_SECONDS });
}

/**
 * Memory is counted as it is taken of the process: by the block that a piece lies in, once for all answers of an owner that share it. So a
 * hundred readers of one result, or of one page, take what one takes.
 */
class CountedBytes implements AnswerBytes {
  bytes = 0;
  readonly #bounds: AnswerBounds;
  readonly #owners = new Map<string, Owned>();
  /** Of all owners, in the same order as each one's. */
  readonly #waiting = new Set<WaitingAnswer>();

  constructor(bounds: AnswerBounds) {
    this.#bounds = bounds;
  }

  refusal(owner: string): GatewayError | null {
    const own = this.#owners.get(owner)?.bytes ?? 0;
    // Room is made for an owner that keeps nothing waiting, however full it is.
    if (own === 0) return null;
    const { bytesMax, ownerBytesMax } = this.#bounds;
    if (own + ROOM_BYTES > ownerBytesMax) return full("This caller's", ownerBytesMax);
    return this.bytes + ROOM_BYTES > bytesMax ? full("All callers'", bytesMax) : null;
  }

  take(answer: WaitingAnswer, { buffer }: Uint8Array): void {
    const owned = this.#owners.get(answer.owner) ?? new Owned();
    this.#owners.set(answer.owner, owned);
    const uses = owned.answers.get(answer) ?? new Uses();
    owned.answers.set(answer, uses);
    this.#waiting.add(answer);
    uses.add(buffer);
    if (owned.memory.add(buffer)) this.#count(owned, buffer.byteLength);
    while (owned.bytes > this.#bounds.ownerBytesMax && this.#endFirst(owned.answers.keys()));
    while (this.bytes > this.#bounds.bytesMax && this.#endFirst(this.#waiting.keys()));
  }

  give(answer: WaitingAnswer, { buffer }: Uint8Array): void {
    const owned = this.#owners.get(answer.owner);
    const uses = owned?.answers.get(answer);
    if (owned === undefined || uses === undefined) return;
    uses.remove(buffer);
    if (owned.memory.remove(buffer)) this.#count(owned, -buffer.byteLength);
    owned.answers.delete(answer);
    this.#waiting.delete(answer);
    if (uses.size > 0) {
      owned.answers.set(answer, uses);
      this.#waiting.add(answer);
    } else if (owned.answers.size === 0) this.#owners.delete(answer.owner);
  }

  close(answer: WaitingAnswer): void {
    const owned = this.#owners.get(answer.owner);
    for (const [memory, times] of owned?.answers.get(answer) ?? [])
      if (owned?.memory.remove(memory, times)) this.#count(owned, -memory.byteLength);
    owned?.answers.delete(answer);
    this.#waiting.delete(answer);
    if (owned?.answers.size === 0) this.#owners.delete(answer.owner);
  }

  #count(owned: Owned, bytes: number): void {
    owned.bytes += bytes;
    this.bytes += bytes;
  }

  #endFirst(answers: Iterator<WaitingAnswer>): boolean {
    const first = answers.next();
    if (first.done) return false;
    this.close(first.value);
    first.value.giveUp();
    return true;
  }
}

export function createAnswerBytes(bounds: AnswerBounds): AnswerBytes {
  return new CountedBytes(bounds);
}
