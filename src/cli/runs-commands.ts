// Operators' commands for runs: which spend, what one cost, and stopping one.

import type { JobRow } from "../actions/jobs/job-view.ts";
import { rounded } from "../edge/web/kit/shown.ts";
import type { Reckoned } from "../money/runs/bill.ts";
import type { RunShown } from "../money/runs/run-endpoints.ts";
import { accountPath } from "./account-commands.ts";
import { allOf } from "./admin-client.ts";
import { type Command, requesting, type Typed } from "./command.ts";
import { pairs, table } from "./text.ts";

/** What a run's page of the API has, on its first page. */
export type Bill = RunShown & Reckoned;

/** For the terminal's title. */
export function leftText(run: RunShown): string {
  const left = Math.max(0, run.budget_nano_usd - run.spent_nano_usd - run.held_nano_usd);
  return `${rounded(left)} of ${rounded(run.budget_nano_usd)} left`;
}

function runText(run: RunShown): string {
  return pairs([
    ["run", run.id],
    ["label", run.label ?? "none"],
    ["state", run.status],
    ["budget", rounded(run.budget_nano_usd)],
    ["spent", rounded(run.spent_nano_usd)],
    ["held", rounded(run.held_nano_usd)],
    ["parent", run.parent ?? "none"],
    ["child runs", run.children.map(({ id }) => id).join(", ") || "none"],
    ["expires", run.expires_at],
  ]);
}

/** The bill in short: the sum, then models and actions, the costliest first. */
export function billText(bill: Bill, columns: number): string {
  const { by_model: models, by_action: actions, calls } = bill.totals;
  const state = bill.stopped ? ", stopped" : "";
  const head = `Run ${bill.id}: ${rounded(bill.spent_nano_usd)} of ${rounded(bill.budget_nano_usd)} spent in ${calls} ${calls === 1 ? "call" : "calls"}${state}.`;
  const rows = [
    ...models.map(({ model, ...total }) => ({ name: model, ...total })),
    ...actions.map(({ action, ...total }) => ({ name: action, ...total })),
  ]
    .sort((one, other) => Number(other.charged_nano_usd) - Number(one.charged_nano_usd))
    .map(({ name, calls: count, charged_nano_usd: nano }) => [name, String(count), rounded(nano)]);
  const parts = rows.length === 0 ? [head] : [head, table(["MODEL OR ACTION", "CALLS", "COST"], rows, columns)];
  return [...parts, ...bill.loops.map(({ message }) => `Loop: ${message}`)].join("\n");
}

const runsPath = (typed: Typed) => `${accountPath(typed.word("ACCOUNT"))}/runs`;
const runPath = (typed: Typed) => `${runsPath(typed)}/${encodeURIComponent(typed.word("RUN"))}`;

const list: Command = {
  name: "runs list",
  takes: ["ACCOUNT"],
  summary: "Lists an account's runs with what they have spent, newest first",
  async run(typed, { admin, columns }) {
    const runs = await allOf<RunShown>(admin, runsPath(typed), "runs");
    const rows = runs.map((run) => [
      ...[run.id, run.label ?? "", run.status, rounded(run.budget_nano_usd)],
      ...[rounded(run.spent_nano_usd), rounded(run.held_nano_usd), run.parent ?? "none"],
    ]);
    const text = table(["RUN", "LABEL", "STATE", "BUDGET", "SPENT", "HELD", "PARENT"], rows, columns);
    return { json: { runs }, text: rows.length === 0 ? "No runs." : text };
  },
};

const show = requesting<Bill>({
  name: "runs show",
  takes: ["ACCOUNT", "RUN"],
  summary: "Shows a run and its bill",
  request: (typed) => ["GET", runPath(typed)],
  shown: (bill, _typed, columns) => `${runText(bill)}\n\n${billText(bill, columns)}`,
});

const stop = requesting<RunShown>({
  name: "runs stop",
  takes: ["ACCOUNT", "RUN"],
  summary: "Stops a run for good, with its running calls, jobs, sessions and child runs",
  request: (typed) => ["POST", `${runPath(typed)}/stop`],
  shown: (run) => `${run.id} is stopped. It spent ${rounded(run.spent_nano_usd)}.`,
});

export const RUNS_COMMANDS: readonly Command[] = [list, show, stop];

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
