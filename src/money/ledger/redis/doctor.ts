// Checks every invariant of the Redis ledger and its archive, account by account: sums against postings, and holds against their windows.
import { inChunks } from "../../../core/chunks.ts";
import { centsUp, GRANTED_NANO_MAX, type Nano } from "../../../core/money.ts";
import type { Archive, ArchiveSums, NumberedPosting } from "../archive/archive.ts";
import { chargedScopes } from "../model/counted.ts";
import type { DoctorReport, Finding } from "../model/ledger.ts";
import { legsFault } from "../model/legs.ts";
import { costIn, countsOf, windowList } from "../model/window-list.ts";
import { countingDay, runOfScope } from "../model/windows.ts";
import { type HoldRow, holdRow, readCalls, readPostings } from "./calls.ts";
import { accountBase, accountKey, fieldsOf } from "./rows.ts";
import type { LedgerLink } from "./script.ts";

type Say = (invariant: string, detail: string) => void;
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
  readonly archived: ArchiveSums;
  /** Postings in the archive that Redis still has: a move was interrupted. */
  readonly ahead: readonly NumberedPosting[];
  /** Archived charges that postings in Redis refund, by id; 0 where the charge is missing. */
  readonly refunded: ReadonlyMap<string, number>;
}

/** The first posting whose absorbed cost counts in its day; earlier releases did not count it. */
function absorbedFrom(account: Fields): number {
  return Number(account.get("absorbed_from") ?? Number.MAX_SAFE_INTEGER);
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
  const cursor = number(account, "archived");
  const [archived, ahead] = await Promise.all([
    archive.sums(accountId, cursor, absorbedFrom(account)),
    archive.after(accountId, cursor, READ_AT_ONCE),
  ]);
  const own = new Set(postings.map(({ transactionId }) => transactionId));
  const elsewhere = postings.flatMap(({ kind, reference }) =>
    kind === "refund" && reference !== null && !own.has(reference) ? [reference] : [],
  );
  const refunded = await inChunks(elsewhere, READ_AT_ONCE, async (id) => {
    const charge = await archive.transaction(accountId, id);
    return [id, charge?.kind === "charge" ? charge.amountNano : 0] as const;
  });
  return { account, keys, holds, postings, archived, ahead, refunded: new Map(refunded) };
}

/** True where the account changed since it was read; the data then mixes several moments and proves nothing. */
async function hasChanged(link: LedgerLink, accountId: string, { account }: Seen): Promise<boolean> {
  const now = await fieldsOf(link, accountKey(accountId));
  return ["seq", "held", "spent", "granted", "archived"].some((name) => now.get(name) !== account.get(name));
}

/** I10: what left Redis is in the archive, whole and once; where both have a posting, they agree. */
function checkArchive({ account, postings, archived, ahead }: Seen, say: Say): void {
  const cursor = number(account, "archived");
  if (archived.count !== cursor) say("I10", `${cursor} postings have left Redis, ${archived.count} are in the archive`);
  for (const name of ["charged", "credited", "cents", "absorbed"] as const) {
    const left = number(account, `archived_${name}`);
    if (archived[name] !== left)
      say("I10", `postings with ${name} of ${left} have left Redis, in the archive it is ${archived[name]}`);
  }
  for (const [invariant, detail] of archived.faults) say(invariant, detail);
  const ids = new Map(postings.map((posting) => [posting.number, posting.transactionId]));
  for (const { number: at, transactionId } of ahead) {
    if (ids.get(at) !== transactionId)
      say("I10", `posting ${at} is ${transactionId} in the archive, in Redis it is ${ids.get(at) ?? "nothing"}`);
  }
}

interface Counted {
  readonly keyId: string | null;
  readonly day: number | string | null;
  readonly inference: boolean;
  readonly windows: string | null;
}

function daysOf(counted: Counted): string[] {
  return chargedScopes(counted).map((scope) => `${scope}:${countingDay(scope, Number(counted.day))}`);
}

/** The names of fields that hold what scopes spent (`s`), hold (`h`) or absorbed (`a`) on a day. */
function daySums(account: Fields, what: "s" | "h" | "a"): string[] {
  return [...account.keys()].filter(
    (name) =>
      /:\d+[sha]$/.test(name) && name.endsWith(what) && !name.startsWith("slot:") && countsOf(name) === "charge",
  );
}

/** I15: uncharged calls leave no posting, so a sum of cost may exceed the postings' cost, and never falls below it. */
function checkCosts({ account, postings, archived }: Seen, say: Say): void {
  const least = new Map<string, number>();
  const count = ({ windows, day }: Counted, cost: (counts: "unpaid" | "margin") => number) => {
    for (const { scope, counts } of windowList(windows ?? "").costs) {
      const by = Math.max(0, cost(counts === "unpaid" ? "unpaid" : "margin"));
      least.set(`${scope}:${day}s`, (least.get(`${scope}:${day}s`) ?? 0) + by);
    }
  };
  for (const sums of archived.days) count(sums, (counts) => sums[counts]);
  for (const charge of postings) count(charge, (counts) => costIn({ counts }, charge.amountNano, charge.upstreamNano));
  for (const [name, sum] of least) {
    if (number(account, name) >= sum || (!account.has(name) && isPruned(account, name))) continue;
    say("I15", `${name} says ${account.get(name) ?? 0}, its postings alone add up to ${sum}`);
  }
}

/** Old days that no ceiling needs leave Redis; only the archive has their sums then. A run's sums stay. */
function isPruned(account: Fields, field: string): boolean {
  return (
    runOfScope(field) === null && Number(/:(\d+)[sa]$/.exec(field)?.[1] ?? Number.NaN) < number(account, "days_from")
  );
}

function checkPostings({ account, postings, archived, refunded }: Seen, say: Say): void {
  const { charged: before, credited, cents, absorbed } = archived;
  const sums = { charged: before, credited, cents, absorbed };
  const ofDays = new Map<string, number>();
  const count = (charge: Counted, charged: number, absorbed: number) => {
    for (const day of daysOf(charge)) {
      ofDays.set(`${day}s`, (ofDays.get(`${day}s`) ?? 0) + charged);
      ofDays.set(`${day}a`, (ofDays.get(`${day}a`) ?? 0) + absorbed);
    }
  };
  for (const charge of archived.days) count(charge, charge.charged, charge.absorbed);
  const charges = new Map(refunded);
  let [laterMs, next] = [archived.latestMs, number(account, "archived") + 1];
  for (const posting of postings) {
    const { transactionId, kind, amountNano, chargedCents, absorbedNano, createdAtMs } = posting;
    if (posting.number !== next) say("I1", `posting ${next} is missing before ${transactionId}`);
    next = posting.number + 1;
    if (createdAtMs < laterMs) say("I12", `${transactionId} is of ${createdAtMs}, earlier than what came before it`);
    laterMs = createdAtMs;
    sums.cents += chargedCents;
    sums.absorbed += absorbedNano;
    if (kind === "charge") {
      sums.charged += amountNano;
      charges.set(transactionId, amountNano);
      const fault = legsFault(posting);
      if (fault !== null) say("I13", fault);
      count(posting, amountNano, posting.number < absorbedFrom(account) ? 0 : absorbedNano);
    } else sums.credited += amountNano;
    if (kind !== "refund") continue;
    const charged = charges.get(posting.reference ?? "");
    if (charged !== amountNano)
      say("I9", `${transactionId} refunds ${amountNano} of a charge of ${charged ?? "nothing"}`);
  }
  const spent = number(account, "spent");
  const there = archived.count + postings.length;
  if (number(account, "seq") !== there) say("I1", `${there} postings of ${account.get("seq")} are there`);
  if (spent !== sums.charged) say("I1", `spent is ${spent}, its charges add up to ${sums.charged}`);
  if (number(account, "granted") !== sums.credited) say("I1", `granted is not what was credited, ${sums.credited}`);
  if (sums.cents !== centsUp(spent as Nano)) say("I7", `charged cents add up to ${sums.cents}, ${spent} is spent`);
  if (number(account, "absorbed") !== sums.absorbed)
    say("I9", `absorbed is not the sum of shortfalls, ${sums.absorbed}`);
  if (laterMs > number(account, "clk")) say("I12", "the account's clock is behind its last posting");
  for (const name of new Set([...daySums(account, "s"), ...daySums(account, "a"), ...ofDays.keys()])) {
    if (number(account, name) === (ofDays.get(name) ?? 0)) continue;
    if (!account.has(name) && isPruned(account, name)) continue;
    const what = name.endsWith("s") ? "spent" : "absorbed";
    say("I4", `${name} says ${account.get(name)} is ${what}, its postings add up to ${ofDays.get(name) ?? 0}`);
  }
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
    for (const day of daysOf(hold)) count(`${day}h`, hold.amount);
    for (const scope of hold.slots) count(`slot:${scope}`, 1);
  }
  const compare = (invariant: string, name: string, value: number) => {
    if (value !== (sums.get(name) ?? 0))
      say(invariant, `${name} holds ${value}, its live holds add up to ${sums.get(name) ?? 0}`);
    sums.delete(name);
  };
  compare("I2", "account", number(account, "held"));
  for (const [name] of account) if (name.startsWith("slot:")) compare("I2", name, number(account, name));
  for (const day of daySums(account, "h")) compare("I4", day, number(account, day));
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
      checkArchive(seen, say);
      checkPostings(seen, say);
      checkCosts(seen, say);
      checkHolds(seen, say);
      checkPasts(seen, say);
      if (findings.length > 0 && tries < TRIES - 1 && (await hasChanged(link, accountId, seen))) continue;
      report.accounts += 1;
      report.holds += seen.holds.length;
      report.postings += seen.archived.count + seen.postings.length;
      break;
    }
    report.findings.push(...findings);
  }
  for (const detail of await archive.sumFaults()) report.findings.push({ invariant: "I14", accountId: null, detail });
  return report;
}
