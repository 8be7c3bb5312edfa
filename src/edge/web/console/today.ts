// The console's first page: today's spending, margin, errors and first-token latency, refreshed while it is open; spending by day; the last
// failures; and who spent most on any day.
import { sumOf } from "../../../core/money.ts";
import type { FailedShown } from "../account/answers.ts";
import { failedRows } from "../account/transactions.ts";
import { type Html, html } from "../html.ts";
import { type Ask, bodyOr, Refused, withQuery } from "../kit/ask.ts";
import { SHARES_MAX, shares } from "../kit/charts.ts";
import { DAY_MS, dayOf } from "../kit/days.ts";
import { field } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import { callsWords, card, count, money, problem, switchOf, tiles } from "../kit/shown.ts";
import { type Field, nameIn, spending, type UsageLine, usageOf } from "../spending.ts";
import type { UsageLine as OperatorLine } from "./answers.ts";
import { whose } from "./calls.ts";
import { type Buckets, bucketsOf, quantile, seriesIn, seriesSum, since } from "./metrics-read.ts";

/** Data shared by all open consoles is read once per this interval. */
const KEPT_MS = 4_000;
/** The period of the first-token latencies. */
const LATELY_MS = 5 * 60_000;
const FIRST_TOKEN = "tollgate_attempt_first_token_seconds_bucket";
const NAMES = ["tollgate_outcomes_total", "tollgate_in_flight", "tollgate_route_resting", FIRST_TOKEN];
const GOOD = ["success", "replayed", "left_after_content"];
const FAILURES_SHOWN = 5;
export const TODAY_LIVE = "/console/live";

const API = "/admin/v1/usage";

/** The largest spenders, however many there are. */
const largest = (ask: Ask, by: string, query: Readonly<Record<string, string>>) =>
  usageOf(ask, API, { by, ...query, order: "amount", limit: String(SHARES_MAX + 1) });

function seconds(value: number | null): string {
  if (value === null) return "-";
  return value === Number.POSITIVE_INFINITY
    ? "longer"
    : `≤ ${value >= 1 ? value : `${Math.round(value * 1_000)} m`}${value >= 1 ? " " : ""}s`;
}

const sum = (lines: readonly OperatorLine[], of: "charged" | "margin" | "absorbed") =>
  sumOf(lines.map((line) => line[`${of}_nano_usd`]));

/** One per gateway: all viewers share its readings, and "lately" compares with earlier ones. */
export function createGlance(epochMs: () => number): (visit: Visit) => Promise<Html> {
  const before: { readonly atMs: number; readonly buckets: Buckets }[] = [];
  let kept: { readonly atMs: number; readonly made: Promise<Html> } | null = null;

  function lately(buckets: Buckets, nowMs: number): { readonly buckets: Buckets; readonly words: string } {
    while (before[0] !== undefined && nowMs - before[0].atMs > LATELY_MS) before.shift();
    const [first] = before;
    before.push({ atMs: nowMs, buckets });
    if (first === undefined) return { buckets, words: "since the start" };
    const new_ = since(buckets, first.buckets);
    return (quantile(new_, 1) ?? null) === null
      ? { buckets, words: "since the start" }
      : { buckets: new_, words: `of the last ${Math.max(1, Math.round((nowMs - first.atMs) / 60_000))} min` };
  }

  async function make(ask: Ask): Promise<Html> {
    const nowMs = epochMs();
    const day = dayOf(nowMs);
    const lines = await usageOf<OperatorLine>(ask, API, { by: "day", from: day });
    if (lines instanceof Refused) return html`${problem(lines.words)}`;
    const series = seriesIn(bodyOr(await ask<string>("GET", "/metrics"), ""), NAMES);
    const told = lately(bucketsOf(series, FIRST_TOKEN), nowMs);
    const outcomes = series.filter(({ name }) => name === "tollgate_outcomes_total");
    const all = seriesSum(outcomes, "tollgate_outcomes_total");
    const bad = outcomes.filter(({ labels }) => !GOOD.includes(labels.outcome ?? ""));
    return tiles([
      {
        name: "Spend today",
        value: money(sum(lines, "charged")),
        more: `${count(lines.reduce((n, { calls }) => n + calls, 0))} calls, ${day} UTC`,
      },
      {
        name: "Margin today",
        value: money(sum(lines, "margin")),
        more: html`of which ${money(sum(lines, "absorbed"))} lost`,
      },
      {
        name: "Not served",
        value: count(seriesSum(bad, "tollgate_outcomes_total")),
        more: `of ${count(all)} since the start`,
      },
      { name: "First token, p50", value: seconds(quantile(told.buckets, 0.5)), more: told.words },
      { name: "First token, p99", value: seconds(quantile(told.buckets, 0.99)), more: told.words },
      { name: "Running now", value: count(seriesSum(series, "tollgate_in_flight")) },
      { name: "Resting routes", value: count(seriesSum(series, "tollgate_route_resting")) },
    ]);
  }

  return ({ ask }) => {
    const nowMs = epochMs();
    if (kept === null || nowMs - kept.atMs > KEPT_MS) kept = { atMs: nowMs, made: make(ask) };
    const { made } = kept;
    made.catch(() => {
      kept = null;
    });
    return made;
  };
}

const accountOf = (id: string | null | undefined) => `/console/accounts/${encodeURIComponent(id ?? "")}`;

async function spendOfDay(ask: Ask, day: string): Promise<Html | Refused> {
  const during = { from: day, to: day };
  const cards: Html[] = [];
  for (const [title, field, more] of [
    ["Accounts", "account", {}],
    ["Keys", "key", {}],
    ["Models and actions", "model", {}],
    ["Sandbox accounts, play money", "account", { sandbox: "1" }],
  ] as const satisfies readonly (readonly [string, Field, object])[]) {
    const lines = await largest(ask, field, { ...during, ...more });
    if (lines instanceof Refused) return lines;
    const all = lines.map((line: UsageLine) => ({
      name: field === "key" ? `${nameIn(line, field)} of ${line.account_name ?? ""}` : nameIn(line, field),
      nano: line.charged_nano_usd,
      more: callsWords(line.calls),
      ...(field === "model" ? {} : { href: accountOf(line.account_id) }),
    }));
    cards.push(card(title, shares(all, `Nothing was spent on ${day}.`)));
  }
  return html`<div class="grid">${cards}</div>`;
}

/** The last failed calls, or why they cannot be read. */
async function failures(ask: Ask): Promise<Html> {
  const query = { status: "failed", limit: String(FAILURES_SHOWN) };
  const found = await ask<{ readonly transactions: readonly FailedShown[] }>(
    "GET",
    withQuery("/admin/v1/transactions", query),
  );
  if (found instanceof Refused) return problem(found.words) as Html;
  if (found.transactions.length === 0) return html`<p class="none">No call has failed lately.</p>`;
  return html`${failedRows(found.transactions, whose)}<p class="pages"><a href="/console/calls?status=failed">All failed calls</a></p>`;
}

export function todaySection(glance: (visit: Visit) => Promise<Html>, epochMs: () => number): Section {
  return {
    path: "/console",
    place: "/console",
    async show(visit) {
      const { ask, request } = visit;
      const todayMs = Math.floor(epochMs() / DAY_MS) * DAY_MS;
      const [today, yesterday] = [dayOf(todayMs), dayOf(todayMs - DAY_MS)];
      const asked = request.query.get("day") ?? today;
      const day = /^\d{4}-\d{2}-\d{2}$/.test(asked) ? asked : today;
      const days = switchOf("Day", [
        { href: "/console", name: "Today", isOn: day === today },
        { href: `/console?day=${yesterday}`, name: "Yesterday", isOn: day === yesterday },
      ]);
      const other = html`<form class="filters" method="get" action="/console">${field({ name: "day", label: "Another day", note: "UTC", type: "date", value: day })}<div class="buttons"><button class="plain">Show</button></div></form>`;
      const made = await glance(visit);
      const sums = await usageOf(ask, API, { by: "day", from: dayOf(todayMs - 89 * DAY_MS), limit: "100" });
      if (sums instanceof Refused) return sums;
      const none = html`<p class="none">Nothing was spent in this time. Each day becomes a column here.</p>`;
      const spent = await spending({ ask, api: API, path: "/console", query: request.query, todayMs, none }, sums);
      if (spent instanceof Refused) return spent;
      const spend = await spendOfDay(ask, day);
      if (spend instanceof Refused) return spend;
      return {
        title: "Overview",
        body: html`<div data-live="${TODAY_LIVE}">${made}</div>${spent.card}${card("Failed lately", await failures(ask))}<h2>Who spent what on ${day}</h2>${days}${spend}${other}`,
      };
    },
  };
}
