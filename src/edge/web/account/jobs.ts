// Jobs with live progress, and a button to cancel one.
import type { ownJobRow } from "../../../actions/jobs/own-jobs.ts";
import { type Html, html } from "../html.ts";
import { type Ask, type Paged, withQuery } from "../kit/ask.ts";
import { meter } from "../kit/charts.ts";
import { buttonForm } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import { moneyOfCents, nextPage, pill, tableOf, time } from "../kit/shown.ts";

type JobShown = ReturnType<typeof ownJobRow>;

const PATH = "/account/jobs";
export const JOBS_LIVE = "/account/jobs/live";
/** As many as the endpoint returns at once. */
const PAGE = "25";
const MOODS = new Map([
  ["succeeded", "good"],
  ["failed", "bad"],
] as const);
const NONE = "No job ran in the last seven days. core/onescrape-deep and core/onefind-deep run as jobs: call one.";

function stateOf({ status, progress, cancelled, stopped }: JobShown): Html {
  const words = cancelled === true ? " cancelled" : stopped === undefined ? "" : ` stopped: ${stopped}`;
  const made =
    progress === undefined || progress.total === 0
      ? ""
      : html`<br><span class="soft">${progress.done} of ${progress.total}</span>${meter(progress.done / progress.total, false)}`;
  return html`${pill(status, MOODS.get(status as "failed"))}${words}${made}`;
}

async function jobsOf(ask: Ask, csrf: string, cursor: string): Promise<Html> {
  const path = withQuery("/api/v1/jobs", { limit: PAGE, cursor });
  const found = await ask<Paged<"jobs", JobShown>>("GET", path);
  const jobs = tableOf("Jobs", found.jobs, NONE, {
    "Started (UTC)": (job) => time(job.created_at),
    Job: (job) => html`<span class="name">${job.job}</span><br><span class="soft"><code>${job.job_id}</code></span>`,
    State: stateOf,
    "Cost|num": (job) => moneyOfCents(job.charged_cents),
    "Actions|acts": ({ status, job_id: id }) =>
      MOODS.has(status as "failed")
        ? ""
        : buttonForm({ action: PATH, csrf, act: "cancel", hidden: { id } }, "Cancel", { label: id }),
  });
  return html`${jobs}${nextPage(PATH, {}, found.next_cursor)}`;
}

/** The newest jobs, for live updates. */
export function liveJobs({ ask, csrf }: Visit): Promise<Html> {
  return jobsOf(ask, csrf, "");
}

export const jobsSection: Section = {
  path: PATH,
  acts: {
    cancel: {
      told: "The job was cancelled. It keeps its results so far and is charged for those",
      run: ({ ask, fields }) => ask("POST", "/api/run/core/cancel", { job_id: fields.id }),
    },
  },
  async show({ ask, csrf, request }) {
    const cursor = request.query.get("cursor") ?? "";
    // Older pages do not change.
    const live = cursor === "" ? html` data-live="${JOBS_LIVE}"` : "";
    return { title: "Jobs", body: html`<section class="card"${live}>${await jobsOf(ask, csrf, cursor)}</section>` };
  },
};
