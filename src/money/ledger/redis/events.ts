// Reads the events that scripts leave in accounts' lists, and removes them. Scripts publish the account ids on a channel, so that only
// those accounts are read. All accounts are read now and then, because messages can be lost.
import { chunksOf } from "../../../core/chunks.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Subscription } from "../../../platform/storage/redis-channel.ts";
import type { LedgerEvent } from "../model/event.ts";
import type { Told } from "../model/ledger.ts";
import type { AccountIndex } from "./account-index.ts";
import { accountKey, TOLD_CHANNEL } from "./rows.ts";
import type { RunTransition } from "./script.ts";

/** The number of accounts read concurrently. */
const AT_ONCE = 64;
/** All accounts are read this often. */
const WHOLE_MS = 30_000;
/** Beyond this many published accounts, all are read instead. */
const HEARD_MAX = 50_000;

/** Subscribes to a channel of the same Redis; resolves once subscribed. */
export type Hear = (channel: string, onText: (text: string) => void, onGap: () => void) => Promise<Subscription>;

/** The accounts that were published since the last read. Subscribes at the first read. */
class HeardAccounts {
  readonly #hear: Hear | undefined;
  readonly #clock: Clock;
  readonly #accounts = new Set<string>();
  #wholeMs = Number.NEGATIVE_INFINITY;
  #subscription: Subscription | null = null;
  #begun = false;

  constructor(hear: Hear | undefined, clock: Clock) {
    this.#hear = hear;
    this.#clock = clock;
  }

  #begin(): void {
    if (this.#begun || this.#hear === undefined) return;
    this.#begun = true;
    const gap = () => this.missed();
    this.#hear(TOLD_CHANNEL, (accountId) => this.add(accountId), gap).then(
      (subscription) => {
        this.#subscription = subscription;
        this.missed();
      },
      () => {
        this.#begun = false;
      },
    );
  }

  add(accountId: string): void {
    this.#accounts.add(accountId);
    if (this.#accounts.size > HEARD_MAX) this.missed();
  }

  missed(): void {
    this.#wholeMs = Number.NEGATIVE_INFINITY;
    this.#accounts.clear();
  }

  /** Takes accounts to read; null where all must be read. */
  take(countMax: number): readonly string[] | null {
    this.#begin();
    const hears = this.#subscription?.isListening() ?? false;
    if (!hears || this.#clock.elapsedMs() - this.#wholeMs >= WHOLE_MS) return null;
    const some = [...this.#accounts].slice(0, countMax);
    for (const accountId of some) this.#accounts.delete(accountId);
    return some;
  }

  /** Marks all accounts for reading, and once more where messages were lost or the reading failed meanwhile. */
  beginsWhole(): void {
    this.#wholeMs = this.#clock.elapsedMs();
  }
}

export function redisEvents(
  run: RunTransition,
  index: AccountIndex,
  { hear, clock }: { readonly hear?: Hear | undefined; readonly clock: Clock },
): Told {
  /** Events' texts by event: removal needs the exact text. */
  const texts = new WeakMap<LedgerEvent, string>();
  const heard = new HeardAccounts(hear, clock);

  async function eventsOf(accountId: string): Promise<LedgerEvent[]> {
    const told = await run("told", accountKey(accountId), {});
    // There may be more events in the list.
    if (told.length > 0) heard.add(accountId);
    return told.map((text) => {
      const event: LedgerEvent = { ...(JSON.parse(text) as Omit<LedgerEvent, "accountId">), accountId };
      texts.set(event, text);
      return event;
    });
  }

  async function eventsOfAll(countMax: number): Promise<LedgerEvent[]> {
    heard.beginsWhole();
    const found: LedgerEvent[] = [];
    let isWhole = false;
    try {
      for await (const some of chunksOf(index.unarchived(), AT_ONCE)) {
        found.push(...(await Promise.all(some.map(eventsOf))).flat());
        if (found.length >= countMax) return found;
      }
      isWhole = true;
      return found;
    } finally {
      if (!isWhole) heard.missed();
    }
  }

  return {
    async events(countMax) {
      const some = heard.take(AT_ONCE);
      if (some === null) return eventsOfAll(countMax);
      try {
        return (await Promise.all(some.map(eventsOf))).flat();
      } catch (error) {
        for (const accountId of some) heard.add(accountId);
        throw error;
      }
    },
    async dropEvents(events) {
      for (const [accountId, own] of Map.groupBy(events, (event) => event.accountId)) {
        const told = own.map((event) => texts.get(event) ?? "");
        await run("drop_told", accountKey(accountId), {}, { rest: told });
      }
    },
  };
}
