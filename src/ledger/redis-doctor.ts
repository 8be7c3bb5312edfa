// Checks every invariant of the ledger in Redis, account by account: postings against sums, holds against what they take.
import { centsUp, GRANTED_NANO_MAX, type Nano } from "../money.ts";
import type { DoctorReport, Finding } from "./ledger.ts";
import { accountBase, accountKey, fieldsOf, type NumberedPosting, readPosting } from "./redis-rows.ts";
import type { LedgerLink } from "./redis-script.ts";

type Say = (invariant: string, detail: string) => void;
type Fields = ReadonlyMap<string, string>;

const READ_AT_ONCE = 200;
const TRIES = 3;

function number(fields: Fields, name: string): number {
  return Number(fields.get(name) ?? "0");
}

/** What an account's parts said at one moment. */
interface Seen {
  readonly account: Fields;
  readonly days: Fields;
  readonly slots: Fields;
  readonly holds: readonly { readonly id: string; readonly fields: Fields }[];
  readonly postings: readonly NumberedPosting[];
}

async function inParts<Item, Result>(items: readonly Item[], read: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += READ_AT_ONCE) {
    results.push(...(await Promise.all(items.slice(at, at + READ_AT_ONCE).map(read))));
  }
  return results;
}

async function readAccount(link: LedgerLink, accountId: string): Promise<Seen> {
  const base = accountBase(accountId);
  const account = await fieldsOf(link, accountKey(accountId));
  const [days, slots] = await Promise.all([fieldsOf(link, `${base}:d`), fieldsOf(link, `${base}:s`)]);
  const holdIds = (await link.call("ZRANGE", `${base}:hx`, "0", "-1")) as string[];
  const postingIds = (await link.call("ZRANGE", `${base}:x`, "0", "-1")) as string[];
  const holds = await inParts(holdIds, async (id) => ({ id, fields: await fieldsOf(link, `${base}:h:${id}`) }));
  const postings = await inParts(postingIds, (id) => readPosting(link, accountId, id));
  return { account, days, slots, holds, postings: postings.filter((posting) => posting !== null) };
}

/** Whether the account has changed since it was read: then what was read is of several moments, and proves nothing. */
async function hasChanged(link: LedgerLink, accountId: string, { account }: Seen): Promise<boolean> {
  const now = await fieldsOf(link, accountKey(accountId));
  return ["seq", "held", "spent", "granted"].some((name) => now.get(name) !== account.get(name));
}

function checkPostings({ account, days, postings }: Seen, say: Say): void {
  const sums = { charged: 0, credited: 0, cents: 0, absorbed: 0 };
  const ofDays = new Map<string, number>();
  const charges = new Map<string, number>();
  let [laterMs, next] = [0, 1];
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
      for (const scope of [`key:${posting.keyId}`, ...(posting.inference ? ["inference"] : [])]) {
        const day = `${scope}:${posting.day}s`;
        ofDays.set(day, (ofDays.get(day) ?? 0) + amountNano);
      }
    } else sums.credited += amountNano;
    if (kind !== "refund") continue;
    const charged = charges.get(posting.reference ?? "");
    if (charged !== amountNano)
      say("I9", `${transactionId} refunds ${amountNano} of a charge of ${charged ?? "nothing"}`);
  }
  const spent = number(account, "spent");
  if (number(account, "seq") !== postings.length)
    say("I1", `${postings.length} postings of ${account.get("seq")} are there`);
  if (spent !== sums.charged) say("I1", `spent is ${spent}, its charges add up to ${sums.charged}`);
  if (number(account, "granted") !== sums.credited) say("I1", `granted is not what was credited, ${sums.credited}`);
  if (sums.cents !== centsUp(spent as Nano)) say("I7", `charged cents add up to ${sums.cents}, ${spent} is spent`);
  if (number(account, "absorbed") !== sums.absorbed)
    say("I9", `absorbed is not the sum of shortfalls, ${sums.absorbed}`);
  if (laterMs > number(account, "clk")) say("I12", "the account's clock is behind its last posting");
  for (const name of new Set([...days.keys(), ...ofDays.keys()])) {
    if (!name.endsWith("s") || number(days, name) === (ofDays.get(name) ?? 0)) continue;
    say("I4", `${name} says ${days.get(name)} is spent, its postings add up to ${ofDays.get(name) ?? 0}`);
  }
}

function checkHolds({ account, days, slots, holds, postings }: Seen, say: Say): void {
  const sums = new Map<string, number>();
  const count = (name: string, by: number) => sums.set(name, (sums.get(name) ?? 0) + by);
  const posted = new Set(postings.map(({ transactionId }) => transactionId));
  for (const { id, fields } of holds) {
    if (!fields.has("amount")) say("I2", `${id} has a lease and is no hold`);
    if (posted.has(id)) say("I6", `${id} is live and posted`);
    const amount = number(fields, "amount");
    count("account", amount);
    count(`key:${fields.get("key")}:${fields.get("day")}h`, amount);
    if (fields.get("inference") === "1") count(`inference:${fields.get("day")}h`, amount);
    for (const scope of JSON.parse(fields.get("slots") ?? "[]") as string[]) count(`slot ${scope}`, 1);
  }
  const compare = (invariant: string, name: string, value: number) => {
    if (value !== (sums.get(name) ?? 0))
      say(invariant, `${name} holds ${value}, its live holds add up to ${sums.get(name) ?? 0}`);
    sums.delete(name);
  };
  compare("I2", "account", number(account, "held"));
  for (const [scope] of slots) compare("I2", `slot ${scope}`, number(slots, scope));
  for (const [day] of [...days].filter(([name]) => name.endsWith("h"))) compare("I4", day, number(days, day));
  for (const [name, sum] of sums) say("I4", `${name} holds nothing, its live holds add up to ${sum}`);
  const [granted, spent, held] = [number(account, "granted"), number(account, "spent"), number(account, "held")];
  if (spent + held > granted) say("I3", `spent ${spent} and held ${held} exceed the granted ${granted}`);
  if (granted > GRANTED_NANO_MAX) say("I3", `granted ${granted} is more than can be counted exactly`);
}

/** Examines every account while calls go on; one that changes under the examination is read again. */
export async function examineRedis(link: LedgerLink, accountIds: AsyncIterable<string>): Promise<DoctorReport> {
  const report = { accounts: 0, holds: 0, postings: 0, findings: [] as Finding[] };
  for await (const accountId of accountIds) {
    let findings: Finding[] = [];
    for (let tries = 0; tries < TRIES; tries++) {
      const seen = await readAccount(link, accountId);
      if (!seen.account.has("granted")) break;
      findings = [];
      const say: Say = (invariant, detail) => findings.push({ invariant, accountId, detail });
      checkPostings(seen, say);
      checkHolds(seen, say);
      if (findings.length > 0 && tries < TRIES - 1 && (await hasChanged(link, accountId, seen))) continue;
      report.accounts += 1;
      report.holds += seen.holds.length;
      report.postings += seen.postings.length;
      break;
    }
    report.findings.push(...findings);
  }
  return report;
}
