// Invariants of work that outlives its request, at the end of a run: it has ended, is paid once, and its legs name its vendors.
import type { JobRecord } from "../../src/actions/jobs/job-record.ts";
import type { Evidence } from "./audit.ts";
import { isJobs, jobOf, type LaunchTry } from "./jobs.ts";
import { accountId } from "./store.ts";

interface JobEvidence extends Evidence {
  readonly launches: readonly LaunchTry[];
}

export interface JobFindings {
  readonly found: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
}

const jobIdOf = (holdId: string) => holdId.replace(/^tx_/, "job_");

export function jobAudit(evidence: JobEvidence): JobFindings {
  const { launches, steps } = evidence;
  const found = [...launches.flatMap((one) => launched(one, evidence)), ...repeats(evidence)];
  const counts = new Map<string, number>();
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  for (const { told, code, holdId } of launches) {
    if (told === null) count(code === null ? "launch died" : "launch refused");
    else if (told !== jobIdOf(holdId)) count("launch repeated");
    else count(`job ${recordOf(holdId, evidence)?.state ?? "forgotten"}`);
    if (new Set(steps.filter(({ jobId }) => jobId === jobIdOf(holdId)).map(({ owner }) => owner)).size > 1)
      count("job adopted");
  }
  return { found, counts };
}

function recordOf(holdId: string, { store }: JobEvidence): JobRecord | null {
  const record = store.kept.records.get(`job ${jobIdOf(holdId)}`);
  return record === undefined ? null : (JSON.parse(record.value) as JobRecord);
}

/** The store has lost acknowledged data of it: its record, its place in a list, or its hold. */
function wasForgotten(holdId: string, { store }: JobEvidence): boolean {
  return [...store.forgotten].some((fact) => fact === holdId || fact.endsWith(jobIdOf(holdId)));
}

function launched({ job, holdId, told, code }: LaunchTry, evidence: JobEvidence): string[] {
  const { store, steps, scenario } = evidence;
  const postings = store.kept.at(accountId(job.account)).postings.filter(({ id }) => id === holdId);
  const charged = postings.reduce((sum, { amount }) => sum + amount, 0);
  const found: string[] = [];
  if (postings.length > 1) found.push(`${holdId} is charged ${postings.length} times`);
  if (charged > (jobOf(scenario.jobs ?? [], holdId)?.budgetNano ?? 0)) found.push(`${holdId} is charged ${charged}`);
  found.push(...legsOf(holdId, { store, steps }));
  const record = recordOf(holdId, evidence);
  // Where the store has forgotten a runner, no process looks for what that runner was running when it died.
  if (wasForgotten(holdId, evidence) || store.forgotten.has(`answer ${record?.runner}`)) return found;
  const isOver = record === null || record.state === "succeeded" || record.state === "failed";
  if (told === jobIdOf(holdId) && record === null) found.push(`${told} was told of, and nobody knows it`);
  // A launch that was refused while the store was unavailable, or answered with an earlier one's job, may leave a record: it holds nothing,
  // no process runs it, and one that is launching expires by itself.
  const isAnothers = told !== null && told !== jobIdOf(holdId) && record?.state === "launching";
  const isLeft = isAnothers || (told === null && (record?.state === "launching" || record?.state === "queued"));
  if (!isOver && !isLeft) found.push(`${jobIdOf(holdId)} never ended: it is ${record.state}`);
  if (told === null && code !== null && charged > 0) found.push(`${holdId} was told ${code} and is charged ${charged}`);
  const wanted = record?.state === "succeeded" ? (record.end?.chargeNano ?? 0) : 0;
  const isFree = evidence.expiredMs.has(holdId);
  if (charged !== (isFree ? 0 : wanted))
    found.push(`${holdId} is ${record?.state}, should be charged ${isFree ? 0 : wanted}, and is charged ${charged}`);
  return found;
}

/** Its named vendors have answered it, each at the leg's price. */
function legsOf(holdId: string, { store, steps }: Pick<JobEvidence, "store" | "steps">): string[] {
  const request = store.kept.posted.get(holdId);
  if (request === undefined || !isJobs(holdId)) return [];
  const found: string[] = [];
  const sum = request.legs.reduce((all, { upstreamNano }) => all + upstreamNano, 0);
  if (sum !== request.upstreamNano) found.push(`${holdId} cost us ${request.upstreamNano}, and its legs ${sum}`);
  // Answers that a process had not saved when it died are in the vendor's books only.
  const left = steps.filter(({ jobId }) => jobId === jobIdOf(holdId)).map(({ vendor, nano }) => `${vendor} ${nano}`);
  for (const { vendor, upstreamNano } of request.legs) {
    const at = left.indexOf(`${vendor} ${upstreamNano}`);
    if (at === -1) found.push(`${holdId} names ${vendor} for ${upstreamNano}, who knows nothing of it`);
    else left.splice(at, 1);
  }
  return found;
}

/** One key launches one job. */
function repeats(evidence: JobEvidence): string[] {
  const told = evidence.launches.filter((one) => one.told !== null && one.job.idempotencyKey !== null);
  return [...Map.groupBy(told, ({ job }) => job.idempotencyKey)].flatMap(([key, tries]) => {
    const jobs = new Set(tries.map((one) => one.told));
    const isLost = [...evidence.store.forgotten].some((fact) => fact.endsWith(` ${key}`));
    return jobs.size > 1 && !isLost ? [`${key} launched ${[...jobs].join(", ")}`] : [];
  });
}
