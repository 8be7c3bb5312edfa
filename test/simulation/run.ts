// Runs a scenario from its first call until all is quiet after its last fault, and returns the violations.

import { MARGIN_SCOPE, UNPAID_SCOPE } from "../../src/kernel/windows.ts";
import { audit, type Evidence, isRest, type Outage, overspent } from "./audit.ts";
import { Clients } from "./client.ts";
import { jobAudit } from "./job-audit.ts";
import { JobVendor, Launchers } from "./jobs.ts";
import { Deaths } from "./mortal.ts";
import { Network, type World } from "./network.ts";
import { GatewayProcess, type Heard } from "./process.ts";
import { chanceFrom } from "./random.ts";
import type { Fault, Scenario } from "./scenario.ts";
import { LEASE_MS, Store } from "./store.ts";
import { Upstream } from "./upstream.ts";
import { OUTSIDE, replaceTimers, VirtualTime } from "./virtual-time.ts";

/** The time after the last fault and the last answer: a store that started last rests for a lease, then the last leases end. */
const REST_MS = 3 * LEASE_MS;
const FAULTS_OVER_MS = 260_000;
/** Jobs draw their random numbers from a separate stream. */
const JOBS_STREAM = 104_729;
/** Longer than any scenario: a wait that lasts until then never ends. */
const END_MS = 1_500_000;

export interface Ran {
  readonly wrong: readonly string[];
  /** How often each thing happened, which shows that a simulation meets its purpose. */
  readonly counts: ReadonlyMap<string, number>;
}

interface Stage {
  readonly world: World;
  readonly gateways: readonly GatewayProcess[];
  readonly outages: Outage[];
  readonly cuts: number[];
}

/** Runs a scenario. The same scenario always runs the same way. */
export async function run(scenario: Scenario): Promise<Ran> {
  const chance = chanceFrom(scenario.seed + 1);
  const time = new VirtualTime();
  const restore = replaceTimers(time, chance);
  try {
    return await runOn(scenario, time, chance);
  } finally {
    restore();
  }
}

async function runOn(scenario: Scenario, time: VirtualTime, chance: ReturnType<typeof chanceFrom>): Promise<Ran> {
  const wrong = new Set<string>();
  const expiredMs = new Map<string, number>();
  const cuts = Array.from({ length: scenario.gateways }, () => 0);
  const store = new Store(scenario, time, {
    changed: (kept) => overspent(kept, scenario, world).forEach((one) => void wrong.add(one)),
    expired: (holdIds) => holdIds.forEach((holdId) => void expiredMs.set(holdId, time.nowMs)),
  });
  const { startMs, faults } = scenario;
  const world: World = { time, chance, startMs, store, faults, isCut: (gateway) => (cuts[gateway] ?? 0) > 0 };
  const heard: Heard = { placed: new Map(), records: new Map(), forfeits: new Map(), broken: [], spooled: new Set() };
  const network = new Network(world);
  const upstream = new Upstream(world);
  const { accounts, calls, runs = [], unpaidNano = null, jobs: jobPlans = [] } = scenario;
  const jobChance = chanceFrom(scenario.seed + JOBS_STREAM);
  const vendor = new JobVendor(world, jobChance, jobPlans);
  const deaths = new Deaths(jobPlans);
  const jobs = jobPlans.length === 0 ? null : { network: new Network({ ...world, chance: jobChance }), vendor, deaths };
  const gateways = Array.from({ length: scenario.gateways }, (_, number) => {
    return new GatewayProcess(number, { world, network, heard, jobs, accounts, calls, runs, unpaidNano });
  });
  const clients = new Clients(world, gateways, upstream);
  const launchers = new Launchers(world, jobChance, gateways);
  const outages: Outage[] = [];
  for (const gateway of gateways) gateway.start();
  for (const fault of faults) arrange(fault, { world, gateways, outages, cuts });
  let over = false;
  const lived = Promise.all([
    ...scenario.calls.map((call) => clients.live(call)),
    ...jobPlans.map((job) => launchers.live(job)),
  ]);
  void Promise.all([lived, time.sleep(FAULTS_OVER_MS, OUTSIDE)])
    .then(() => time.sleep(REST_MS, OUTSIDE))
    .then(() => {
      over = true;
    });
  await time.run(END_MS, () => over);
  if (!over) wrong.add("somebody waits for ever");
  const { entries } = upstream;
  const steps = vendor.entries;
  const evidence: Evidence = {
    ...{ scenario, store, gateways, heard, tries: clients.tries, entries, steps, outages, expiredMs },
  };
  const launches = launchers.tries;
  for (const one of audit(evidence)) wrong.add(one);
  const { found, counts: jobCounts } = jobAudit({ ...evidence, launches });
  for (const one of found) wrong.add(one);
  const died = new Map(deaths.count > 0 ? [["job died", deaths.count]] : []);
  return { wrong: [...wrong], counts: new Map([...countsOf(evidence), ...jobCounts, ...died]) };
}

/** Schedules the begin and end of a fault. Faults of messages, vendors and clients happen where they occur. */
function arrange(fault: Fault, { world, gateways, outages, cuts }: Stage): void {
  const { time, store } = world;
  if (!("forMs" in fault) || fault.kind === "slow") return;
  const { atMs, forMs } = fault;
  const gateway = "gateway" in fault ? gateways[fault.gateway] : undefined;
  function begin(): () => void {
    switch (fault.kind) {
      case "cut":
        cuts[fault.gateway] = (cuts[fault.gateway] ?? 0) + 1;
        return () => {
          cuts[fault.gateway] = (cuts[fault.gateway] ?? 0) - 1;
        };
      case "store-crash":
      case "store-forgets":
        if (!store.isUp) return () => {};
        if (fault.kind === "store-crash") store.crash(fault.kept);
        else store.forget(fault.lostMs);
        return () => store.start();
      case "gateway-crash":
        if (!gateway?.owner.alive) return () => {};
        gateway.crash(fault.kept);
        return () => gateway.start();
      case "disk-full":
        if (gateway !== undefined) gateway.disk.isFull = true;
        return () => {
          if (gateway !== undefined) gateway.disk.isFull = false;
        };
      case "clock":
        if (gateway !== undefined) gateway.offsetMs = fault.offsetMs;
        return () => {
          if (gateway !== undefined) gateway.offsetMs = 0;
        };
      default:
        return () => {};
    }
  }
  time.after(atMs, OUTSIDE, () => {
    const end = begin();
    const what = fault.kind === "disk-full" ? "disk" : "store";
    const outage: Outage = {
      gateway: "gateway" in fault ? fault.gateway : null,
      what,
      fromMs: time.nowMs,
      toMs: Number.POSITIVE_INFINITY,
    };
    if (fault.kind !== "clock" && fault.kind !== "gateway-crash") outages.push(outage);
    time.after(forMs, OUTSIDE, () => {
      outage.toMs = time.nowMs;
      end();
    });
  });
}

function countsOf({ tries, heard, store, expiredMs, entries, scenario }: Evidence): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  for (const { kind } of scenario.faults) count(`fault ${kind}`);
  for (const { told, code, left, owner, requestId } of tries) {
    count("request");
    const outcome = heard.records.get(requestId)?.outcome;
    if (outcome === "left_after_content") count("left after content");
    const ended = outcome === "success" ? "posted" : (outcome ?? "absorbed");
    if (told !== null) count(`told ${heard.spooled.has(told.charge.transactionId ?? "") ? "spooled" : ended}`);
    else if (code !== null) count(`told ${code}`);
    else count(left ? "left" : owner.alive ? "cut off" : "gateway died");
  }
  for (const { served } of entries) count(served ? "vendor served" : "vendor in vain");
  for (const _ of expiredMs) count("expired");
  for (const account of store.kept.accounts.values()) {
    if (account.costs.some(({ scope }) => scope === UNPAID_SCOPE)) count("unpaid cost");
    if (account.costs.some(({ scope }) => scope === MARGIN_SCOPE)) count("margin");
    for (const { id, absorbed } of account.postings) {
      if (account.late.has(id)) count(absorbed > 0 ? "charged late in part" : "charged late");
      if (isRest(id)) count("charged the rest");
    }
  }
  for (const _ of store.forgotten) count("forgotten");
  return counts;
}
