// Today at a glance: spending, margin, losses, errors and first-token latency, refreshed while the page is open; and who spent most on any
// day.
import { sumOf } from "../../../core/money.ts";
import { type Html, html } from "../html.ts";
import { type Ask, bodyOr, Refused, withQuery } from "../kit/ask.ts";
import { SHARES_MAX, shares } from "../kit/charts.ts";
import { DAY_MS, dayOf } from "../kit/days.ts";
import { field } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import { card, count, money, problem, switchOf, tiles } from "../kit/shown.ts";
import type { Usage, UsageLine } from "./answers.ts";
import { type Buckets, bucketsOf, quantile, seriesIn, seriesSum, since } from "./metrics-read.ts";

/** Data shared by all open consoles is read once per this interval. */
const KEPT_MS = 4_000;
/** The period of the first-token latencies. */
const LATELY_MS = 5 * 60_000;
const FIRST_TOKEN = "tollgate_attempt_first_token_seconds_bucket";
const NAMES = ["tollgate_outcomes_total", "tollgate_in_flight", "tollgate_route_resting", FIRST_TOKEN];
const GOOD = ["success", "replayed", "left_after_content"];
export const TODAY_LIVE = "/console/live";

async function usageOf(ask: Ask, by: string, query: Readonly<Record<string, string>>) {
  const told = await ask<Usage>("GET", withQuery("/admin/v1/usage", { by, ...query }));
  return told instanceof Refused ? told : told.usage;
}

/** The largest spenders, however many there are. */
const largest = (ask: Ask, by: string, query: Readonly<Record<string, string>>) =>
  usageOf(ask, by, { ...query, order: "amount", limit: String(SHARES_MAX + 1) });

function seconds(value: number | null): string {
  if (value === null) return "-";
  return value === Number.POSITIVE_INFINITY
    ? "longer"
    : `≤ ${value >= 1 ? value : `${Math.round(value * 1_000)} m`}${value >= 1 ? " " : ""}s`;
}

const sum = (lines: readonly UsageLine[], of: "charged" | "margin" | "absorbed") =>
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
    const lines = await usageOf(ask, "day", { from: day });
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
      { name: "Routes that rest", value: count(seriesSum(series, "tollgate_route_resting")) },
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

async function spendOfDay(ask: Ask, day: string): Promise<Html | Refused> {
  const during = { from: day, to: day };
  const accounts = await largest(ask, "account", during);
  if (accounts instanceof Refused) return accounts;
  const keys = await largest(ask, "key", during);
  if (keys instanceof Refused) return keys;
  const models = await largest(ask, "model", during);
  if (models instanceof Refused) return models;
  const play = await largest(ask, "account", { ...during, sandbox: "1" });
  if (play instanceof Refused) return play;
  const share = (line: UsageLine, name: string, href?: string) => ({
    name,
    nano: line.charged_nano_usd,
    more: `${count(line.calls)} ${line.calls === 1 ? "call" : "calls"}`,
    ...(href === undefined ? {} : { href }),
  });
  const ofAccount = (line: UsageLine) =>
    share(
      line,
      line.account_name ?? line.account_id ?? "gone",
      `/console/accounts/${encodeURIComponent(line.account_id ?? "")}`,
    );
  const nothing = `Nothing was spent on ${day}.`;
  return html`<div class="grid">
${card("Accounts, the largest first", shares(accounts.map(ofAccount), nothing))}
${card(
  "Keys",
  shares(
    keys.map((line) =>
      share(
        line,
        `${line.key_label ?? line.key_id ?? "gone"} of ${line.account_name ?? ""}`,
        `/console/accounts/${encodeURIComponent(line.account_id ?? "")}`,
      ),
    ),
    nothing,
  ),
)}
${card(
  "Models and actions",
  shares(
    models.map((line) => share(line, line.model ?? "other")),
    nothing,
  ),
)}
${card("Sandbox accounts, play money", shares(play.map(ofAccount), nothing))}
</div>`;
}

export function todaySection(glance: (visit: Visit) => Promise<Html>, epochMs: () => number): Section {
  return {
    path: "/console",
    place: "/console",
    async show(visit) {
      const [today, yesterday] = [dayOf(epochMs()), dayOf(epochMs() - DAY_MS)];
      const asked = visit.request.query.get("day") ?? today;
      const day = /^\d{4}-\d{2}-\d{2}$/.test(asked) ? asked : today;
      const days = switchOf("Day", [
        { href: "/console", name: "Today", isOn: day === today },
        { href: `/console?day=${yesterday}`, name: "Yesterday", isOn: day === yesterday },
      ]);
      const other = html`<form method="get" action="/console"><div class="fields">${field({ name: "day", label: "Another day", note: "UTC", type: "date", value: day })}<div><button class="plain">Show</button></div></div></form>`;
      const made = await glance(visit);
      const spend = await spendOfDay(visit.ask, day);
      if (spend instanceof Refused) return spend;
      return {
        title: "Today at a glance",
        body: html`<div data-live="${TODAY_LIVE}">${made}</div><h2>Who spent what on ${day}</h2>${days}${spend}<section class="card">${other}</section>`,
      };
    },
  };
}
