// Work of a simulation that outlives its request: its launchers, its steps, and the vendor that its steps call.

import type { JobKind } from "../../src/catalog/job-kind.ts";
import type { InnerAnswer } from "../../src/catalog/local-action.ts";
import type { Endpoint, FramedPlan, GatewayRequest } from "../../src/core/endpoint.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { jobIdOf } from "../../src/core/ids.ts";
import { nano, ZERO } from "../../src/core/money.ts";
import type { KeptHoldSpec, Plan } from "../../src/core/plan.ts";
import type { Candidate, Leg } from "../../src/core/route.ts";
import type { CountedCalls, OuterCall } from "../../src/kernel/inner-call.ts";
import type { Spending } from "../../src/kernel/parent-funds.ts";
import { retrying } from "../../src/kernel/routes/retrying.ts";
import { chatErrors } from "../../src/models/formats/chat-completions/wire.ts";
import { createMemoryReply, type MemoryReply } from "../support/memory-reply.ts";
import type { World } from "./network.ts";
import type { GatewayProcess } from "./process.ts";
import type { Chance } from "./random.ts";
import { type JobPlan, tokenOf } from "./scenario.ts";
import { LEASE_MS } from "./store.ts";
import { OUTSIDE, type Owner } from "./virtual-time.ts";

const TRIES_MAX = 3;
const NO_MORE_AFTER_MS = 250_000;
const JOB_MS_MAX = 90_000;
const STEP = { action: "maker/step", params: {} };
const VENDORS = ["east", "west"] as const;

/** The job of a hold or a job id, which begins with the job's number. */
export function jobOf(jobs: readonly JobPlan[], holdOrJobId: string): JobPlan | undefined {
  const number = Number(/^(?:tx|job)_j(\d+)-/.exec(holdOrJobId)?.[1]);
  return jobs.find(({ id }) => id === number);
}

export function isJobs(id: string): boolean {
  return /(?:tx|job)_j\d+-/.test(id);
}

/** One call of a step to the vendor. */
export interface StepEntry {
  readonly jobId: string;
  readonly vendor: string;
  readonly owner: Owner;
  nano: number;
}

/** Calls a vendor for each step, and keeps that vendor's books. */
export class JobVendor {
  readonly entries: StepEntry[] = [];
  readonly #world: World;
  readonly #chance: Chance;
  readonly #jobs: readonly JobPlan[];

  constructor(world: World, chance: Chance, jobs: readonly JobPlan[]) {
    this.#world = world;
    this.#chance = chance;
    this.#jobs = jobs;
  }

  calls(outer: OuterCall, owner: Owner): CountedCalls {
    const jobId = jobIdOf(outer.id);
    const legs: Leg[] = [...outer.legs];
    const callBy = (spend: Spending) => async (): Promise<InnerAnswer> => {
      const plan = jobOf(this.#jobs, jobId);
      const id = `${outer.id}.${legs.length + 1}`;
      const price = nano(plan?.stepNano ?? 0);
      const refused = (ms: number) => ({ ok: false, id, error: new GatewayError("upstream_error"), ms }) as const;
      if (plan === undefined || !spend.setAside(price)) return refused(0);
      const vendor = this.#chance.of(VENDORS);
      const fails = this.#chance.happens(0.1);
      const entry: StepEntry = { jobId, vendor, owner, nano: 0 };
      this.entries.push(entry);
      await this.#world.time.sleep(plan.stepMs, owner);
      const isGood = !fails && !outer.signal.aborted;
      entry.nano = isGood ? plan.stepUpstreamNano : Math.floor(plan.stepUpstreamNano / 2);
      spend.settle(price, isGood ? price : ZERO);
      legs.push({
        provider: vendor,
        model: STEP.action,
        status: isGood ? 200 : 500,
        failure: isGood ? null : "provider_server_error",
        ms: plan.stepMs,
        firstTokenMs: null,
        upstreamNano: nano(entry.nano),
      });
      if (!isGood) return refused(plan.stepMs);
      return { ok: true, id, action: STEP.action, provider: vendor, data: null, isMiss: false, ms: plan.stepMs };
    };
    const chat: CountedCalls["chat"] = () => Promise.reject(new Error("no job here asks a model"));
    const speak: CountedCalls["speak"] = () => Promise.reject(new Error("no job here speaks"));
    const own: CountedCalls["own"] = async ({ run }) => ({ id: null, done: await run() });
    const paidBy = (spend: Spending) => {
      const call = callBy(spend);
      return { call, race: call, own, chat, speak };
    };
    return { ...paidBy(outer.spend), legs: () => legs, ended: async () => legs, paidBy };
  }
}

/** Takes as many steps as the launch says, and charges the answered ones. */
export const STEPPING: JobKind = {
  name: "stepping",
  msMax: JOB_MS_MAX,
  counted: "price",
  async run(job) {
    const { steps, stepNano } = job.start as JobPlan;
    let { asked, done } = (job.progress ?? { asked: 0, done: 0 }) as { asked: number; done: number };
    while (asked < steps && !job.signal.aborted) {
      const answer = await job.call(STEP);
      asked += 1;
      if (answer.ok) done += 1;
      await job.save({ asked, done });
    }
    const status = done > 0 ? "succeeded" : "failed";
    return { status, result: { done }, chargeNano: nano(done * stepNano) };
  },
};

/** One launch request, and what its client saw. */
export interface LaunchTry {
  readonly job: JobPlan;
  readonly holdId: string;
  readonly owner: Owner;
  /** The job in the answer; null where there was no answer. */
  told: string | null;
  code: string | null;
}

/** The launchers, which try until they learn of a job, or give up. */
export class Launchers {
  readonly tries: LaunchTry[] = [];
  readonly #world: World;
  readonly #chance: Chance;
  readonly #gateways: readonly GatewayProcess[];

  constructor(world: World, chance: Chance, gateways: readonly GatewayProcess[]) {
    this.#world = world;
    this.#chance = chance;
    this.#gateways = gateways;
  }

  async live(job: JobPlan): Promise<void> {
    const { time } = this.#world;
    await time.sleep(job.atMs, OUTSIDE);
    for (let attempt = 0; attempt < TRIES_MAX && time.nowMs < NO_MORE_AFTER_MS; attempt++) {
      const gateway = this.#gateways[job.gateways[attempt] ?? 0];
      if (gateway?.serves) {
        const tried = await this.#try(job, gateway, `j${job.id}-${attempt}`);
        if (tried.told !== null || job.idempotencyKey === null) return;
      }
      await time.sleep(this.#chance.between(500, 25_000), OUTSIDE);
    }
  }

  async #try(job: JobPlan, gateway: GatewayProcess, name: string): Promise<LaunchTry> {
    const { time } = this.#world;
    const { owner } = gateway;
    const reply = createMemoryReply();
    const tried: LaunchTry = { job, holdId: `tx_${name}`, owner, told: null, code: null };
    this.tries.push(tried);
    const request: GatewayRequest = {
      id: `req_${name}`,
      method: "POST",
      path: "/launch",
      query: new URLSearchParams(),
      params: {},
      headers: new Map([["authorization", tokenOf(job)]]),
      body: Buffer.from("{}"),
      address: "127.0.0.1",
      startedMs: time.nowMs,
    };
    time.after(0, owner, () => void gateway.serve(request, endpointOf(tried), reply));
    const died = new Promise<void>((resolve) => {
      const look = () => (owner.alive ? void time.after(1_000, OUTSIDE, look) : resolve());
      look();
    });
    await Promise.race([reply.ended, died]);
    if (owner.alive) read(tried, reply);
    return tried;
  }
}

function read(tried: LaunchTry, reply: MemoryReply): void {
  if (reply.cutOff) return;
  const said = JSON.parse(reply.text()) as { jobId?: string; error?: { code: string } };
  tried.told = said.jobId ?? null;
  tried.code = said.error?.code ?? null;
}

/** Answers every launch at once. */
function answering(jobId: string): Candidate {
  return {
    provider: "tollgate",
    model: "core/stepping",
    healthKey: "tollgate",
    firstTokenMsMax: 1_000,
    lastFirstTokenMsMax: 1_000,
    readOnMsMax: 0,
    pointlessAfter: () => false,
    open(sink) {
      queueMicrotask(() => sink.done({ kind: "body", body: { jobId } }));
      const reading = { usage: null, delivered: { text: "", bytes: 0 }, upstreamCostNano: ZERO, skippedEvents: 0 };
      return { pause() {}, resume() {}, abort() {}, accepted: () => true, reading: () => reading };
    },
  };
}

function endpointOf({ job, holdId }: LaunchTry): Endpoint {
  const jobId = jobIdOf(holdId);
  const hold: KeptHoldSpec = {
    kind: "kept",
    owner: `job:${jobId as `job_${string}`}`,
    leaseMs: LEASE_MS,
    onExpire: "void",
    job: STEPPING.name,
    action: `core/${STEPPING.name}`,
    start: job,
    sandboxFault: null,
  };
  const plan: Plan = {
    operation: "run",
    asked: "core/stepping",
    streamed: false,
    effect: "read",
    quote: { nano: nano(job.budgetNano), tighten: null, affordable: () => ({}), upstreamNano: () => ZERO },
    hold,
    whilePaused: false,
    maxCostNano: null,
    slots: [],
    inference: false,
    idempotency: job.idempotencyKey === null ? null : { key: job.idempotencyKey, fingerprint: `job ${job.id}` },
    route: retrying(answering(jobId)),
    wholeMsMax: 10_000,
    attemptsMax: 1,
    failedStatus: 502,
    timedOutStatus: 504,
    whenCallerLeaves: "finish",
    cost: () => ({ chargeNano: ZERO, upstreamNano: ZERO, usage: null, estimated: false, priceVersion: "1" }),
    prepare: null,
  };
  const frame: FramedPlan["frame"] = {
    head() {},
    last: (final) => JSON.stringify(final.kind === "body" ? final.body : {}),
    broken: (error) => JSON.stringify({ error: { code: error.code } }),
    keepAlive: null,
  };
  const framed = () => ({ plan, frame, keepAliveMs: null });
  return { method: "POST", path: "/launch", auth: "key", bodyBytesMax: 1_000, errors: chatErrors, plan: framed };
}
