// The console's first page: today's spending, margin and health, refreshed while it is open; latency, failures and fallbacks over time; what
// failed last and why; who spent most on any day; and spending by day.
import { sumOf } from "../../../core/money.ts";
import {
  addSums,
  type DayFigures,
  type Figures,
  firstTokenMs,
  noSums,
  type Sums,
} from "../../../platform/observe/figures.ts";
import type { FailedShown } from "../account/answers.ts";
import { failures } from "../account/transactions.ts";
import { type Html, html } from "../html.ts";
import { type Ask, bodyOr, unlessRefused, withQuery } from "../kit/ask.ts";
import { columnChart, SHARES_MAX, shares } from "../kit/charts.ts";
import { searchForm } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import {
  callsWords,
  card,
  count,
  DAY_MS,
  dayOf,
  money,
  percent,
  problem,
  seconds,
  switchOf,
  tiles,
} from "../kit/shown.ts";
import { type Field, nameIn, spending, type UsageLine, usageOf } from "../spending.ts";
import type { OperatorLine } from "./accounts.ts";
import { CALLS } from "./calls.ts";
import { seriesIn, seriesSum } from "./metrics-read.ts";

/** Data shared by all open consoles is read once per this interval. */
const KEPT_MS = 4_000;
const HOUR_MS = 3_600_000;
const IN_FLIGHT = "tollgate_in_flight";
const RESTING = "tollgate_route_resting";
/** The failed calls whose reasons are counted, and those shown. */
const FAILURES_READ = 100;
const FAILURES_SHOWN = 5;
export const TODAY_LIVE = "/console/live";

const API = "/admin/v1/usage";

/** The largest spenders, however many there are. */
const largest = (ask: Ask, by: string, query: Readonly<Record<string, string>>) =>
  usageOf(ask, API, { by, ...query, order: "amount", limit: String(SHARES_MAX + 1) });

const sum = (lines: readonly OperatorLine[], of: "charged" | "margin" | "absorbed") =>
  sumOf(lines.map((line) => line[`${of}_nano_usd`]));

interface Span {
  readonly name: string;
  readonly sums: Sums;
}

/** The sums of each of the last 24 hours, the newest last. */
function lastHours(days: readonly DayFigures[], nowMs: number): readonly Span[] {
  return Array.from({ length: 24 }, (_, at) => {
    const time = new Date(nowMs - (23 - at) * HOUR_MS);
    const sums = days.find(({ day }) => day === dayOf(time.getTime()))?.hours.get(String(time.getUTCHours()));
    return { name: `${String(time.getUTCHours()).padStart(2, "0")}:00`, sums: sums ?? noSums() };
  });
}

const wholeOf = (all: Iterable<Sums>) => [...all].reduce((whole, one) => addSums(whole, one), noSums());

function lastDays(days: readonly DayFigures[], nowMs: number): readonly Span[] {
  return Array.from({ length: 30 }, (_, at) => {
    const name = dayOf(nowMs - (29 - at) * DAY_MS);
    return { name, sums: wholeOf(days.find(({ day }) => day === name)?.hours.values() ?? []) };
  });
}

function latencyChart(spans: readonly Span[], whole: Sums): Html {
  return columnChart({
    label: "Time to the first token",
    series: [0.5, 0.99].map((share) => ({ name: `p${share * 100}`, sum: seconds(firstTokenMs(whole, share)) })),
    columns: spans.map(({ name, sums }) => {
      const [half, most] = [firstTokenMs(sums, 0.5) ?? 0, firstTokenMs(sums, 0.99) ?? 0];
      const rest = { height: Math.max(0, most - half), shown: seconds(most) };
      return { name, parts: [{ height: half, shown: seconds(half) }, rest] };
    }),
    scale: seconds,
  });
}

function failureChart(spans: readonly Span[], whole: Sums): Html {
  const of = ["fallbacks", "failed"] as const;
  const names = { fallbacks: "answered by another route", failed: "failed" };
  return columnChart({
    label: "Failed calls and fallbacks",
    series: of.map((one) => ({ name: names[one], sum: count(whole[one]) })),
    columns: spans.map(({ name, sums }) => ({
      name,
      sum: callsWords(sums.calls),
      parts: of.map((one) => ({ height: sums[one], shown: count(sums[one]) })),
    })),
    scale: (height) => (height < 1 ? "" : count(Math.round(height))),
  });
}

/** Latency, failures and fallbacks, by the hour or by the day. */
function health(days: readonly DayFigures[], query: URLSearchParams, nowMs: number): Html {
  const isMonth = query.get("health") === "month";
  const spans = isMonth ? lastDays(days, nowMs) : lastHours(days, nowMs);
  const choices = switchOf("Health over", [
    { href: "/console", name: "24 hours", isOn: !isMonth },
    { href: "/console?health=month", name: "30 days", isOn: isMonth },
  ]);
  const whole = wholeOf(spans.map(({ sums }) => sums));
  const noToken = html`<p class="none">No model has answered in this time. Its first token appears here.</p>`;
  const charts =
    whole.calls === 0
      ? html`<p class="none">No call of a live account has ended in this time. Make one, and its latency and failures appear here.</p>`
      : html`<div class="grid"><div><h3>First token</h3>${firstTokenMs(whole, 0.5) === null ? noToken : latencyChart(spans, whole)}</div><div><h3>Failed calls and fallbacks</h3>${failureChart(spans, whole)}</div></div>`;
  return html`<section class="card"><header><h2>Health</h2>${choices}</header>${charts}</section>`;
}

/** One per gateway: all viewers share its readings. */
export function createGlance(epochMs: () => number, figures: Pick<Figures, "days">): (visit: Visit) => Promise<Html> {
  let kept: { readonly atMs: number; readonly made: Promise<Html> } | null = null;

  async function make(ask: Ask): Promise<Html> {
    const nowMs = epochMs();
    const day = dayOf(nowMs);
    const lines = await usageOf<OperatorLine>(ask, API, { by: "day", from: day });
    const series = seriesIn(await bodyOr(ask<string>("GET", "/metrics"), ""), [IN_FLIGHT, RESTING]);
    const lately = wholeOf(lastHours(await figures.days(), nowMs).map(({ sums }) => sums));
    const calls = lines.reduce((n, line) => n + line.calls, 0);
    return tiles([
      ["Spend today", money(sum(lines, "charged")), `${callsWords(calls)}, ${day} UTC`],
      ["Margin today", money(sum(lines, "margin")), html`of which ${money(sum(lines, "absorbed"))} lost`],
      [
        "Failed",
        lately.calls === 0 ? "-" : percent(lately.failed / lately.calls),
        `${count(lately.failed)} of ${callsWords(lately.calls)} in 24 hours`,
      ],
      ["First token, p50", seconds(firstTokenMs(lately, 0.5)), "of 24 hours"],
      ["First token, p99", seconds(firstTokenMs(lately, 0.99)), "of 24 hours"],
      ["Running now", count(seriesSum(series, IN_FLIGHT))],
      ["Resting routes", html`<a href="/console/routes">${count(seriesSum(series, RESTING))}</a>`],
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

async function spendOfDay(ask: Ask, day: string): Promise<Html> {
  const during = { from: day, to: day };
  const cards: Html[] = [];
  for (const [title, field, more] of [
    ["Accounts", "account", {}],
    ["Keys", "key", {}],
    ["Models and actions", "model", {}],
    ["Sandbox accounts, play money", "account", { sandbox: "1" }],
  ] as const satisfies readonly (readonly [string, Field, object])[]) {
    const lines = await largest(ask, field, { ...during, ...more });
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

/** Why the last calls failed, and the newest of them; or why they cannot be read. */
async function lastFailures(ask: Ask): Promise<Html> {
  const path = withQuery(CALLS.api, { status: "failed", limit: String(FAILURES_READ) });
  const { transactions: all } = await ask<{ readonly transactions: readonly FailedShown[] }>("GET", path);
  if (all.length === 0) return html`<p class="none">No call has failed lately.</p>`;
  const reasons = Map.groupBy(all, ({ code, status, asked }) => `${code ?? status} ${asked ?? ""}`);
  const most = [...reasons].map(([name, calls]) => ({
    name,
    nano: calls.length,
    shown: callsWords(calls.length),
    href: withQuery(CALLS.path, { status: "failed", model: calls[0]?.asked ?? "" }),
  }));
  return html`<h3>Reasons of the last ${callsWords(all.length)}</h3>${shares(most, "")}<h3>The newest</h3>${failures(all.slice(0, FAILURES_SHOWN), CALLS)}<p class="pages"><a href="${CALLS.path}?status=failed">All failed calls</a></p>`;
}

/** `glance` refreshes the figures at the top. */
export function todaySection(
  glance: (visit: Visit) => Promise<Html>,
  figures: Pick<Figures, "days">,
  epochMs: () => number,
): Section {
  return {
    path: "/console",
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
      const other = searchForm(
        "/console",
        [{ name: "day", label: "Another day", note: "UTC", type: "date", value: day }],
        "Show",
      );
      const made = await glance(visit);
      const sums = await usageOf(ask, API, { by: "day", from: dayOf(todayMs - 89 * DAY_MS), limit: "100" });
      const none = html`<p class="none">Nothing was spent in this time. Each day becomes a column here.</p>`;
      const spent = await spending({ ask, api: API, path: "/console", query: request.query, todayMs, none }, sums);
      const spend = await spendOfDay(ask, day);
      return {
        title: "Overview",
        body: html`<div data-live="${TODAY_LIVE}">${made}</div>${health(await figures.days(), request.query, epochMs())}${card("What fails, and why", await unlessRefused(lastFailures(ask), ({ message }) => html`${problem(message)}`))}<h2>Who spent what on ${day}</h2>${days}${other}${spend}${spent.card}`,
      };
    },
  };
}
