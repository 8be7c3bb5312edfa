// The actions on jobs, core/result and core/cancel. The jobs' rows are stored separately.
import { randomUUID } from "node:crypto";
import { cancelAction } from "../actions/jobs/cancel-action.ts";
import { createJobEvents } from "../actions/jobs/job-events.ts";
import { type JobView, jobView } from "../actions/jobs/job-view.ts";
import type { Jobs } from "../actions/jobs/jobs.ts";
import { resultAction } from "../actions/run/result-action.ts";
import { JsonInParts, type LocalAction } from "../catalog/local-action.ts";
import { systemClock } from "../core/clock.ts";
import type { JobRows } from "../platform/records/job-rows.ts";
import type { Foundation } from "./open-foundation.ts";

/** A finished job with its rows; null: the rows have expired. */
async function withRows(
  view: JobView,
  names: readonly string[] | undefined,
  rows: JobRows,
): Promise<JobView | JsonInParts | null> {
  if (names === undefined || typeof view.result !== "object") return view;
  const texts = await rows.texts(names);
  if (texts === null) return null;
  const place = randomUUID();
  const json = JSON.stringify({ ...view, result: { ...view.result, rows: place } });
  const [before = "", after = ""] = json.split(`"${place}"`);
  return new JsonInParts(around(before, texts, after));
}

/** An answer as JSON; null: there is none, or it is too long. */
async function textOf(answer: JobView | JsonInParts | null, charsMax: number): Promise<string | null> {
  if (answer === null) return null;
  const kept: Uint8Array[] = [];
  let length = 0;
  for await (const part of answer instanceof JsonInParts ? answer.parts : [Buffer.from(JSON.stringify(answer))]) {
    length += part.length;
    if (length > charsMax) return null;
    kept.push(part);
  }
  return Buffer.concat(kept).toString("utf8");
}

async function* around(before: string, rows: AsyncIterable<Uint8Array>, after: string): AsyncGenerator<Uint8Array> {
  let between = `${before}[`;
  for await (const row of rows) {
    yield Buffer.from(between);
    yield row;
    between = ",";
  }
  yield Buffer.from(`${between === "," ? "" : between}]${after}`);
}

/** `jobs` are created later, because they run these actions. */
export function jobActions(
  { stores, catalog, phase }: Foundation,
  rows: JobRows,
  jobs: () => Jobs,
): readonly LocalAction[] {
  const result = resultAction({
    records: stores.records,
    clock: systemClock,
    sold: (id, audience) => catalog.current().action(id, audience),
    async ownJob(id, payer) {
      const job = await jobs().find(id, payer);
      return job === null ? null : withRows(jobView(job), job.end?.rows, rows);
    },
    ownEvents: createJobEvents({
      jobs,
      clock: systemClock,
      draining: () => phase.draining,
      ended: async (job, charsMax) => textOf(await withRows(jobView(job), job.end?.rows, rows), charsMax),
    }),
  });
  return [result, cancelAction(jobs)];
}
