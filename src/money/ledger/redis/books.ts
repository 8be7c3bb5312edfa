// Reads and writes a whole Redis ledger with its archive, for a command that has exclusive access.
import type { Clock } from "../../../core/clock.ts";
import { getOrMake } from "../../../core/maps.ts";
import type { RedisLink } from "../../../platform/storage/redis-link.ts";
import type { Archive, NumberedPosting } from "../archive/archive.ts";
import { PostingExport } from "../archive/export.ts";
import {
  type AccountBook,
  type BookCost,
  type BookIdempotency,
  type BookSource,
  type BookTarget,
  COST_DAYS_CARRIED,
} from "../books.ts";
import { PostingSums } from "../model/posting-sums.ts";
import { countsOf } from "../model/window-list.ts";
import { dayOf, runOfScope } from "../model/windows.ts";
import { AccountIndex } from "./account-index.ts";
import { archivedText } from "./calls.ts";
import { redisLedger } from "./ledger.ts";
import {
  ABOUT,
  accountBase,
  accountKey,
  accountRow,
  callKey,
  fieldsOf,
  keyIdsOf,
  profileOf,
  secretKey,
  storedKey,
} from "./rows.ts";
import { ledgerScripts, transitionClock } from "./script.ts";

const BATCH = 500;
const SWEEP_COUNT = 500;
const DAYS_KEPT = 62;
/** The scripts remember ended holds this long, and idempotency keys this long after they expire. */
const KEPT_MS = 6 * 3_600_000;
const ROW = /^\{a:([^}]*)\}:i:(\[.*\])$/;

export interface RedisBooks {
  readonly link: RedisLink;
  readonly archive: Archive;
  readonly clock: Clock;
  readonly leaseMs: number;
}

function indexOf({ link, clock }: RedisBooks) {
  return new AccountIndex(link, ledgerScripts(link, transitionClock(clock, false)), clock);
}

/** All unexpired idempotency keys, by account. */
async function idempotencyRows({ link, clock }: RedisBooks): Promise<Map<string, BookIdempotency[]>> {
  const found = new Map<string, BookIdempotency[]>();
  for await (const name of link.keys()) {
    const [, accountId, id] = ROW.exec(name) ?? [];
    if (accountId === undefined || id === undefined) continue;
    const [keyId, key] = JSON.parse(id) as [string, string];
    const row = await fieldsOf(link, name);
    const word = (field: string) => row.get(field) ?? "";
    const lapsesAtMs = Number(row.get("lapses") ?? 0);
    if (lapsesAtMs <= clock.epochMs()) continue;
    const one = { keyId, key, fingerprint: word("fingerprint"), holdId: word("hold"), state: word("state") };
    getOrMake(found, accountId, () => []).push({ ...one, effect: word("effect"), lapsesAtMs });
  }
  return found;
}

/** The sums of cost among an account's fields. */
function costsIn(fields: ReadonlyMap<string, string>, clockMs: number): BookCost[] {
  const costs: BookCost[] = [];
  for (const [name, value] of fields) {
    const [, scope = "", day = ""] = /^(.+):(\d+)s$/.exec(name) ?? [];
    if (scope === "" || countsOf(scope) === "charge" || Number(day) < dayOf(clockMs) - COST_DAYS_CARRIED) continue;
    costs.push({ scope, day: Number(day), nano: Number(value) });
  }
  return costs;
}

export async function archiveAll(books: RedisBooks): Promise<void> {
  const mover = new PostingExport({ ...books, onBroken: () => {}, every: () => () => {} });
  await mover.flush(indexOf(books).all());
}

/** Reads the Redis ledger, after moving what is not in the archive yet. */
export function redisBookSource(books: RedisBooks): BookSource {
  const { link, archive, clock, leaseMs } = books;
  const index = indexOf(books);
  const ledger = redisLedger({ link, clock, leaseMs, archive });

  async function* postings(): AsyncIterable<readonly NumberedPosting[]> {
    for await (const accountId of index.all()) {
      for (let after = 0; ; ) {
        const some = await archive.after(accountId, after, BATCH);
        if (some.length === 0) break;
        yield some;
        after = some.at(-1)?.number ?? after;
      }
    }
  }

  async function* accounts(): AsyncIterable<AccountBook> {
    const idempotency = await idempotencyRows(books);
    for await (const accountId of index.all()) {
      const fields = await fieldsOf(link, accountKey(accountId));
      const row = accountRow(accountId, fields);
      if (row === null) continue;
      const { heldNano: _, ...account } = row;
      const keyFields = await fieldsOf(link, `${accountBase(accountId)}:k`);
      const keys = keyIdsOf(keyFields)
        .map((keyId) => storedKey(accountId, keyId, keyFields))
        .filter((key) => key !== null)
        .map(({ row: key, profile }) => ({ ...key, secretHash: profile.secretHash }));
      const clockMs = Number(fields.get("clk"));
      yield { account, clockMs, keys, idempotency: idempotency.get(accountId) ?? [], costs: costsIn(fields, clockMs) };
    }
  }

  return {
    async settle() {
      while ((await ledger.sweep(SWEEP_COUNT)).length === SWEEP_COUNT);
      const { holdsOpen } = await ledger.totals();
      if (holdsOpen > 0) return holdsOpen;
      await archiveAll(books);
      return 0;
    },
    postings,
    accounts,
    doctor: () => ledger.doctor(),
  };
}

/** The sums of an account's postings, and what its credit was paid with. */
class BookSums extends PostingSums {
  readonly references: [reference: string, transactionId: string][] = [];
  /** The last one's number. */
  last = 0;

  constructor() {
    super((scope, day) => `${scope}:${day}`);
  }

  override add(posting: NumberedPosting): void {
    super.add(posting);
    this.last = posting.number;
    const { kind, reference, transactionId } = posting;
    if (kind !== "charge" && reference !== null) this.references.push([`${kind}:${reference}`, transactionId]);
  }

  /** By the account's field names, from a day on. A run's sums stay however old they are. */
  fields(daysFrom: number): [field: string, nano: number][] {
    return [...this.days].flatMap(([name, { scope, day, spent, absorbed }]): [string, number][] => {
      if (day < daysFrom && runOfScope(scope) === null) return [];
      return [[`${name}s`, spent], ...(absorbed > 0 ? [[`${name}a`, absorbed] as [string, number]] : [])];
    });
  }
}

async function putHash(
  link: RedisBooks["link"],
  key: string,
  fields: readonly (readonly [string, string | number])[],
): Promise<void> {
  for (let at = 0; at < fields.length; at += BATCH) {
    await link.call("HSET", key, ...fields.slice(at, at + BATCH).flat());
  }
}

async function putKeys(link: RedisBooks["link"], { account: { accountId }, keys }: AccountBook): Promise<void> {
  for (const key of keys) await link.call("SET", secretKey(key.secretHash), JSON.stringify([accountId, key.keyId]));
  const fields = keys.flatMap((key): [string, string | number][] => [
    [key.keyId, JSON.stringify(profileOf(key, key.primary))],
    [`${key.keyId}:paused`, key.paused ? "1" : "0"],
    [`${key.keyId}:ceiling`, key.ceilingNano ?? ""],
    [`${key.keyId}:period`, key.ceilingPeriod ?? ""],
    [`${key.keyId}:created`, key.createdAtMs],
    ...(key.lastUsedAtMs === null ? [] : [[`${key.keyId}:used`, key.lastUsedAtMs] as [string, number]]),
    ...(key.externalId === null ? [] : [[`external:${key.externalId}`, key.keyId] as [string, string]]),
  ]);
  await putHash(link, `${accountBase(accountId)}:k`, fields);
}

async function putIdempotency(
  link: RedisBooks["link"],
  accountId: string,
  rows: readonly BookIdempotency[],
): Promise<void> {
  for (const { keyId, key, fingerprint, holdId, state, effect, lapsesAtMs } of rows) {
    const name = `${accountBase(accountId)}:i:${JSON.stringify([keyId, key])}`;
    const fields = { state, fingerprint, hold: holdId, effect, lapses: lapsesAtMs };
    await putHash(link, name, Object.entries(fields));
    await link.call("PEXPIREAT", name, lapsesAtMs + KEPT_MS);
  }
}

/** Writes a ledger into an empty Redis, and all postings into its archive. */
export function redisBookTarget(books: RedisBooks): BookTarget {
  const { link, archive, clock } = books;
  const index = indexOf(books);
  const all = new Map<string, BookSums>();

  /** Only Redis answers repeated requests. */
  async function remember(posting: NumberedPosting): Promise<void> {
    const { kind, accountId, transactionId, createdAtMs } = posting;
    const untilMs = createdAtMs + KEPT_MS;
    if (kind !== "charge" || untilMs <= clock.epochMs()) return;
    await link.call("SET", callKey(accountId, transactionId), archivedText(posting), "PXAT", untilMs);
  }

  return {
    async takePostings(postings) {
      const conflict = await archive.append(postings);
      if (conflict !== null) throw new Error(`the archive has other postings of these accounts: ${conflict}`);
      for (const posting of postings) getOrMake(all, posting.accountId, () => new BookSums()).add(posting);
      await Promise.all(postings.map(remember));
    },
    async takeAccount(book) {
      const { account, clockMs, idempotency, costs } = book;
      const { accountId } = account;
      const sums = all.get(accountId) ?? new BookSums();
      const daysFrom = dayOf(clockMs) - DAYS_KEPT;
      for (const { scope, day, nano: spent } of costs)
        sums.days.set(`${scope}:${day}`, { scope, day, spent, absorbed: 0, isCost: true });
      await index.register(accountId);
      await putKeys(link, book);
      await putIdempotency(link, accountId, idempotency);
      await putHash(link, accountKey(accountId), sums.fields(daysFrom));
      await putHash(link, `${accountBase(accountId)}:r`, sums.references);
      // Write the account itself last: until it exists, nothing of it is found.
      const fields = {
        ...{ name: account.name, kind: account.kind, cap: account.inferenceCapNano, rpm: account.requestsPerMinute },
        ...{ in_flight: account.inFlightMax, frozen: account.frozen ? "1" : "0", created: account.createdAtMs },
        ...{ strict: account.strictBounds ? "1" : "0" },
        ...{ granted: account.grantedNano, spent: account.spentNano, held: 0, absorbed: account.absorbedNano },
        ...{ clk: Math.max(clockMs, 0), seq: sums.last, archived: sums.last, archived_charged: sums.charged },
        ...{ archived_credited: sums.credited, archived_cents: sums.cents, archived_absorbed: sums.absorbed },
        // The days hold all absorbed cost.
        ...{ absorbed_from: 1, days_from: daysFrom, about: ABOUT },
      };
      await putHash(link, accountKey(accountId), Object.entries(fields));
    },
    finish: () => Promise.resolve(),
  };
}

/** Adds what the archive has beyond an older copy of Redis: later charges and credits of its accounts. Returns how many it added. */
export async function replayArchive(books: RedisBooks): Promise<number> {
  const { link, archive, clock, leaseMs } = books;
  const ledger = redisLedger({ link, clock, leaseMs });
  let count = 0;
  for await (const accountId of indexOf(books).all()) {
    const fields = await fieldsOf(link, accountKey(accountId));
    const [seq, archived] = [Number(fields.get("seq") ?? 0), Number(fields.get("archived") ?? 0)];
    if (!fields.has("granted") || seq !== archived) continue;
    const sums = new BookSums();
    let clockMs = Number(fields.get("clk"));
    for (let after = archived; ; after = sums.last) {
      const some = await archive.after(accountId, after, BATCH);
      for (const posting of some) {
        sums.add(posting);
        clockMs = Math.max(clockMs, posting.createdAtMs);
        await endHold(accountId, posting.transactionId);
      }
      if (some.length === 0) break;
      count += some.length;
    }
    if (sums.count > 0) await addSums(accountId, fields, sums, clockMs);
  }
  return count;

  /** Ends a hold of the copy that was posted later. */
  async function endHold(accountId: string, holdId: string): Promise<void> {
    if ((await ledger.holdState({ accountId, holdId })) !== "held") return;
    // The key must not become free: a caller who repeats the request was charged already.
    await ledger.void({ accountId, holdId }, "posted since", { keyFate: "answered" });
    await link.call("DEL", callKey(accountId, holdId));
  }

  async function addSums(
    accountId: string,
    fields: ReadonlyMap<string, string>,
    sums: BookSums,
    clockMs: number,
  ): Promise<void> {
    const base = accountBase(accountId);
    const { charged, credited, cents, absorbed } = sums;
    const more = {
      ...{ spent: charged, granted: credited, absorbed, archived_charged: charged, archived_credited: credited },
      ...{ archived_cents: cents, archived_absorbed: absorbed },
      ...Object.fromEntries(sums.fields(Number.NEGATIVE_INFINITY)),
    };
    // Makes the keys add up their periods' days again.
    const keyIds = keyIdsOf(await fieldsOf(link, `${base}:k`));
    if (keyIds.length > 0) await link.call("HDEL", `${base}:k`, ...keyIds.map((keyId) => `${keyId}:past`));
    await putHash(link, `${base}:r`, sums.references);
    // Writes totals in one command, so that a repeat changes nothing and no half is left.
    const sum = Object.entries(more).flatMap(([field, by]) => [field, Number(fields.get(field) ?? 0) + by]);
    const seq = Number(fields.get("seq") ?? 0);
    const from = absorbed === 0 || fields.has("absorbed_from") ? [] : ["absorbed_from", seq + 1];
    const place = ["seq", sums.last, "archived", sums.last, "clk", clockMs, ...from];
    await link.call("HSET", accountKey(accountId), ...sum, ...place);
  }
}
