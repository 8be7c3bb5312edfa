// One gateway of a simulation: the real pipeline, leases and spool, on a disk that outlives it and a clock that may be wrong.

import { Jobs } from "../../src/actions/jobs/jobs.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { Endpoint, GatewayRequest, Reply } from "../../src/core/endpoint.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { type Nano, ZERO } from "../../src/core/money.ts";
import type { Caller } from "../../src/core/plan.ts";
import type { CallRun } from "../../src/core/run.ts";
import type { ServeDeps } from "../../src/edge/serve/deps.ts";
import { serve } from "../../src/edge/serve/serve.ts";
import type { HoldKeeper } from "../../src/kernel/deps.ts";
import { type CallWindows, createWindows } from "../../src/kernel/windows.ts";
import type { Ledger } from "../../src/money/ledger/model/ledger.ts";
import { spooledLedger } from "../../src/money/ledger/spool/ledger.ts";
import { keepLeases } from "../../src/money/ledger/sweep.ts";
import { Runs } from "../../src/money/runs/runs.ts";
import { AnswerBytes } from "../../src/platform/limits/answer-bytes.ts";
import type { Observer } from "../../src/platform/observe/observer.ts";
import { RequestRecord } from "../../src/platform/observe/record.ts";
import { isJobs, type JobVendor, STEPPING } from "./jobs.ts";
import { Disk, memorySpool } from "./memory-spool.ts";
import { meteredLedger } from "./metered.ts";
import { type Deaths, mortalLedger, mortalRecords, routedLedger } from "./mortal.ts";
import type { Network, World } from "./network.ts";
import { type AccountPlan, type CallPlan, lineageOf, type RunPlan, type Scenario } from "./scenario.ts";
import { accountId, keyId, LEASE_MS, runId } from "./store.ts";
import type { Owner } from "./virtual-time.ts";

/** A window that counts nothing. */
const untouched: ServeDeps["takeWindow"] = (_kind, _key, limit) => {
  return { allowed: true, limit, remaining: limit, resetSeconds: 1, windowSeconds: 60 };
};

const LOOK_MS = 1_000;
const RESTART_MS = 1_000;

/** A runner that has sent no beat for this long counts as dead, as in the real gateway. */
const RUNNER_LEASE_MS = 20_000;

const NOTHING_KEPT: HoldKeeper = {
  announce: () => Promise.reject(new Error("nothing is kept here")),
  dismiss: () => Promise.resolve(),
  takeOver: () => Promise.reject(new Error("nothing is kept here")),
};

/** What gateways also need where a scenario has jobs: a separate link to the store, their vendor, and their crashes. */
export interface JobParts {
  readonly network: Network;
  readonly vendor: JobVendor;
  readonly deaths: Deaths;
}

/** What the gateways report about themselves, for the audit. */
export interface Heard {
  /** Holds that a gateway has placed, or may have. */
  readonly placed: Map<string, { readonly gateway: number; readonly owner: Owner }>;
  readonly records: Map<string, RequestRecord>;
  /** Charges that were in a spool when they were answered. */
  readonly spooled: Set<string>;
  readonly forfeits: Map<string, number>;
  readonly broken: { readonly gateway: number; readonly atMs: number; readonly error: unknown; readonly of: string }[];
}

export function callerOf(number: number, { inFlightMax }: AccountPlan): Caller {
  const payer = {
    id: `acct:${accountId(number)}`,
    accountId: accountId(number),
    keyId: keyId(number),
    sandbox: false,
  } as const;
  const rights = {
    sandbox: false,
    primary: true,
    paused: false,
    frozen: false,
    allows: { services: null, models: null },
  };
  return { payer, ...rights, requestsPerMinute: 1e6, inFlightMax, inferenceCapNano: 1e15 as Nano, strictBounds: false };
}

/** The run as its calls see it; nobody raises its budget. */
function runOf(runs: readonly RunPlan[], at: number): CallRun {
  const bounds = lineageOf(runs, at).map((one) => {
    return { runId: runId(one), maxNano: (runs[one]?.budgetNano ?? 0) as Nano };
  });
  const budgetNano = bounds[0]?.maxNano ?? ZERO;
  const own = { id: runId(at), budgetNano, bounds, leftNano: budgetNano };
  return { ...own, learn() {}, marked() {}, larger: () => Promise.resolve(null) };
}

/** Serves from each `start` to the next `crash`. */
export class GatewayProcess {
  readonly disk = new Disk();
  offsetMs = 0;
  owner: Owner = { alive: false };
  #deps: ServeDeps | null = null;
  readonly #number: number;
  readonly #world: World;
  readonly #network: Network;
  readonly #heard: Heard;
  readonly #accounts: readonly AccountPlan[];
  readonly #calls: readonly CallPlan[];
  readonly #runs: readonly CallRun[];
  readonly #jobs: JobParts | null;
  readonly #windows: CallWindows;

  constructor(
    number: number,
    parts: { world: World; network: Network; heard: Heard; jobs: JobParts | null } & Pick<
      Scenario,
      "accounts" | "calls" | "runs" | "unpaidNano"
    >,
  ) {
    const { unpaidNano = null, runs = [] } = parts;
    const running = runs.map((_, at) => runOf(runs, at));
    this.#windows = createWindows(
      unpaidNano as Nano | null,
      () => Promise.resolve(null),
      (payer) => Promise.resolve(running.find(({ id }) => id === payer.runId) ?? null),
    );
    this.#runs = running;
    this.#jobs = parts.jobs;
    this.#number = number;
    this.#world = parts.world;
    this.#network = parts.network;
    this.#heard = parts.heard;
    this.#accounts = parts.accounts;
    this.#calls = parts.calls;
  }

  get serves(): boolean {
    return this.owner.alive && this.#deps !== null;
  }

  start(): void {
    if (this.owner.alive) return;
    const owner = { alive: true };
    this.owner = owner;
    const { time } = this.#world;
    time.after(0, owner, () => {
      this.#open(owner).catch((error: unknown) => {
        this.#broke(error, "start");
        // It exits, and its supervisor starts it again.
        this.crash(1);
        time.after(RESTART_MS, { alive: true }, () => this.start());
      });
    });
  }

  crash(keptShare: number): void {
    this.owner.alive = false;
    this.#deps = null;
    this.disk.crash(keptShare);
  }

  /** Settles when the pipeline has finished the request; never, where the process dies first. */
  serve(request: GatewayRequest, endpoint: Endpoint, reply: Reply): Promise<void> {
    if (this.#deps === null) throw new Error("nobody serves here");
    return serve(request, endpoint, reply, this.#deps);
  }

  #broke(error: unknown, of: string): void {
    this.#heard.broken.push({ gateway: this.#number, atMs: this.#world.time.nowMs, error, of });
  }

  async #open(owner: Owner): Promise<void> {
    const { time, store } = this.#world;
    const clock: Clock = {
      epochMs: () => this.#world.startMs + time.nowMs + this.offsetMs,
      elapsedMs: () => time.nowMs,
    };
    const spool = memorySpool(this.disk, owner, this.#world);
    const ownWay = this.#network.ledger(this.#number, owner);
    const way = this.#jobs === null ? ownWay : routedLedger(ownWay, this.#jobs.network.ledger(this.#number, owner));
    const ledger = spooledLedger(way, spool, {
      clock,
      leaseMs: LEASE_MS,
      onBroken: (error) => this.#broke(error, "spool"),
      onForfeit: ({ transactionId, amountNano }) => this.#heard.forfeits.set(transactionId, amountNano),
    });
    const name = `gateway-${this.#number}-${time.nowMs}`;
    const leases = keepLeases({
      ...{ ledger, clock, owner: name, leaseMs: LEASE_MS },
      onBroken: (error) => this.#broke(error, "leases"),
    });
    const metered = meteredLedger(ledger, this.#calls, { owner, world: this.#world });
    this.#lookAtStore(store.generation, owner, () => ledger.repeat());
    await ledger.recover();
    await leases.recover();
    const keeper = this.#jobs === null ? NOTHING_KEPT : await this.#keep(this.#jobs, { ledger, clock, name, owner });
    const records = this.#network.records(this.#number, owner);
    this.#deps = {
      clock,
      answers: new AnswerBytes({ bytesMax: 1e9, ownerBytesMax: 1e9 }),
      observer: this.#observer(),
      ledger: {
        ...metered,
        reserve: async (request) => {
          if (isJobs(request.holdId)) return metered.reserve(request);
          const known = () => this.#heard.placed.set(request.holdId, { gateway: this.#number, owner });
          const outcome = await metered.reserve(request).catch((error: unknown) => {
            // The outcome is unknown, so the hold must be ended later.
            known();
            throw error;
          });
          if (outcome.outcome === "held") known();
          return outcome;
        },
        post: async (request) => {
          const outcome = await metered.post(request);
          if (outcome.outcome === "spooled") this.#heard.spooled.add(request.holdId);
          return outcome;
        },
      },
      windows: this.#windows,
      records,
      runs: new Runs({
        ...{ records, books: ledger, clock, hears: () => true, forget() {} },
        onBroken: (error) => this.#broke(error, "runs"),
      }),
      keptBytesMax: 16 * 1024 * 1024,
      leases,
      keeper,
      anonymousPayer: null,
      forget() {},
      health: { order: (routes) => routes, trying() {}, good() {}, bad() {}, unknown() {} },
      authenticate: (token = "") => {
        const [account = "", run] = token.split("+");
        const plan = this.#accounts[Number(account)];
        if (plan === undefined) return new GatewayError("invalid_token");
        const caller = callerOf(Number(account), plan);
        const of = run === undefined ? undefined : this.#runs[Number(run)];
        return of === undefined ? caller : { ...caller, run: of, payer: { ...caller.payer, runId: of.id } };
      },
      isAdmin: () => false,
      takeWindow: untouched,
      peekWindow: untouched,
      addressRequestsPerMinute: 1e6,
      owner: name,
      leaseMs: LEASE_MS,
      draining: () => false,
      onBroken: (error, of) => this.#broke(error, of),
    };
  }

  /** Runs jobs as the real gateway does; a process dies where it sends its last message. */
  async #keep(
    { network, vendor, deaths }: JobParts,
    { ledger, clock, name, owner }: { ledger: Ledger; clock: Clock; name: string; owner: Owner },
  ): Promise<HoldKeeper> {
    const die = (forMs: number) => {
      this.crash(1);
      this.#world.time.after(forMs, { alive: true }, () => this.start());
    };
    const mortal = { deaths, owner, die };
    const jobs = new Jobs({
      ledger: mortalLedger(ledger, mortal),
      records: mortalRecords(network.records(this.#number, owner), mortal),
      windows: this.#windows,
      observer: this.#observer(),
      clock,
      kinds: [STEPPING],
      self: name,
      shared: true,
      runnerLeaseMs: RUNNER_LEASE_MS,
      holdLeaseMs: LEASE_MS,
      innerCalls: (outer) => vendor.calls(outer, owner),
      onBroken: (error, of) => this.#broke(error, of),
    });
    await jobs.start();
    return jobs.keeper;
  }

  /** As the link does: notices that the server is another one, as soon as it can be reached. */
  #lookAtStore(seen: number, owner: Owner, onChange: () => void): void {
    const { time, store } = this.#world;
    time.after(LOOK_MS, owner, () => {
      const reached = store.isUp && !this.#world.isCut(this.#number);
      if (reached && store.generation !== seen) onChange();
      this.#lookAtStore(reached ? store.generation : seen, owner, onChange);
    });
  }

  #observer(): Observer {
    const part = {
      begin: (start) => new RequestRecord(start),
      end: (record) => void this.#heard.records.set(record.requestId, record),
      ledgerTook() {},
      unpaid() {},
    } satisfies Partial<Observer>;
    return part as unknown as Observer;
  }
}
