// How the commands print a run and its bill.
import { rounded } from "../edge/web/kit/shown.ts";
import type { Reckoned } from "../money/runs/bill.ts";
import type { RunShown } from "../money/runs/run-endpoints.ts";
import { pairs, table } from "./text.ts";

/** What a run's page of the API has, on its first page. */
export type Bill = RunShown & Reckoned;

/** For the terminal's title. */
export function leftText(run: RunShown): string {
  const left = Math.max(0, run.budget_nano_usd - run.spent_nano_usd - run.held_nano_usd);
  return `${rounded(left)} of ${rounded(run.budget_nano_usd)} left`;
}

export function runText(run: RunShown): string {
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
