// The account at a glance: the balance, how long it lasts at this pace, and who spent it on what.
import { daysLasting, sumOf, sumOfCents } from "../../../core/money.ts";
import { type Html, html } from "../html.ts";
import { type Ask, withQuery } from "../kit/ask.ts";
import { SHARES_MAX, type Share, shares } from "../kit/charts.ts";
import type { Section, Shown, Visit } from "../kit/sections.ts";
import { callsWords, card, count, DAY_MS, dayOf, money, moneyOfCents, pill, tiles } from "../kit/shown.ts";
import { type Field, nameIn, spending, type UsageLine, usageOf } from "../spending.ts";
import type { OwnAccount } from "./answers.ts";

const API = "/api/v1/usage";
const DAYS_MAX = 90;
/** The pace of a shorter time says little about the next weeks. */
const PACE_DAYS = 7;
const NOTHING = "Nothing was spent in this time.";

type Reports = Record<"model" | "key" | "group" | "tag", readonly UsageLine[]>;

/** Sequential: an account may run one report at a time. */
async function reports(ask: Ask, from: string): Promise<Reports> {
  const made: Reports = { model: [], key: [], group: [], tag: [] };
  for (const by of Object.keys(made) as (keyof Reports)[])
    made[by] = await usageOf(ask, API, { by, from, order: "amount", limit: String(SHARES_MAX + 2) });
  return made;
}

/** How long the balance lasts at the pace of the last whole week. */
function runwayWords(balanceCents: number, days: readonly UsageLine[], todayMs: number): string {
  const [first] = days.map(({ day = "" }) => day).sort();
  if (first === undefined) return "nothing was spent lately";
  const [from, to] = [dayOf(todayMs - PACE_DAYS * DAY_MS), dayOf(todayMs)];
  if (first > from) return "after a week of calls: how long it lasts";
  const week = days.filter(({ day = "" }) => day >= from && day < to);
  const spent = sumOf(week.map((line) => line.charged_nano_usd));
  const left = daysLasting(sumOfCents(balanceCents), spent, PACE_DAYS);
  if (left === null) return "nothing was spent lately";
  if (left < 1) return "less than a day at this pace";
  if (left > 3_650) return "more than ten years at this pace";
  return `about ${count(left)} ${left < 2 ? "day" : "days"} at this pace`;
}

function summary(account: OwnAccount, days: readonly UsageLine[], todayMs: number): Html {
  const of = (atMs: number) => days.find(({ day }) => day === dayOf(atMs))?.charged_nano_usd ?? 0;
  return tiles([
    ["Balance", moneyOfCents(account.balance_cents), runwayWords(account.balance_cents, days, todayMs)],
    ["Held by running calls", moneyOfCents(account.held_cents)],
    ["Spent today", money(of(todayMs)), `${dayOf(todayMs)} UTC`],
    ["Spent yesterday", money(of(todayMs - DAY_MS)), dayOf(todayMs - DAY_MS)],
  ]);
}

function sharesOf(lines: readonly UsageLine[], field: Field, href?: (line: UsageLine) => string): readonly Share[] {
  return lines.map((line) => ({
    name: nameIn(line, field),
    nano: line.charged_nano_usd,
    more: callsWords(line.calls),
    ...(href === undefined ? {} : { href: href(line) }),
  }));
}

function shareCards({ model, key, group, tag }: Reports, from: string): Html {
  const found = (query: Record<string, string>) => withQuery("/account/transactions", { from, ...query });
  const models = sharesOf(model, "model", (line) => found({ model: line.model ?? "" }));
  const keys = sharesOf(key, "key", (line) => found({ key: line.key_id ?? "" }));
  const inGroups = group.filter(({ group_id }) => group_id !== null);
  return html`<div class="grid">
${card("By model or action", shares(models, NOTHING))}
${card("By key", shares(keys, NOTHING))}
${card("By group", shares(sharesOf(inGroups, "group"), "No group has spent anything. A group limits several keys together; make one under Budgets."))}
${card("By tag", shares(sharesOf(tag, "tag"), "No call had a tag. Send the header x-tollgate-tags: team=red to tell its spending apart."))}
</div>`;
}

async function show({ request, ask }: Visit, nowMs: number): Promise<Shown> {
  const account = await ask<OwnAccount>("GET", "/api/v1/account");
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const days = await usageOf(ask, API, { by: "day", from: dayOf(todayMs - (DAYS_MAX - 1) * DAY_MS), limit: "100" });
  const none = html`<p class="none">${NOTHING} Each day becomes a column here. <a href="/account/start">Make a first call</a> or <a href="/try">try a model</a>.</p>`;
  const spent = await spending({ ask, api: API, path: "/account", query: request.query, todayMs, none }, days);
  const made = await reports(ask, spent.from);
  const kind = account.kind === "sandbox" ? pill("sandbox: play money", "warn") : "";
  return {
    title: "Overview",
    body: html`<p class="lead">Account <code>${account.account_id}</code> ${kind}</p>${summary(account, days, todayMs)}${spent.card}${shareCards(made, spent.from)}`,
  };
}

export function overviewSection(epochMs: () => number): Section {
  return { path: "/account", show: (visit) => show(visit, epochMs()) };
}
