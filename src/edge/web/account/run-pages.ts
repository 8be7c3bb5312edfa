// Runs: a list with what each has spent, and the page of one: its bill, its child runs, a timeline, and buttons to stop it or raise its budget.
import type { RunShown } from "../../../money/runs/run-endpoints.ts";
import { type Html, html } from "../html.ts";
import { withQuery } from "../kit/ask.ts";
import { lanes, meter, shares } from "../kit/charts.ts";
import { buttonForm, centsIn, postForm } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import { callsWords, card, count, facts, money, nextPage, pill, seconds, tableOf, tiles, time } from "../kit/shown.ts";
import { type BillShown, calledName, type RunListed, type RunsShown } from "./answers.ts";
import { tokensOf } from "./transactions.ts";

const PATH = "/account/runs";
const PAGE = "50";

const pageOf = (id: string) => `${PATH}/${encodeURIComponent(id)}`;
const apiOf = ({ request }: Visit) => `/api/v1/runs/${encodeURIComponent(request.params.id ?? "")}`;
const MOODS = { open: "good", spent: "warn", expired: "warn", stopped: "bad" } as const;

const stateOf = ({ status }: RunListed) => pill(status, MOODS[status]);

function usedOf(run: RunListed): Html {
  const taken = run.spent_nano_usd + run.held_nano_usd;
  return html`${money(run.spent_nano_usd)} <span class="soft">of ${money(run.budget_nano_usd)}</span>${meter(taken / Math.max(1, run.budget_nano_usd))}`;
}

const nameOf = ({ id, label }: RunListed) =>
  html`<a class="name" href="${pageOf(id)}">${label ?? id}</a>${label === null ? "" : html`<br><span class="soft"><code>${id}</code></span>`}`;

export const runsSection: Section = {
  path: PATH,
  async show({ ask, request }) {
    const cursor = request.query.get("cursor") ?? "";
    const found = await ask<RunsShown>("GET", withQuery("/api/v1/runs", { limit: PAGE, cursor }));
    const none =
      "There is no run yet. Start one with tollgate run --budget 5 -- claude, or with a key that ends in +run_...";
    const runs = tableOf("Runs", found.runs, none, {
      Run: nameOf,
      State: stateOf,
      Spent: usedOf,
      "Started (UTC)|large": (run) => time(run.created_at),
    });
    return {
      title: "Runs",
      body: html`<p class="lead">A run is an agent's session or a job with its own budget, over all models and actions.</p><section class="card">${runs}${nextPage(PATH, {}, found.next_cursor)}</section>`,
    };
  },
};

function summary(bill: BillShown): Html {
  const { budget_nano_usd: budget, spent_nano_usd: spent, held_nano_usd: held } = bill;
  return tiles([
    ["Spent", money(spent), html`of ${money(budget)}${meter(spent / Math.max(1, budget))}`],
    ["Held by running calls", money(held)],
    ["Left", money(Math.max(0, budget - spent - held))],
    ["Calls", count(bill.totals?.calls ?? 0)],
  ]);
}

function changes(bill: BillShown, { csrf }: Visit): Html {
  const form = { action: pageOf(bill.id), csrf };
  const parent = bill.parent === null ? "none" : html`<a href="${pageOf(bill.parent)}">${bill.parent}</a>`;
  const about = facts([
    ["State", stateOf(bill)],
    ["Run", html`<code>${bill.id}</code>`],
    ["Parent", parent],
    ["Started", html`${time(bill.created_at)} UTC`],
    ["Expires", html`${time(bill.expires_at)} UTC`],
  ]);
  if (bill.stopped) return card("About", about);
  const budget = String(bill.budget_cents / 100);
  const raise = postForm(
    { ...form, act: "raise" },
    [{ name: "budget", label: "Budget", note: "dollars", type: "number", value: budget, required: true }],
    "Change the budget",
  );
  const stop = buttonForm({ ...form, act: "stop" }, "Stop this run", { kind: "danger" });
  return html`<div class="grid">${card("About", about)}${card("Change", html`${raise}<p>${stop}</p>`)}</div>`;
}

function loopsOf({ loops = [] }: BillShown): Html | string {
  if (loops.length === 0) return "";
  const rows = loops.map(({ message, charged_nano_usd: nano }) => html`<li>${message} ${money(nano)}</li>`);
  return card("Loops", html`<ul class="tree">${rows}</ul>`);
}

interface Sum {
  readonly calls: number;
  readonly charged_nano_usd: number;
}
const shareOf = (name: string, { calls, charged_nano_usd: nano }: Sum) => ({ name, nano, more: callsWords(calls) });

function totalsOf({ totals }: BillShown): Html | string {
  if (totals === undefined) return "";
  const models = totals.by_model.map((sum) => shareOf(sum.model, sum));
  const actions = totals.by_action.map((sum) => shareOf(sum.action, sum));
  return html`<div class="grid">${card("By model", shares(models, "No model was called."))}${card("By action", shares(actions, "No action was called."))}</div>`;
}

/** The run and all below it, parents first. */
function* within(run: RunShown, depth = 0): Generator<{ readonly run: RunShown; readonly depth: number }> {
  yield { run, depth };
  for (const child of run.children) yield* within(child, depth + 1);
}

function treeOf(bill: BillShown): Html | string {
  const branch = (run: RunShown): Html =>
    html`<li>${nameOf(run)} ${usedOf(run)}${run.children.length === 0 ? "" : html`<ul>${run.children.map(branch)}</ul>`}</li>`;
  return bill.children.length === 0 ? "" : card("Child runs", html`<ul class="tree">${bill.children.map(branch)}</ul>`);
}

function timelineOf(bill: BillShown): Html | string {
  const { timeline = [] } = bill;
  if (timeline.length === 0) return "";
  const rows = [...within(bill)].map(({ run, depth }) => ({
    name: `${"\u00a0\u00a0".repeat(depth)}${run.label ?? run.id}`,
    spans: timeline.filter((span) => span.run_id === run.id),
  }));
  return card("Timeline", lanes(rows.filter(({ spans }) => spans.length > 0)));
}

function callsOf({ calls, id, next_cursor: next }: BillShown): Html {
  const after = ({ fell_back_from: before }: BillShown["calls"][number]) =>
    before === undefined
      ? ""
      : html`<br><span class="soft">after ${before.map(({ vendor, reason }) => `${vendor} (${reason ?? "failed"})`).join(", ")}</span>`;
  const shown = tableOf("Calls", calls, "No call was charged yet.", {
    "Time (UTC)": (call) =>
      html`<a class="row" href="/account/transactions/${encodeURIComponent(call.transaction_id)}">${time(call.created_at)}</a>`,
    Call: (call) =>
      html`<span class="name">${calledName(call)}</span> ${call.status === "complete" ? "" : pill(call.status, "warn")}${after(call)}`,
    "Tokens in → out|num large": (call) => tokensOf(call.usage),
    "First token|num large": (call) => seconds(call.first_token_ms),
    "Duration|num": (call) => seconds(call.duration_ms),
    "Cost|num": (call) => money(call.charged_nano_usd),
  });
  return card("Calls", html`${shown}${nextPage(pageOf(id), {}, next)}`);
}

export const runSection: Section = {
  path: `${PATH}/{id}`,
  place: PATH,
  acts: {
    stop: {
      told: "The run is stopped",
      sure: () => "Its running calls are cut off and charged for what they delivered. A stopped run stays stopped.",
      run: (visit) => visit.ask("POST", `${apiOf(visit)}/stop`),
    },
    raise: {
      told: "The budget is changed",
      run: (visit) => visit.ask("PATCH", apiOf(visit), { budget_cents: centsIn(visit.fields.budget) }),
    },
  },
  async show(visit) {
    const cursor = visit.request.query.get("cursor") ?? "";
    const bill = await visit.ask<BillShown>("GET", withQuery(apiOf(visit), { limit: PAGE, cursor }));
    const title = bill.label ?? `Run ${bill.id}`;
    if (cursor !== "") return { title, body: callsOf(bill) };
    const parts = [summary(bill), changes(bill, visit), loopsOf(bill), timelineOf(bill), totalsOf(bill), treeOf(bill)];
    return { title, body: html`${parts}${callsOf(bill)}` };
  },
};
