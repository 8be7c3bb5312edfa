// The command for long-running jobs: which run, for whom, their progress, and which are stuck.
import type { JobRow } from "../actions/jobs/job-view.ts";
import type { Command } from "./command.ts";
import { table } from "./text.ts";

const HEADS = ["JOB", "KIND", "STATUS", "ACCOUNT", "NAME", "AGE", "STILL", "DONE", "HELD", "SPENT", "RUNNER"];

function span(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
}

export const jobs: Command = {
  name: "jobs",
  options: { account: { value: "ID", meaning: "of this account alone" } },
  summary: "Lists the jobs that are not over, those first that have stood still for longest",
  async run(typed, { admin }) {
    const account = typed.text("account");
    const { jobs: all } = await admin.call<{ readonly jobs: readonly JobRow[] }>("GET", "/admin/v1/jobs");
    const rows = account === undefined ? all : all.filter(({ account_id }) => account_id === account);
    if (rows.length === 0) return { json: { jobs: rows }, text: "No job runs." };
    const lines = rows.map((row) => [
      row.job_id,
      row.kind,
      row.status,
      row.account_id,
      row.account_name ?? "-",
      span(row.age_seconds),
      span(row.still_seconds),
      row.total === null ? "-" : `${row.done} of ${row.total}`,
      row.held_usd,
      row.spent_usd,
      row.runner,
    ]);
    return { json: { jobs: rows }, text: table(HEADS, lines) };
  },
};
