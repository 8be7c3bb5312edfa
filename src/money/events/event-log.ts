// Past events, stored for 30 days: an account's for its primary key, and those of all accounts for the operator.

import type { Clock } from "../../core/clock.ts";
import type { Records, StoredRecord } from "../../platform/records/records.ts";
import { fewAtATime } from "../accounts/few-at-a-time.ts";
import { type Names, namesOf, readable } from "../accounts/names.ts";
import { type AccountRules, rulesOf, tagScope } from "../accounts/rules.ts";
import { eventId } from "../ledger/model/event.ts";

const EVENT = "event";
/** Reported events that are not listed yet. */
const OUTBOX = "outbox";
const OUTBOX_PAYER = "outbox";
export const OPERATOR = "operator";
const KEPT_MS = 30 * 86_400_000;
const AT_ONCE = 500;

/** Waits for all, then rejects with the first failure. */
async function allDone(works: Iterable<Promise<unknown>>): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) if (outcome.status === "rejected") throw outcome.reason;
}

export const EVENT_KINDS = [
  "budget.mark",
  "run.mark",
  "run.asks",
  "budget.refused",
  "balance.low",
  "key.first_use",
  "job.ended",
  "batch.completed",
  "batch.failed",
  "route.rests",
  "route.returns",
  "settlement.in_doubt",
  "model.retires",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export interface Event {
  /** The same for the same cause, however often it is reported. */
  readonly id: string;
  readonly kind: EventKind;
  /** The event's account; null: only the operator sees it. */
  readonly accountId: string | null;
  readonly atMs: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventPage {
  readonly events: readonly Event[];
  readonly next: string | null;
}

export type EventLog = ReturnType<typeof createEventLog>;

export function eventRow({ id, kind, accountId, atMs, data }: Event) {
  return { id, kind, account_id: accountId, at: new Date(atMs).toISOString(), data };
}

export const payerOf = (accountId: string | null) => (accountId === null ? OPERATOR : `acct:${accountId}`);
const read = ({ value }: StoredRecord) => JSON.parse(value) as Event;
/** The operator's list has all events. */
const idFor = (payer: string, id: string) => `${payer} ${id}`;

/** The name that people gave to a ledger scope. */
function whoseOf({ groups, tags }: AccountRules, scope: unknown): string | null {
  const [of, id] = String(scope).split(":");
  if (of === "group") return groups.find((group) => group.id === id)?.name ?? null;
  return of === "tag" ? (tags.find(({ tag }) => scope === tagScope(tag))?.tag ?? null) : null;
}

/** `names`: the names of accounts and keys; without it events have only their ids. */
export function createEventLog(records: Records, clock: Clock, names?: Names) {
  async function put(payer: string, event: Event): Promise<void> {
    const record = { kind: EVENT, id: idFor(payer, event.id), payer, value: JSON.stringify(event) };
    await records.put({ ...record, ttlMs: KEPT_MS, ifVersion: 0 });
  }

  async function putInOrder(payer: string, events: readonly Event[]): Promise<void> {
    for (const event of events) await put(payer, event);
  }

  async function toTell(event: Event): Promise<Event> {
    const { accountId: account_id, data } = event;
    const shown = readable(data);
    if (account_id === null) return { ...event, data: shown };
    const { scope } = data;
    const [, key = null] = /^key:(.*)$/.exec(String(scope)) ?? [];
    const own = names === undefined ? {} : await namesOf(names, null)({ account_id, key_id: key ?? data.key_id });
    const ruled = scope === undefined ? null : whoseOf(await rulesOf(records, account_id), scope);
    const name = key === null ? ruled : (own.key_label ?? null);
    return { ...event, data: { ...shown, ...own, ...(name === null ? {} : { name }) } };
  }

  return {
    /** Stores an event of a part other than the ledger, under an id derived from these words. */
    async tell(event: Omit<Event, "id" | "atMs">, ...words: readonly (string | number)[]) {
      const whole = { ...event, id: eventId(event.kind, ...words), atMs: Math.floor(clock.epochMs()) };
      const record = { kind: OUTBOX, id: whole.id, payer: OUTBOX_PAYER, value: JSON.stringify(whole) };
      await records.put({ ...record, ttlMs: KEPT_MS, ifVersion: 0 });
    },
    async waiting(): Promise<readonly Event[]> {
      const { rows } = await records.list(OUTBOX, OUTBOX_PAYER, AT_ONCE, null);
      return rows.map(read).reverse();
    },
    /** The events as listed and sent: also in dollars and dates, and with names besides ids. */
    readable: (events: readonly Event[]) => fewAtATime(events, toTell),
    /** Lists events in order, for their accounts and the operator; they no longer wait. */
    async list(events: readonly Event[]) {
      // One after the other in each list: a store may number a line before it adds it, and a concurrent reader would skip a line that was
      // numbered first and added last. The operator's list first, because an event in its account's list counts as listed.
      await putInOrder(OPERATOR, events);
      const owned = Map.groupBy(events, ({ accountId }) => payerOf(accountId));
      owned.delete(OPERATOR);
      await allDone([...owned].map(([payer, own]) => putInOrder(payer, own)));
      await allDone(events.map(({ id }) => records.delete(OUTBOX, id)));
    },
    has: async (event: Event) => (await records.get(EVENT, idFor(payerOf(event.accountId), event.id))) !== null,
    async find(payer: string, id: string): Promise<Event | null> {
      const found = await records.get(EVENT, idFor(payer, id));
      return found === null ? null : read(found);
    },
    /** Newest first. */
    async page(payer: string, limit: number, cursor: string | null): Promise<EventPage> {
      const { rows, next } = await records.list(EVENT, payer, limit, cursor);
      return { events: rows.map(read), next };
    },
  };
}
