// Invariants of every simulated run: at each moment, and at the end when nothing is pending.
import { GatewayError } from "../../src/core/errors.ts";
import { NANO_PER_CENT } from "../../src/core/money.ts";
import { UNPAID_SCOPE } from "../../src/kernel/windows.ts";
import { runScope } from "../../src/money/ledger/model/windows.ts";
import { LEASE_ENDED, restId } from "../../src/money/ledger/spool/tell-store.ts";
import type { Told, Try } from "./client.ts";
import { isJobs, jobOf, type StepEntry } from "./jobs.ts";
import { callOf } from "./metered.ts";
import type { World } from "./network.ts";
import type { GatewayProcess, Heard } from "./process.ts";
import type { Scenario } from "./scenario.ts";
import { accountId, type Kept, keyId, LEASE_MS, runId, type Store } from "./store.ts";
import type { Entry } from "./upstream.ts";

const REST = restId("");
/** From a lease's last renewal that can be missed to the sweep that ends the hold. */
const EXPIRY_MS = LEASE_MS + 30_000;
const DAY_MS = 86_400_000;

/** The time of a failure: of one gateway, or of the store and so of all gateways (null). */
export interface Outage {
  readonly gateway: number | null;
  readonly what: "store" | "disk";
  readonly fromMs: number;
  toMs: number;
}

export interface Evidence {
  readonly scenario: Scenario;
  readonly store: Store;
  readonly gateways: readonly GatewayProcess[];
  readonly heard: Heard;
  readonly tries: readonly Try[];
  readonly entries: readonly Entry[];
  readonly steps: readonly StepEntry[];
  readonly outages: readonly Outage[];
  /** When the sweep ended a hold. */
  readonly expiredMs: ReadonlyMap<string, number>;
}

/** Nothing is ever spent or taken twice: balance, ceiling, budgets of runs, slots. */
export function overspent(kept: Kept, scenario: Scenario, { startMs, time }: World): string[] {
  const { accounts, calls, jobs = [], runs = [] } = scenario;
  const found: string[] = [];
  for (const [at, { account, budgetNano }] of runs.entries()) {
    const used = kept.at(accountId(account)).ofScope(runScope(runId(at)), "run", startMs + time.nowMs);
    if (used.spentNano + used.heldNano > budgetNano)
      found.push(`${runId(at)} has spent ${used.spentNano} and holds ${used.heldNano} of its ${budgetNano}`);
  }
  for (const [number, { ceilingNano, inFlightMax }] of accounts.entries()) {
    const account = kept.at(accountId(number));
    const [granted, spent, held] = [account.sum("credit"), account.sum("charge"), account.held()];
    if (spent + held > granted) found.push(`${accountId(number)} has spent ${spent} and holds ${held} of ${granted}`);
    for (const [holdId, { amount }] of account.live)
      if (amount > (callOf(calls, holdId)?.holdNano ?? jobOf(jobs, holdId)?.budgetNano ?? 0))
        found.push(`${holdId} holds ${amount}, more than it asked for`);
    const running = [...account.live.keys()].filter((holdId) => !isJobs(holdId)).length;
    if (running > inFlightMax) found.push(`${accountId(number)} runs ${running} of ${inFlightMax}`);
    if (ceilingNano === null) continue;
    for (const atMs of [startMs, startMs + time.nowMs]) {
      const used = account.ofKey(keyId(number), "day", Math.floor(atMs / DAY_MS) * DAY_MS);
      if (used.spentNano + used.heldNano > ceilingNano)
        found.push(`${keyId(number)} has spent ${used.spentNano} and holds ${used.heldNano} of its ${ceilingNano}`);
    }
  }
  return found;
}

/** Whether a posting is the remainder of a call's cost beyond what the sweep had posted. */
export function isRest(id: string): boolean {
  return holdOf(id) !== id;
}

function holdOf(id: string): string {
  return id.endsWith(REST) ? id.slice(0, -REST.length) : id;
}

interface Booked {
  readonly amount: number;
  readonly absorbed: number;
  readonly cents: number;
  /** Charged after its lease had ended: as much as was still free of the amount in its answer. */
  readonly late: boolean;
  /** The sweep has posted the recorded use. */
  readonly swept: boolean;
  /** In two postings, so the cents of each are rounded. */
  readonly split: boolean;
}

/** The store's account of a hold's money: a charge, and a late charge beside it. */
function bookOf({ scenario, store, tries, heard, expiredMs }: Evidence) {
  const calls = new Set(tries.map(({ holdId }) => holdId));
  const postings = new Map<string, Booked>();
  // An adopter does not know how the job's hold was placed, so the job is free where its lease has ended. The same holds where the store
  // has forgotten the hold and a process has died: the adopter charges a hold that is gone, and the process that placed it is not there to
  // place it again.
  const hasCrashed = scenario.faults.some(({ kind }) => kind === "gateway-crash");
  const hasDied = (holdId: string) => hasCrashed || (jobOf(scenario.jobs ?? [], holdId)?.deaths.length ?? 0) > 0;
  const isForgotten = (holdId: string) =>
    hasDied(holdId) &&
    [...store.forgotten].some((fact) => fact === holdId || fact.endsWith(holdId.replace(/^tx_/, "job_")));
  const isFree = (holdId: string) => isJobs(holdId) && (expiredMs.has(holdId) || isForgotten(holdId));
  const found = [...heard.forfeits.keys()]
    .filter((holdId) => !isFree(holdId))
    .map((holdId) => `${holdId} was given up though it had been told of`);
  for (const number of scenario.accounts.keys()) {
    const account = store.kept.at(accountId(number));
    let cents = 0;
    for (const posting of account.postings) {
      if (posting.kind !== "charge") continue;
      if (postings.has(posting.id)) found.push(`${posting.id} is charged twice`);
      cents += posting.cents;
      if (isRest(posting.id)) continue;
      const rest = account.postings.find(({ id }) => id === restId(posting.id));
      const late = account.late.has(rest?.id ?? posting.id);
      const both = (what: "amount" | "absorbed" | "cents") => posting[what] + (rest?.[what] ?? 0);
      const parts = { amount: both("amount"), absorbed: both("absorbed"), cents: both("cents") };
      const swept = posting.reason === LEASE_ENDED;
      postings.set(posting.id, { ...parts, late, swept, split: rest !== undefined });
    }
    const spent = account.sum("charge");
    if (cents !== Math.ceil(spent / NANO_PER_CENT)) found.push(`${cents} cents do not make ${spent}`);
    for (const holdId of account.live.keys()) found.push(`${holdId} is held for ever`);
    for (const holdId of [...account.ended.keys(), ...postings.keys()])
      if (!calls.has(holdOf(holdId)) && !isJobs(holdId)) found.push(`${holdId} is the hold of no call`);
    for (const holdId of account.orphans)
      if (!store.forgotten.has(holdId)) found.push(`${holdId} was charged without its hold, which was never lost`);
    for (const holdId of account.late)
      if (!expiredMs.has(holdOf(holdId)) && !isJobs(holdId))
        found.push(`${holdId} was charged late, and its lease had not ended`);
  }
  return { postings, found };
}

/** All violations at the end of a run. */
export function audit(evidence: Evidence): string[] {
  const { postings, found } = bookOf(evidence);
  const broken = evidence.heard.broken.filter(({ error }) => !isAway(error));
  return [
    ...found,
    ...broken.map(({ of, error }) => `${of} broke: ${error instanceof Error ? (error.stack ?? error.message) : error}`),
    ...evidence.gateways.flatMap(({ disk }, at) =>
      disk.waiting().map(({ text }) => `gateway ${at} never told the store of ${text}`),
    ),
    ...evidence.tries.flatMap((tried) => answered(tried, evidence, postings)),
    ...keysOf(evidence).flatMap(([key, tries]) => sameAnswers(key, tries, evidence)),
    ...cost(evidence, postings),
    ...legs(evidence, postings),
    ...unpaid(evidence, postings),
    ...expiries(evidence),
  ];
}

type Postings = ReturnType<typeof bookOf>["postings"];

function isAway(error: unknown): boolean {
  return error instanceof GatewayError && error.code === "ledger_unavailable";
}

/** The ledger has what the client's answer said. */
function answered(tried: Try, evidence: Evidence, postings: Postings): string[] {
  const { told, code } = tried;
  const { store } = evidence;
  const name = `${tried.requestId} was told`;
  const posting = postings.get(told?.charge.transactionId ?? tried.holdId);
  if (!tried.handled && tried.owner.alive) return [`${tried.requestId} was never answered`];
  if (code === "internal_error") return [`${name} internal_error`];
  const isCharged = posting !== undefined && (!posting.swept || posting.amount > 0);
  if (code !== null && code !== "ledger_unavailable" && isCharged) return [`${name} ${code} and is charged`];
  if (told === null) return [];
  const { transactionId, chargedNano, chargedCents, absorbedNano } = told.charge;
  const id = transactionId ?? "nothing";
  const isSpooled = evidence.heard.spooled.has(id);
  if (posting === undefined)
    return lostTwice(tried, evidence) ? [] : [`${name} of the charge ${id} of ${chargedNano}, which is lost`];
  if (posting.swept && lostTwice(tried, evidence)) return [];
  const found: string[] = [];
  if (posting.amount + posting.absorbed !== chargedNano + absorbedNano)
    found.push(`${name} ${chargedNano} + ${absorbedNano} for ${id}, which is ${posting.amount} + ${posting.absorbed}`);
  const wasClamped = isSpooled && posting.late && posting.amount < chargedNano;
  if (store.forgotten.has(id) || wasClamped) return found;
  if (posting.amount !== chargedNano) found.push(`${name} ${chargedNano} for ${id}, which is ${posting.amount}`);
  const less = chargedCents - posting.cents;
  if (isSpooled ? less < (posting.split ? -1 : 0) || less > (posting.split ? 2 : 1) : less !== 0)
    found.push(`${name} ${chargedCents} cents for ${id}, which are ${posting.cents}`);
  return found;
}

/** Its disk was full when the call ended, then the store lost it too, and its process died before there was room. */
function lostTwice({ holdId, gateway, owner, fromMs, toMs }: Try, { store, outages }: Evidence): boolean {
  if (owner.alive) return false;
  const isFull = outages.some(
    (one) => one.what === "disk" && one.gateway === gateway && one.fromMs <= toMs && one.toMs >= fromMs,
  );
  return isFull && store.forgotten.has(holdId);
}

function keysOf({ tries }: Evidence): [string, Try[]][] {
  const keyed = tries.filter(({ call }) => call.idempotencyKey !== null);
  return [...Map.groupBy(keyed, ({ call }) => call.idempotencyKey ?? "")];
}

/** One key, one charge, one answer, and for a write one execution. */
function sameAnswers(key: string, tries: readonly Try[], evidence: Evidence): string[] {
  const { store, entries, heard, expiredMs } = evidence;
  const found: string[] = [];
  const ran = entries.filter(({ call, ran }) => ran && call.idempotencyKey === key);
  const isLost = [...store.forgotten].some((fact) => fact.endsWith(` ${key}`));
  const [first, ...again] = isLost ? ran.filter((entry) => !inTheGap(entry, tries, evidence)) : ran;
  if (first?.call.effect === "write" && again.length > 0) found.push(`${key} was written ${ran.length} times`);
  if (isLost) return found;
  const told = tries.flatMap((one) => (one.told === null ? [] : [one.told]));
  const wasEnded = ({ charge }: Told) => expiredMs.has(charge.transactionId ?? "");
  // After a call's lease has ended, less may be free than its first answer said.
  const amountOf = (one: Told) => (wasEnded(one) ? "" : one.charge.chargedNano);
  const answers = new Set(told.map((one) => `${one.charge.transactionId} ${amountOf(one)} ${one.answer}`));
  // A read whose lease ends while it runs leaves its key free: another may run under it, and both are answered.
  const ranAgain = ran.some(({ call }) => call.effect === "read") && told.some(wasEnded);
  if (answers.size > 1 && !ranAgain)
    found.push(`${key} was answered in ${answers.size} ways: ${[...answers].join(", ")}`);
  const isCharged = (id: string) => entries.some((entry) => entry.holdId === id && entry.served);
  const isKept = (id: string) =>
    !heard.broken.some(({ of }) => of === id) && !store.forgotten.has(`answer ${id}`) && !tries[0]?.call.streamed;
  const charged = tries.map(({ holdId }) => holdId).filter(isCharged);
  for (const { code, requestId } of tries)
    if (code === "replay_unavailable" && charged.every(isKept)) found.push(`${requestId} asked in vain for its answer`);
  return found;
}

/** Time for the gateways to find the new server, and to report what the old one forgot. */
const RETOLD_MS = 15_000;

/** When the store loses a key with its hold, it knows the key again only after the call has ended and its gateway has reported it. */
function inTheGap({ holdId, atMs }: Entry, tries: readonly Try[], { store, outages }: Evidence): boolean {
  const before = tries.filter((one) => one.holdId !== holdId && one.fromMs < atMs);
  return before.some(({ owner, toMs, gateway }) => {
    const isOut = (one: Outage) => (one.gateway === null || one.gateway === gateway) && during(one, atMs, RETOLD_MS);
    return !owner.alive || toMs + RETOLD_MS > atMs || store.forgotMs + RETOLD_MS > atMs || outages.some(isOut);
  });
}

/** Neither its disk nor the store could record the call's end, and the gateway said so. */
function isUnsettled({ requestId, holdId }: Try, { heard, outages }: Evidence): boolean {
  return heard.broken.some(({ of, gateway, atMs }) => {
    const hit = (one: Outage) => one.what === "disk" && one.gateway === gateway && during(one, atMs);
    return (of === requestId || of === holdId) && outages.some(hit);
  });
}

/** Compares the vendor's books with ours: every amount is charged, absorbed, or lost by a rule that applies. */
function cost(evidence: Evidence, postings: Postings): string[] {
  const { entries, tries, store } = evidence;
  const found: string[] = [];
  let explained = 0;
  for (const tried of tries) {
    const { holdId, owner } = tried;
    const own = entries.filter((entry) => entry.holdId === holdId);
    const served = own.filter((entry) => entry.served);
    const posting = postings.get(holdId);
    const servedNano = total(served.map(({ nano }) => nano));
    // The vendor charges for failed attempts, and for answers that no client received: the operator bears that.
    explained += total(own.filter((entry) => !entry.served).map(({ nano }) => nano));
    const unsettled = tried.told === null && isUnsettled(tried, evidence);
    const died = !owner.alive && tried.told === null;
    if (posting !== undefined) {
      const onlyNoted = posting.swept && (died || unsettled || lostTwice(tried, evidence));
      explained += onlyNoted ? servedNano : posting.amount + posting.absorbed;
      if (onlyNoted) continue;
      if (posting.amount + posting.absorbed !== servedNano)
        found.push(`${holdId} is charged ${posting.amount} + ${posting.absorbed}, its vendor took ${servedNano}`);
      continue;
    }
    if (served.length === 0) continue;
    if (died || unsettled || lostTwice(tried, evidence)) explained += servedNano;
    else
      found.push(
        `${holdId} cost ${servedNano}, and nobody was charged (${store.kept.at(accountId(tried.call.account)).holdState(holdId)})`,
      );
  }
  const books = total(entries.map(({ nano }) => nano));
  if (found.length === 0 && books !== explained) found.push(`the vendor has taken ${books}, we know of ${explained}`);
  return found;
}

/** Each charge names the vendors that its call used, and each one's share of our cost. */
function legs({ entries, tries, store }: Evidence, postings: Postings): string[] {
  return tries.flatMap(({ call, holdId }) => {
    const posted = store.kept.at(accountId(call.account)).postings.find(({ id }) => id === holdId);
    const request = store.kept.posted.get(holdId);
    if (request === undefined || posted === undefined || postings.get(holdId)?.swept === true) return [];
    const own = entries.filter((entry) => entry.holdId === holdId);
    const found: string[] = [];
    const sum = total(request.legs.map(({ upstreamNano }) => upstreamNano));
    if (sum !== request.upstreamNano) found.push(`${holdId} cost us ${request.upstreamNano}, and its legs ${sum}`);
    const [named, asked] = [request.legs.map(({ vendor }) => vendor), own.map(({ provider }) => provider)].map((list) =>
      list.toSorted().join(", "),
    );
    if (named !== asked) found.push(`${holdId} has legs of ${named}, and asked ${asked}`);
    for (const { provider, nano } of own.filter(({ served }) => served))
      if (!request.legs.some(({ vendor, upstreamNano }) => vendor === provider && upstreamNano === nano))
        found.push(`${holdId} was served by ${provider} for ${nano}, and no leg says so`);
    return found;
  });
}

/** The unpaid count is what vendors charged beyond our charges: never more, and never less than the postings state. */
function unpaid({ scenario, store, entries, steps }: Evidence, postings: Postings): string[] {
  const chargedFor = (holdId: string) => postings.get(holdId)?.amount ?? 0;
  return [...scenario.accounts.keys()].flatMap((number) => {
    const account = store.kept.at(accountId(number));
    const counted = total(account.costs.filter(({ scope }) => scope === UNPAID_SCOPE).map(({ nano }) => nano));
    const taken = new Map<string, number>();
    const take = (holdId: string, nano: number) => taken.set(holdId, (taken.get(holdId) ?? 0) + nano);
    for (const { holdId, call, nano } of entries) if (call.account === number) take(holdId, nano);
    for (const { jobId, nano } of steps) {
      const holdId = jobId.replace(/^job_/, "tx_");
      if (jobOf(scenario.jobs ?? [], holdId)?.account === number) take(holdId, nano);
    }
    const most = total([...taken].map(([holdId, nano]) => Math.max(0, nano - chargedFor(holdId))));
    const told = account.postings.flatMap(({ id }) => store.kept.posted.get(id) ?? []);
    const least = total(told.map(({ holdId, upstreamNano }) => Math.max(0, upstreamNano - chargedFor(holdOf(holdId)))));
    const found: string[] = [];
    if (counted > most)
      found.push(`${accountId(number)} has ${counted} unpaid, its vendors took ${most} above its charges`);
    if (counted < least) found.push(`${accountId(number)} has ${counted} unpaid, its postings alone tell ${least}`);
    return found;
  });
}

const SLACK_MS = 2_000;

function during({ fromMs, toMs }: Pick<Outage, "fromMs" | "toMs">, atMs: number, beforeMs = SLACK_MS): boolean {
  return fromMs <= atMs && toMs >= atMs - beforeMs;
}

/** The number of consecutive beats that must be lost for a lease to end. */
const LOST_BEATS_MIN = 3;

/** Whether a gateway's beats were lost in transit, though nothing else was: to others it looks dead. */
function lostBeats({ heard }: Evidence, gateway: number, atMs: number): boolean {
  const lost = heard.broken.filter(({ of, error, ...one }) => {
    const isBeat = error instanceof GatewayError && String(error.cause).includes("renew was not answered");
    return isBeat && of === "leases" && one.gateway === gateway && one.atMs <= atMs && one.atMs >= atMs - EXPIRY_MS;
  });
  return lost.length >= LOST_BEATS_MIN;
}

/** The sweep ends only holds that their gateway could not end: it had died, or could not reach the store for most of a lease. */
function expiries(evidence: Evidence): string[] {
  const { heard, expiredMs, outages, tries, store } = evidence;
  return [...expiredMs].flatMap(([holdId, atMs]) => {
    const placed = heard.placed.get(holdId);
    const tried = tries.find((one) => one.holdId === holdId);
    // A late duplicate of a refused reserve can place a hold that no process knows of.
    if (placed === undefined || tried === undefined || !placed.owner.alive || store.forgotten.has(holdId)) return [];
    const hit = ({ gateway, ...outage }: Outage) =>
      (gateway === null || gateway === placed.gateway) && during(outage, atMs, EXPIRY_MS);
    if (outages.some(hit) || isUnsettled(tried, evidence) || lostBeats(evidence, placed.gateway, atMs)) return [];
    return [
      `${holdId} was ended by the sweep at ${Math.round(atMs)} though its gateway ${placed.gateway} could have ended it`,
    ];
  });
}

function total(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}
