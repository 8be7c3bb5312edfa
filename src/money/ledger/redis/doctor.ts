// Checks every invariant of the Redis ledger and its archive, account by account: sums against postings, and holds against their windows.
import { GRANTED_NANO_MAX } from "../../../core/money.ts";
import type { Archive, NumberedPosting } from "../archive/archive.ts";
import { chargedScopes } from "../model/counted.ts";
import type { DoctorReport, Finding } from "../model/ledger.ts";
import { PostingWalk, type Say } from "../model/posting-sums.ts";
import { countsOf } from "../model/window-list.ts";
import { countingDay, runOfScope } from "../model/windows.ts";
import { type HoldRow, holdRow, readCalls, readPostings } from "./calls.ts";
import { accountBase, accountKey, fieldsOf } from "./rows.ts";
import type { LedgerLink } from "./script.ts";

type Fields = ReadonlyMap<string, string>;

const READ_AT_ONCE = 200;
const TRIES = 3;

function number(fields: Fields, name: string): number {
  return Number(fields.get(name) ?? "0");
}

/** An account's data at one moment. */
interface Seen {
  readonly account: Fields;
  readonly keys: Fields;
  readonly holds: readonly { readonly id: string; readonly hold: HoldRow | null }[];
  /** Postings in Redis; the others are in the archive. */
  readonly postings: readonly NumberedPosting[];
  /** Postings in the archive that Redis still has: a move was interrupted. */
  readonly ahead: readonly NumberedPosting[];
}

async function readAccount(link: LedgerLink, accountId: string, archive: Archive): Promise<Seen> {
  const base = accountBase(accountId);
  const account = await fieldsOf(link, accountKey(accountId));
  const keys = await fieldsOf(link, `${base}:k`);
  const holdIds = (await link.call("HKEYS", `${base}:l`)) as string[];
  const postingIds = (await link.call("ZRANGE", `${base}:x`, "0", "-1")) as string[];
  const held = await readCalls(link, accountId, holdIds);
  const holds = holdIds.map((id, at) => ({ id, hold: holdRow(held[at] ?? null) }));
  const postings = await readPostings(link, accountId, postingIds);
  const ahead = await archive.after(accountId, number(account, "archived"), READ_AT_ONCE);
  return { account, keys, holds, postings, ahead };
}

/** True where the account changed since it was read; the data then mixes several moments and proves nothing. */
async function hasChanged(link: LedgerLink, accountId: string, { account }: Seen): Promise<boolean> {
  const now = await fieldsOf(link, accountKey(accountId));
  return ["seq", "held", "spent", "granted", "archived"].some((name) => now.get(name) !== account.get(name));
}

/** The names of days for which an account has a spent (`s`), held (`h`) or absorbed (`a`) sum of charges. */
function daysWith(account: Fields, field: RegExp): Set<string> {
  const names = [...account.keys()].flatMap((name) => field.exec(name)?.[1] ?? []);
  return new Set(names.filter((name) => !name.startsWith("slot:") && countsOf(name) === "charge"));
}

/** What a day says; null where it may have left Redis, as old days do that no ceiling needs. A run's sums stay. */
function storedDay(account: Fields, name: string) {
  const isOld = Number(/:(\d+)$/.exec(name)?.[1]) < number(account, "days_from");
  if (isOld && runOfScope(name) === null && !account.has(`${name}s`) && !account.has(`${name}a`)) return null;
  return { spent: number(account, `${name}s`), absorbed: number(account, `${name}a`) };
}

/** Walks along the postings in Redis, then those in the archive, which must be all that left Redis (I10). Returns their count. */
async function checkPostings(accountId: string, seen: Seen, archive: Archive, say: Say): Promise<number> {
  const { account, postings, ahead } = seen;
  const [clockMs, seq, archived] = [number(account, "clk"), number(account, "seq"), number(account, "archived")];
  const walk = new PostingWalk((scope, day) => `${scope}:${day}`, clockMs, say);
  // Earlier releases did not count absorbed cost in its day.
  const wholeFrom = Number(account.get("absorbed_from") ?? Number.MAX_SAFE_INTEGER);
  for (const [at, posting] of postings.toReversed().entries()) {
    if (posting.number !== seq - at)
      say("I1", `${posting.transactionId} is posting ${posting.number}, not ${seq - at}`);
    walk.take(posting, posting.number >= wholeFrom);
  }
  const { count, charged, credited, cents, absorbed } = walk;
  for (let from = archived, isWhole = false; !isWhole; ) {
    const page = await archive.page({ accountId, keyId: null }, from, READ_AT_ONCE);
    for (const posting of page) walk.take(posting, posting.number >= wholeFrom);
    from = (page.at(-1)?.number ?? 0) - 1;
    isWhole = page.length < READ_AT_ONCE;
  }
  const there = walk.count - count;
  if (there !== archived) say("I10", `${archived} postings have left Redis, ${there} are in the archive`);
  for (const [name, inRedis] of Object.entries({ charged, credited, cents, absorbed } as const)) {
    const [left, kept] = [number(account, `archived_${name}`), walk[name as "charged"] - inRedis];
    if (kept !== left) say("I10", `postings with ${name} of ${left} have left Redis, in the archive it is ${kept}`);
  }
  const ids = new Map(postings.map((posting) => [posting.number, posting.transactionId]));
  for (const { number: at, transactionId } of ahead) {
    if (ids.get(at) !== transactionId)
      say("I10", `posting ${at} is ${transactionId} in the archive, in Redis it is ${ids.get(at) ?? "nothing"}`);
  }
  if (seq !== walk.count) say("I1", `${walk.count} postings of ${seq} are there`);
  const stored = { granted: number(account, "granted"), spent: number(account, "spent") };
  walk.end({ ...stored, absorbed: number(account, "absorbed") }, daysWith(account, /^(.+:\d+)[sa]$/), (name) =>
    storedDay(account, name),
  );
  return walk.count;
}

function checkHolds({ account, holds, postings }: Seen, say: Say): void {
  const sums = new Map<string, number>();
  const count = (name: string, by: number) => sums.set(name, (sums.get(name) ?? 0) + by);
  const posted = new Set(postings.map(({ transactionId }) => transactionId));
  for (const { id, hold } of holds) {
    if (posted.has(id)) say("I6", `${id} has a lease and is posted`);
    if (hold === null) {
      say("I2", `${id} has a lease and is no hold`);
      continue;
    }
    count("account", hold.amount);
    for (const scope of chargedScopes(hold)) count(`${scope}:${countingDay(scope, Number(hold.day))}`, hold.amount);
    for (const scope of hold.slots) count(`slot:${scope}`, 1);
  }
  const compare = (invariant: string, name: string, value: number) => {
    if (value !== (sums.get(name) ?? 0))
      say(invariant, `${name} holds ${value}, its live holds add up to ${sums.get(name) ?? 0}`);
    sums.delete(name);
  };
  compare("I2", "account", number(account, "held"));
  for (const [name] of account) if (name.startsWith("slot:")) compare("I2", name, number(account, name));
  for (const day of daysWith(account, /^(.+:\d+)h$/)) compare("I4", day, number(account, `${day}h`));
  for (const [name, sum] of sums) say("I4", `${name} holds nothing, its live holds add up to ${sum}`);
  const [granted, spent, held] = [number(account, "granted"), number(account, "spent"), number(account, "held")];
  if (spent + held > granted) say("I3", `spent ${spent} and held ${held} exceed the granted ${granted}`);
  if (granted > GRANTED_NANO_MAX) say("I3", `granted ${granted} is more than can be counted exactly`);
}

/** I4: a key's stored sum of earlier days equals the sum of these days. */
function checkPasts({ account, keys }: Seen, say: Say): void {
  for (const [name, past] of keys) {
    if (!name.endsWith(":past")) continue;
    const scope = `key:${name.slice(0, -":past".length)}`;
    // Three numbers are from a release without absorbed cost; the next call adds the days up again.
    const [first = 0, end = 0, spent, held, absorbed = 0] = past.split(" ").map(Number);
    // An unused key still has a sum over days that have left Redis; its next call replaces it.
    if (first < number(account, "days_from")) continue;
    const of = (what: string) =>
      Array.from({ length: end - first }, (_, at) => number(account, `${scope}:${first + at}${what}`)).reduce(
        (sum, value) => sum + value,
        0,
      );
    const [remembered, said] = [[spent, held, absorbed].join(", "), [of("s"), of("h"), of("a")].join(", ")];
    if (remembered !== said)
      say("I4", `${scope} remembers ${remembered} spent, held, absorbed before day ${end}, its days say ${said}`);
  }
}

/** Examines every account while calls continue; an account that changes meanwhile is read again. */
export async function examineRedis(
  link: LedgerLink,
  accountIds: AsyncIterable<string>,
  archive: Archive,
): Promise<DoctorReport> {
  const report = { accounts: 0, holds: 0, postings: 0, findings: [] as Finding[] };
  for await (const accountId of accountIds) {
    let findings: Finding[] = [];
    for (let tries = 0; tries < TRIES; tries++) {
      const seen = await readAccount(link, accountId, archive);
      if (!seen.account.has("granted")) break;
      findings = [];
      const say: Say = (invariant, detail) => findings.push({ invariant, accountId, detail });
      const postings = await checkPostings(accountId, seen, archive, say);
      checkHolds(seen, say);
      checkPasts(seen, say);
      if (findings.length > 0 && tries < TRIES - 1 && (await hasChanged(link, accountId, seen))) continue;
      report.accounts += 1;
      report.holds += seen.holds.length;
      report.postings += postings;
      break;
    }
    report.findings.push(...findings);
  }
  for (const detail of await archive.sumFaults()) report.findings.push({ invariant: "I14", accountId: null, detail });
  return report;
}
