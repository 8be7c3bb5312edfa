// Operators' commands for runs: which spend, what one cost, and stopping one.
import { rounded } from "../edge/web/kit/shown.ts";
import type { RunShown } from "../money/runs/run-endpoints.ts";
import { accountPath } from "./account-commands.ts";
import { allOf } from "./admin-client.ts";
import { type Command, requesting, type Typed } from "./command.ts";
import { type Bill, billText, runText } from "./run-text.ts";
import { table } from "./text.ts";

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
