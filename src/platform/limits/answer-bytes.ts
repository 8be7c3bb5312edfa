// Bounds the memory of answers that clients have not received yet, per caller and for the process.
import { GatewayError } from "../../core/errors.ts";

/** By then, a client that reads has received its answer, and one that does not may have been cut off. */
const BUSY_SECONDS = 5;
/** Roughly the most that a non-streamed answer takes; a new answer starts only if this much is free. */
const ROOM_BYTES = 1_048_576;

export interface WaitingAnswer {
  /** The caller's account, or its address if it has no key. */
  readonly owner: string;
  /** Called when there is no room for it any more; its bytes have already been returned. */
  giveUp(): void;
}

export interface AnswerBounds {
  readonly bytesMax: number;
  readonly ownerBytesMax: number;
}

type Memory = ArrayBufferLike;

class Uses extends Map<Memory, number> {
  /** True if it was not held before. */
  add(memory: Memory, times = 1): boolean {
    const before = this.get(memory) ?? 0;
    this.set(memory, before + times);
    return before === 0;
  }

  /** True if it is no longer held. */
  remove(memory: Memory, times = 1): boolean {
    const after = (this.get(memory) ?? 0) - times;
    if (after > 0) this.set(memory, after);
    else this.delete(memory);
    return after <= 0;
  }
}

class Owned {
  bytes = 0;
  readonly memory = new Uses();
  /** Ordered so that the answer whose client has been idle longest comes first. */
  readonly answers = new Map<WaitingAnswer, Uses>();
}

function full(whose: string, bytesMax: number): GatewayError {
  const detail = { whose, limit_mib: Math.floor(bytesMax / 1_048_576) };
  return new GatewayError("answers_in_flight", { detail, retryAfterSeconds: BUSY_SECONDS });
}

/**
 * Counts memory as the process uses it: by the block that a piece is part of, and once for all answers of an owner that share it. So a
 * hundred readers of one result or one page cost as much as one.
 */
export class AnswerBytes {
  /** The total. */
  bytes = 0;
  readonly #bounds: AnswerBounds;
  readonly #owners = new Map<string, Owned>();
  /** Across owners, in the same order as each owner's. */
  readonly #waiting = new Set<WaitingAnswer>();

  constructor(bounds: AnswerBounds) {
    this.#bounds = bounds;
  }

  /** Why this owner may not start another answer; null: it may. */
  refusal(owner: string): GatewayError | null {
    const own = this.#owners.get(owner)?.bytes ?? 0;
    // An owner with nothing buffered always gets room, however full it is.
    if (own === 0) return null;
    const { bytesMax, ownerBytesMax } = this.#bounds;
    if (own + ROOM_BYTES > ownerBytesMax) return full("This caller's", ownerBytesMax);
    return this.bytes + ROOM_BYTES > bytesMax ? full("All callers'", bytesMax) : null;
  }

  /** Counts a piece that the answer buffers. Over the limit, answers whose clients have been idle longest are given up. */
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

  /** Uncounts a piece: the client has received data, so its answer moves to the end of the queue. */
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

  /** Uncounts everything that the answer holds. */
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
