// Runs: a list with what each has spent, and the page of one: its bill, its child runs, a timeline, and buttons to stop it or raise its budget.
import type { RunShown } from "../../../money/runs/run-endpoints.ts";
import { type Html, html } from "../html.ts";
import { nothingElse, withQuery } from "../kit/ask.ts";
import { meter, type Share, shares } from "../kit/charts.ts";
import { buttonForm, centsIn, field, postForm } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import {
  callsWords,
  card,
  count,
  facts,
  money,
  nextPage,
  pill,
  rowsOf,
  seconds,
  table,
  tiles,
  time,
} from "../kit/shown.ts";
import { lanes } from "../kit/timeline.ts";
import { type BillShown, calledName, type RunListed, type RunsShown } from "./answers.ts";

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
  place: PATH,
  async show({ ask, request }) {
    const cursor = request.query.get("cursor") ?? "";
    const found = await ask<RunsShown>("GET", withQuery("/api/v1/runs", { limit: PAGE, cursor }));
    const columns = ["Run", "State", "Spent", "Started (UTC)|large"];
    const rows = rowsOf(found.runs, (run) => [nameOf(run), stateOf(run), usedOf(run), time(run.created_at)]);
    const none =
      "There is no run. tollgate run --budget 5 -- claude makes one, and so does a key that ends in +run_...";
    return {
      title: "Runs",
      body: html`<p class="lead">A run is an agent's session or a job with its own budget, over all models and actions.</p><section class="card">${table("Runs", columns, { rows, none })}${nextPage(PATH, {}, found.next_cursor)}</section>`,
    };
  },
};

function summary(bill: BillShown): Html {
  const left = Math.max(0, bill.budget_nano_usd - bill.spent_nano_usd - bill.held_nano_usd);
  return tiles([
    {
      name: "Spent",
      value: money(bill.spent_nano_usd),
      more: html`of ${money(bill.budget_nano_usd)}${meter(bill.spent_nano_usd / Math.max(1, bill.budget_nano_usd))}`,
    },
    { name: "Held by running calls", value: money(bill.held_nano_usd) },
    { name: "Left", value: money(left) },
    { name: "Calls", value: count(bill.totals?.calls ?? 0) },
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
  const raise = postForm(
    { ...form, act: "raise" },
    html`${field({ name: "budget", label: "Budget", note: "dollars", type: "number", value: String(bill.budget_cents / 100), required: true })}<div class="buttons"><button>Change the budget</button></div>`,
  );
  const stop = buttonForm({ ...form, act: "stop" }, "Stop this run", { kind: "danger" });
  return html`<div class="grid">${card("About", about)}${card("Change", html`${raise}<p>${stop}</p>`)}</div>`;
}

function loopsOf({ loops = [] }: BillShown): Html | string {
  if (loops.length === 0) return "";
  const rows = loops.map(({ message, charged_nano_usd: nano }) => html`<li>${message} ${money(nano)}</li>`);
  return card("Loops", html`<ul class="tree">${rows}</ul>`);
}

function shareOf(
  name: string,
  { calls, charged_nano_usd: nano }: { readonly calls: number; readonly charged_nano_usd: number },
): Share {
  return { name, nano, more: callsWords(calls) };
}

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

function tokensOf({ usage }: BillShown["calls"][number]): string {
  if (usage === null) return "";
  const { input_tokens: fresh, cache_read_tokens: read, cache_write_tokens: written, output_tokens: output } = usage;
  const cached = read === 0 ? "" : ` (${count(read)} cached)`;
  return `${count(fresh + read + written)} in${cached}, ${count(output)} out`;
}

function callsOf({ calls, id, next_cursor: next }: BillShown): Html {
  const columns = ["Time (UTC)", "What", "Tokens|large", "First token|num large", "Duration|num", "Cost|num"];
  const rows = rowsOf(calls, (call) => [
    html`<a href="/account/transactions/${encodeURIComponent(call.transaction_id)}">${time(call.created_at)}</a>`,
    html`<span class="name">${calledName(call)}</span> ${call.status === "complete" ? "" : pill(call.status, "warn")}${
      call.fell_back_from === undefined
        ? ""
        : html`<br><span class="soft">after ${call.fell_back_from.map(({ vendor, reason }) => `${vendor} (${reason ?? "failed"})`).join(", ")}</span>`
    }`,
    tokensOf(call),
    seconds(call.first_token_ms),
    seconds(call.duration_ms),
    money(call.charged_nano_usd),
  ]);
  const none = "No call was charged yet.";
  return card("Calls", html`${table("Calls", columns, { rows, none })}${nextPage(pageOf(id), {}, next)}`);
}

export const runSection: Section = {
  path: `${PATH}/{id}`,
  place: PATH,
  acts: {
    stop: {
      told: "The run is stopped",
      sure: () => "Its running calls are cut off and charged for what they delivered. A stopped run stays stopped.",
      run: (visit) => nothingElse(visit.ask("POST", `${apiOf(visit)}/stop`)),
    },
    raise: {
      told: "The budget is changed",
      run: (visit) => nothingElse(visit.ask("PATCH", apiOf(visit), { budget_cents: centsIn(visit.fields.budget) })),
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
