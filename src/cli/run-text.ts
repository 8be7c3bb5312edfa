// How the commands print a run and its bill.
import { NANO_PER_CENT, type NanoSum } from "../core/money.ts";
import { rounded } from "../edge/web/kit/shown.ts";
import { pairs, table } from "./text.ts";

/** A run as the API answers it. */
export interface RunShown {
  readonly run_id: string;
  readonly label: string | null;
  readonly budget_cents: number;
  readonly parent: string | null;
  readonly expires_at: string | null;
  readonly stopped: boolean;
  readonly spent_nano_usd: number;
  readonly held_nano_usd: number;
}

interface Total {
  readonly calls: number;
  readonly charged_nano_usd: NanoSum;
}

export interface Bill extends RunShown {
  readonly children: readonly RunShown[];
  readonly totals: {
    readonly calls: number;
    readonly by_model: readonly (Total & { readonly model: string })[];
    readonly by_action: readonly (Total & { readonly action: string })[];
  };
  readonly loops: readonly { readonly message: string }[];
}

const budgetNano = ({ budget_cents: cents }: RunShown) => cents * NANO_PER_CENT;

/** For the terminal's title. */
export function leftText(run: RunShown): string {
  const left = Math.max(0, budgetNano(run) - run.spent_nano_usd - run.held_nano_usd);
  return `${rounded(left)} of ${rounded(budgetNano(run))} left`;
}

export function stateText({ stopped, expires_at: expires }: RunShown, nowMs: number): string {
  if (stopped) return "stopped";
  return expires !== null && Date.parse(expires) <= nowMs ? "expired" : "open";
}

export function runText(run: RunShown, nowMs: number): string {
  return pairs([
    ["run", run.run_id],
    ["label", run.label ?? "none"],
    ["state", stateText(run, nowMs)],
    ["budget", rounded(budgetNano(run))],
    ["spent", rounded(run.spent_nano_usd)],
    ["held", rounded(run.held_nano_usd)],
    ["parent", run.parent ?? "none"],
    ["expires", run.expires_at ?? "never"],
  ]);
}

/** The bill in short: the sum, then models and actions, the costliest first. */
export function billText(bill: Bill, columns: number): string {
  const { by_model: models, by_action: actions, calls } = bill.totals;
  const state = bill.stopped ? ", stopped" : "";
  const head = `Run ${bill.run_id}: ${rounded(bill.spent_nano_usd)} of ${rounded(budgetNano(bill))} spent in ${calls} ${calls === 1 ? "call" : "calls"}${state}.`;
  const rows = [
    ...models.map(({ model, ...total }) => ({ name: model, ...total })),
    ...actions.map(({ action, ...total }) => ({ name: action, ...total })),
  ]
    .sort((one, other) => Number(other.charged_nano_usd) - Number(one.charged_nano_usd))
    .map(({ name, calls: count, charged_nano_usd: nano }) => [name, String(count), rounded(nano)]);
  const parts = rows.length === 0 ? [head] : [head, table(["MODEL OR ACTION", "CALLS", "COST"], rows, columns)];
  return [...parts, ...bill.loops.map(({ message }) => `Loop: ${message}`)].join("\n");
}
