// Virtual time, which advances only when nothing is left to do: every timer, message and fault is a scheduled event.

import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";
import type { Chance } from "./random.ts";

/** The process that owns an event. Events of a dead process never happen. */
export interface Owner {
  alive: boolean;
}

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly owner: Owner;
  readonly run: () => void;
  cancelled: boolean;
}

/** Everything outside the gateways. */
export const OUTSIDE: Owner = { alive: true };

export class VirtualTime {
  nowMs = 0;
  /** The running process: it owns what its code starts. */
  current: Owner = OUTSIDE;
  readonly #heap: Event[] = [];
  #order = 0;

  /** Calls `run` after `ms`, unless its owner has died or the returned function was called. */
  after(ms: number, owner: Owner, run: () => void): () => void {
    const event = { atMs: this.nowMs + Math.max(0, ms), order: this.#order++, owner, run, cancelled: false };
    this.#push(event);
    return () => {
      event.cancelled = true;
    };
  }

  sleep(ms: number, owner: Owner): Promise<void> {
    return new Promise((resolve) => void this.after(ms, owner, resolve));
  }

  /** Runs all events up to `untilMs`, one at a time; each starts when all consequences of the previous one are done. */
  async run(untilMs: number, isOver: () => boolean): Promise<void> {
    await settled();
    for (let event = this.#heap[0]; event !== undefined && event.atMs <= untilMs && !isOver(); event = this.#heap[0]) {
      this.#pop();
      if (event.cancelled || !event.owner.alive) continue;
      this.nowMs = event.atMs;
      this.current = event.owner;
      event.run();
      await settled();
    }
    this.current = OUTSIDE;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Event;
      if (isBefore(above, event)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
      if (isBefore(last, heap[child] as Event)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

/** Resolves when every promise that can continue has continued: ticks come after them. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** A timer in Node's interface. */
function timer(cancel: () => void) {
  const made = { cancel, unref: () => made, ref: () => made, hasRef: () => true };
  return made;
}

type Timer = ReturnType<typeof timer>;

/** Replaces Node's timers with virtual time and seeded randomness; the returned function restores them. */
export function replaceTimers(time: VirtualTime, chance: Chance): () => void {
  const real = { ...pick(globalThis), pause: timersPromises.setTimeout, random: Math.random };
  const once = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
    timer(time.after(ms, time.current, () => run(...given)));
  const clear = (made: Timer | undefined) => made?.cancel();
  function every(run: () => void, ms: number): Timer {
    const owner = time.current;
    const next = (): (() => void) =>
      time.after(ms, owner, () => {
        cancel = next();
        run();
      });
    let cancel = next();
    return timer(() => cancel());
  }
  function pause(ms: number, value: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> {
    const owner = time.current;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const cancel = time.after(ms, owner, () => resolve(value));
      signal?.addEventListener("abort", () => {
        cancel();
        reject(signal.reason);
      });
    });
  }
  Object.assign(globalThis, { setTimeout: once, clearTimeout: clear, setInterval: every, clearInterval: clear });
  Object.assign(timersPromises, { setTimeout: pause });
  Math.random = chance.next;
  syncBuiltinESMExports();
  return () => {
    const { pause: realPause, random, ...timers } = real;
    Object.assign(globalThis, timers);
    Object.assign(timersPromises, { setTimeout: realPause });
    Math.random = random;
    syncBuiltinESMExports();
  };
}

function pick({ setTimeout, clearTimeout, setInterval, clearInterval }: typeof globalThis) {
  return { setTimeout, clearTimeout, setInterval, clearInterval };
}
