// What runs now: calls, jobs, sessions; and the backlogs of the spool and the archive.

import type { JobRow } from "../../../actions/jobs/job-view.ts";
import { type Html, html } from "../html.ts";
import { bodyOr } from "../kit/ask.ts";
import type { Section, Visit } from "../kit/sections.ts";
import { card, count, pill, tableOf, tiles } from "../kit/shown.ts";
import { seriesIn, seriesSum } from "./metrics-read.ts";

const PATH = "/console/running";
export const RUNNING_LIVE = "/console/running/live";
const SHOWN_MAX = 200;
const TOLD = {
  tollgate_in_flight: "Calls",
  tollgate_jobs_running: "Jobs of this process",
  tollgate_sessions_open: "Sessions",
  tollgate_holds_open: "Holds",
  tollgate_held_usd: "Held, USD",
  tollgate_spool_depth: "Waits in the spool",
  tollgate_archive_behind_seconds: "Archive behind, s",
  tollgate_session_boxes_unclosed: "Boxes to be closed",
} as const;

export async function runningNow({ ask }: Visit): Promise<Html> {
  const series = seriesIn(await bodyOr(ask<string>("GET", "/metrics"), ""), Object.keys(TOLD));
  const shown = Object.entries(TOLD).filter(([name]) => series.some((one) => one.name === name));
  const found = await ask<{ jobs: readonly JobRow[] }>("GET", "/admin/v1/jobs");
  const jobs = tableOf("Jobs", found.jobs.slice(0, SHOWN_MAX), "No job is running.", {
    Job: (job) =>
      html`${job.kind} ${job.sandbox ? pill("sandbox", "warn") : ""}<br><code>${job.job_id}</code><br><a href="/console/accounts/${encodeURIComponent(job.account_id)}">${job.account_name ?? job.account_id}</a>`,
    State: (job) => html`${pill(job.status)} ${job.done === null ? "" : `${job.done} of ${job.total ?? "?"}`}`,
    "No progress for|num": (job) => `${count(job.still_seconds)} s of ${count(job.age_seconds)} s`,
    "Held|num": (job) => `$${job.held_usd}`,
    "Spent|num large": (job) => `$${job.spent_usd}`,
  });
  const sumOf = (name: string) => count(Math.round(seriesSum(series, name) * 10_000) / 10_000);
  return html`${tiles(shown.map(([name, words]) => [words, sumOf(name)]))}${card("Jobs, stalled ones first", jobs)}`;
}

export const runningSection: Section = {
  path: PATH,
  async show(visit) {
    return { title: "Running", body: html`<div data-live="${RUNNING_LIVE}">${await runningNow(visit)}</div>` };
  },
};
