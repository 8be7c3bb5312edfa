// Crashes between the steps of a job: the process that sends a chosen message for it dies before or after sending.
import type { HoldRef, Ledger, SharedLedger } from "../../src/money/ledger/model/ledger.ts";
import type { Records } from "../../src/platform/records/records.ts";
import { isJobs, jobOf } from "./jobs.ts";
import type { JobPlan } from "./scenario.ts";
import type { Owner } from "./virtual-time.ts";

interface Mortal {
  readonly deaths: Deaths;
  readonly owner: Owner;
  /** Dies, and restarts after `forMs`. */
  die(forMs: number): void;
}

/** Counts the messages of each job, over all processes. */
export class Deaths {
  /** The number of such crashes. */
  count = 0;
  readonly #jobs: readonly JobPlan[];
  readonly #sent = new Map<number, number>();

  constructor(jobs: readonly JobPlan[]) {
    this.#jobs = jobs;
  }

  next(name: string): JobPlan["deaths"][number] | undefined {
    const job = jobOf(this.#jobs, name);
    if (job === undefined) return undefined;
    const nth = this.#sent.get(job.id) ?? 0;
    this.#sent.set(job.id, nth + 1);
    return job.deaths.find((one) => one.nth === nth);
  }
}

/** Sends a message for a job, unless its process dies first. */
function sendFor<T>(name: string, send: () => Promise<T>, { deaths, owner, die }: Mortal): Promise<T> {
  const death = owner.alive ? deaths.next(name) : undefined;
  if (death === undefined) return send();
  deaths.count += 1;
  // A message that a dead process has sent still arrives, and no process receives the answer.
  if (death.isSent) send().catch(() => {});
  die(death.forMs);
  return new Promise(() => {});
}

export function mortalRecords(records: Records, mortal: Mortal): Records {
  /** `gateway/job_j1-0` or `job_j1-0`. */
  const jobIn = (id: string) => id.slice(id.indexOf("/") + 1);
  return {
    ...records,
    put: (record) => sendFor(jobIn(record.id), () => records.put(record), mortal),
    get: (kind, id) => sendFor(jobIn(id), () => records.get(kind, id), mortal),
    delete: (kind, id) => sendFor(jobIn(id), () => records.delete(kind, id), mortal),
  };
}

type JobLedger = Pick<Ledger, "keys" | "reserve" | "post" | "void" | "renew" | "extend" | "standing" | "transaction">;

export function mortalLedger(ledger: JobLedger, mortal: Mortal): JobLedger {
  return {
    keys: (accountId, page) => ledger.keys(accountId, page),
    reserve: (request) => sendFor(request.holdId, () => ledger.reserve(request), mortal),
    post: (request) => sendFor(request.holdId, () => ledger.post(request), mortal),
    void: (hold, reason, end) => sendFor(hold.holdId, () => ledger.void(hold, reason, end), mortal),
    renew: (holds, leaseMs) => sendFor(holds[0]?.holdId ?? "", () => ledger.renew(holds, leaseMs), mortal),
    extend: (hold, ...more) => sendFor(hold.holdId, () => ledger.extend(hold, ...more), mortal),
    standing: (hold) => sendFor(hold.holdId, () => ledger.standing(hold), mortal),
    transaction: (account, id) => sendFor(id, () => ledger.transaction(account, id), mortal),
  };
}

/** Routes messages about jobs separately, so that the others behave as without jobs. */
export function routedLedger(ledger: SharedLedger, ofJobs: SharedLedger): SharedLedger {
  const of = ({ holdId }: HoldRef) => (isJobs(holdId) ? ofJobs : ledger);
  return {
    ...ledger,
    reserve: (request) => of(request).reserve(request),
    extend: (hold, ...more) => of(hold).extend(hold, ...more),
    standing: (hold) => of(hold).standing(hold),
    // One renewal covers only calls, or only jobs.
    renew: (holds, leaseMs) => (holds[0] === undefined ? ledger : of(holds[0])).renew(holds, leaseMs),
    post: (request) => of(request).post(request),
    void: (hold, reason, end) => of(hold).void(hold, reason, end),
    settleOrphan: (request, origin, why) => of(request).settleOrphan(request, origin, why),
    voidOrphan: (hold, end, origin) => of(hold).voidOrphan(hold, end, origin),
    holdState: (hold) => of(hold).holdState(hold),
    transaction: (account, id) => (isJobs(id) ? ofJobs : ledger).transaction(account, id),
  };
}
