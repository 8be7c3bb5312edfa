// Dispatches events: one process at a time takes new events, lists them, and sends them to webhooks until these acknowledge them. What a
// crash leaves unfinished is repeated under the same id.
import { randomUUID } from "node:crypto";
import { chunksOf } from "../../core/chunks.ts";
import type { Clock } from "../../core/clock.ts";
import { getOrMake } from "../../core/maps.ts";
import { tally } from "../../core/tally.ts";
import type { Records } from "../../platform/records/records.ts";
import { walk } from "../../platform/records/walk.ts";
import type { Told } from "../ledger/model/ledger.ts";
import type { Event, EventLog } from "./event-log.ts";
import { messageOf, signedHeaders, type Webhook, type Webhooks } from "./webhooks.ts";

const LEASE = "teller";
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const TICK_MS = 1_000;
const EVENTS_AT_ONCE = 500;
/** Events taken concurrently: a store commits concurrent writes together. */
const TAKEN_AT_ONCE = 16;
const DELIVERY = "delivery";
const DELIVERIES = "deliveries";
/** Longer than all retries take. */
const DELIVERY_KEPT_MS = 5 * 86_400_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The delay after each failure; after the last one the delivery is given up. */
export const RETRY_MS: readonly number[] = [
  ...[5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS],
  ...[DAY_MS, DAY_MS, DAY_MS],
];
/** The delay after the store failed during a delivery. */
const BROKEN_MS = 5_000;
/** A slow receiver must not delay the others. */
const AT_ONCE_EACH = 32;
const AT_ONCE_ALL = 256;
/** Per account, or for the operator: if all webhooks of an account hang, the others still get their share. */
const AT_ONCE_PAYER = 64;
/** The most waiting deliveries of one payer's webhooks together. */
const WAITING_PAYER_MAX = 50_000;
/** The most waiting deliveries of one webhook; further events are listed but not sent, and can be resent by hand. */
export const WAITING_MAX = 20_000;

/** Sends one message; resolves to why it did not arrive, or null if it did. Never rejects. */
export type Send = (url: string, headers: Readonly<Record<string, string>>, body: string) => Promise<string | null>;

interface Delivery {
  readonly hook: string;
  /** The webhook's owner; absent in records of earlier releases. */
  readonly payer?: string;
  readonly event: Event;
  readonly failures: number;
  readonly dueAtMs: number;
}

interface Waiting {
  readonly payer: string;
  /** In order of arrival. */
  readonly all: Map<string, Delivery>;
  /** Of the deliveries not being sent, none is due before this. */
  dueAtMs: number;
}

export interface EventDispatcherDeps {
  /** Whether other processes share the records; false: this process leads, without a lease. */
  readonly shared: boolean;
  readonly ledger: Told;
  readonly log: EventLog;
  readonly webhooks: Webhooks;
  readonly records: Records;
  readonly clock: Clock;
  readonly send: Send;
  /** Reports what a single process should watch for. */
  notice(): Promise<void>;
  onBroken(error: unknown): void;
  /** The interval between ticks. Default: one second. */
  readonly tickMs?: number;
}

/** Runs in every process; the one that holds the lease dispatches. */
export class EventDispatcher {
  readonly #deps: EventDispatcherDeps;
  readonly #owner = randomUUID();
  /** By webhook; the one most recently sent to is last. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #waitingOf = new Map<string, number>();
  readonly #sending = new Map<string, Set<string>>();
  readonly #sendingOf = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  #leads = false;
  /** On `clock.elapsedMs()`. */
  #renewedMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #ticking: Promise<void> | null = null;
  #stopped = false;

  constructor(deps: EventDispatcherDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      // If the store is down, the next tick retries.
      this.#ticking = this.#tick()
        .catch(this.#deps.onBroken)
        .finally(() => this.start());
    }, this.#deps.tickMs ?? TICK_MS);
    this.#timer.unref();
  }

  async redeliver({ id: hook, payer }: Webhook, event: Event): Promise<void> {
    const { records, shared } = this.#deps;
    const enqueue = await this.#keepNew({ hook, payer, event });
    if (!shared) return enqueue();
    // The next process to lead, possibly this one, finds it in the records.
    this.#leads = false;
    await records.delete(LEASE, LEASE);
  }

  async stop(): Promise<void> {
    const { records } = this.#deps;
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#ticking;
    await Promise.all(this.#running);
    const held = await records.get(LEASE, LEASE).catch(() => null);
    if (held?.value === this.#owner) await records.delete(LEASE, LEASE).catch(() => {});
  }

  async #tick(): Promise<void> {
    const lead = await this.#takeLead();
    if (lead === "new") await this.#takeOver();
    // Only after everything was read: if the store fails in between, it is read again.
    this.#leads = lead !== null;
    if (!this.#leads) return this.#forget();
    await this.#deps.notice();
    await this.#takeAll();
    this.#sendDue();
  }

  /** Checks the lease in each tick; a process that has lost it (null) drops its state. */
  async #takeLead(): Promise<"had" | "new" | null> {
    const { records, clock, shared } = this.#deps;
    const held = shared ? await records.get(LEASE, LEASE) : null;
    if (held !== null && held.value !== this.#owner) return null;
    // A deleted lease means that another process has stored a delivery.
    const lead = this.#leads && (held !== null || !shared) ? "had" : "new";
    const nowMs = clock.elapsedMs();
    if (!shared || (lead === "had" && nowMs - this.#renewedMs < RENEW_MS)) return lead;
    const lease = { kind: LEASE, id: LEASE, payer: null, value: this.#owner, ttlMs: LEASE_MS };
    if ((await records.put({ ...lease, ifVersion: held?.version ?? 0 })) === null) return null;
    this.#renewedMs = nowMs;
    return lead;
  }

  #enqueue(id: string, delivery: Delivery): void {
    const { hook, payer = hook, dueAtMs } = delivery;
    const own = getOrMake(this.#waiting, hook, () => ({ payer, all: new Map<string, Delivery>(), dueAtMs }));
    if (!own.all.has(id)) tally(this.#waitingOf, own.payer, 1);
    own.all.set(id, delivery);
    own.dueAtMs = Math.min(own.dueAtMs, dueAtMs);
  }

  /** Stores a delivery that is due at once; returns a function that adds it to those that wait here. */
  async #keepNew(to: Pick<Delivery, "hook" | "payer" | "event">): Promise<() => void> {
    const id = `${to.hook}.${to.event.id}`;
    const delivery = { ...to, failures: 0, dueAtMs: Math.floor(this.#deps.clock.epochMs()) };
    await this.#keep(id, delivery);
    return () => this.#enqueue(id, delivery);
  }

  async #keep(id: string, delivery: Delivery): Promise<void> {
    const record = { kind: DELIVERY, id, payer: DELIVERIES, value: JSON.stringify(delivery) };
    await this.#deps.records.put({ ...record, ttlMs: DELIVERY_KEPT_MS, ifVersion: null });
  }

  #forget(): void {
    this.#waiting.clear();
    this.#waitingOf.clear();
  }

  async #takeOver(): Promise<void> {
    const { records } = this.#deps;
    this.#forget();
    for await (const { id, value } of walk(records, DELIVERY, DELIVERIES))
      this.#enqueue(id, JSON.parse(value) as Delivery);
  }

  /** Stores the deliveries before the event is listed: a listed event is not taken again. */
  async #take(event: Event): Promise<void> {
    const { log, webhooks } = this.#deps;
    const hearing = (await log.has(event)) ? [] : await webhooks.hearing(event);
    for (const { id: hook, payer } of hearing) {
      if (
        (this.#waiting.get(hook)?.all.size ?? 0) >= WAITING_MAX ||
        (this.#waitingOf.get(payer) ?? 0) >= WAITING_PAYER_MAX
      )
        continue;
      (await this.#keepNew({ hook, payer, event }))();
    }
  }

  async #takeAll(): Promise<void> {
    const { ledger, log } = this.#deps;
    const told = await ledger.events(EVENTS_AT_ONCE);
    await this.#takeThese(told);
    if (told.length > 0) await ledger.dropEvents(told);
    await this.#takeThese(await log.waiting());
  }

  async #takeThese(events: readonly Event[]): Promise<void> {
    for await (const told of chunksOf(events, TAKEN_AT_ONCE)) {
      const some = await this.#deps.log.readable(told);
      const taken = await Promise.allSettled(some.map((event) => this.#take(event)));
      await this.#deps.log.list(some.filter((_, which) => taken[which]?.status === "fulfilled"));
      // The next tick retries what failed.
      for (const outcome of taken) if (outcome.status === "rejected") throw outcome.reason;
    }
  }

  /** Returns the delivery to repeat; null: none. */
  async #deliver(id: string, delivery: Delivery): Promise<Delivery | null> {
    const { webhooks, clock, send, records } = this.#deps;
    const { event, failures } = delivery;
    const hook = await webhooks.get(delivery.hook);
    const message = messageOf(event);
    const headers = hook === null ? null : signedHeaders(hook, message, clock.epochMs());
    const trouble = hook === null || headers === null ? null : await send(hook.url, headers, message.body);
    const pause = trouble === null ? undefined : RETRY_MS[failures];
    const waiting = this.#waiting.get(delivery.hook);
    if (waiting?.all.delete(id) === true) tally(this.#waitingOf, waiting.payer, -1);
    if (waiting?.all.size === 0) this.#waiting.delete(delivery.hook);
    if (pause === undefined) {
      await records.delete(DELIVERY, id);
      return null;
    }
    const next = { ...delivery, failures: failures + 1, dueAtMs: Math.floor(clock.epochMs() + pause) };
    await this.#keep(id, next);
    return next;
  }

  #begin(id: string, delivery: Delivery, own: Set<string>): void {
    const { hook, payer = hook } = delivery;
    own.add(id);
    tally(this.#sendingOf, payer, 1);
    const done = this.#deliver(id, delivery)
      .then(
        (next) => ({ next, isOver: true }),
        (error: unknown) => {
          // While the store is down, due deliveries would fail as fast as they start: keep this one in memory and stop until the next tick.
          this.#deps.onBroken(error);
          const dueAtMs = Math.floor(this.#deps.clock.epochMs()) + BROKEN_MS;
          return { next: { ...delivery, dueAtMs }, isOver: false };
        },
      )
      .then(({ next, isOver }) => {
        // Synchronously: a delivery that arrives meanwhile would be skipped and forgotten.
        own.delete(id);
        if (own.size === 0) this.#sending.delete(hook);
        if (next !== null) this.#enqueue(id, next);
        tally(this.#sendingOf, payer, -1);
        this.#running.delete(done);
        if (isOver && this.#leads && !this.#stopped) this.#sendDue();
      });
    this.#running.add(done);
  }

  #isFull(payer: string, own: ReadonlySet<string>): boolean {
    const ofPayer = this.#sendingOf.get(payer) ?? 0;
    return own.size >= AT_ONCE_EACH || ofPayer >= AT_ONCE_PAYER || this.#running.size >= AT_ONCE_ALL;
  }

  /** Sends due deliveries up to the limits per webhook, per payer and in total. */
  #sendDue(): void {
    const nowMs = this.#deps.clock.epochMs();
    for (const [hook, waiting] of [...this.#waiting]) {
      if (this.#running.size >= AT_ONCE_ALL) return;
      if (waiting.dueAtMs <= nowMs) this.#sendTo(hook, waiting, nowMs);
    }
  }

  #sendTo(hook: string, waiting: Waiting, nowMs: number): void {
    const own = getOrMake(this.#sending, hook, () => new Set<string>());
    let next = Number.POSITIVE_INFINITY;
    let begun = 0;
    for (const [id, delivery] of waiting.all) {
      if (own.has(id)) continue;
      if (delivery.dueAtMs > nowMs) next = Math.min(next, delivery.dueAtMs);
      else if (this.#isFull(waiting.payer, own)) {
        next = nowMs;
        break;
      } else {
        this.#begin(id, delivery, own);
        begun += 1;
      }
    }
    waiting.dueAtMs = next;
    if (begun === 0) return;
    // Move it to the end, so that the others go first next time.
    this.#waiting.delete(hook);
    this.#waiting.set(hook, waiting);
  }
}
