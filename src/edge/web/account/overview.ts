// The account at a glance: the balance, how long it lasts at this pace, and who spent it on what.
import { daysLasting, type NanoSum, sumOf, sumOfCents } from "../../../core/money.ts";
import { type Html, html } from "../html.ts";
import { type Ask, Refused, withQuery } from "../kit/ask.ts";
import { type DaySum, dayChart, everyDay, SHARES_MAX, type Share, shares } from "../kit/charts.ts";
import { DAY_MS, dayOf } from "../kit/days.ts";
import type { Section, Shown, Visit } from "../kit/sections.ts";
import { card, count, money, moneyOfCents, pill, switchOf, tiles } from "../kit/shown.ts";
import type { OwnAccount } from "./answers.ts";

const SPANS = [7, 30, 90] as const;

interface UsageLine {
  readonly day?: string;
  readonly model?: string | null;
  readonly key_id?: string | null;
  readonly key_label?: string | null;
  readonly group_id?: string | null;
  readonly group_name?: string | null;
  readonly tag?: string | null;
  readonly calls: number;
  readonly charged_nano_usd: NanoSum;
}
interface Usage {
  readonly usage: readonly UsageLine[];
}

/** How long the balance lasts, in words; `spent`: the spending of the last `days` whole days. */
function runwayWords(balanceCents: number, spent: NanoSum, days: number): string {
  const left = daysLasting(sumOfCents(balanceCents), spent, days);
  if (left === null) return "nothing was spent lately";
  if (left < 1) return "less than a day at this pace";
  if (left > 3_650) return "more than ten years at this pace";
  return `about ${count(left)} ${left < 2 ? "day" : "days"} at this pace`;
}

type Reports = Record<"day" | "model" | "key" | "group" | "tag", readonly UsageLine[]>;

/** Sequential: an account may run one report at a time. */
async function reports(ask: Ask, from: string): Promise<Reports | Refused> {
  const made: Reports = { day: [], model: [], key: [], group: [], tag: [] };
  for (const by of Object.keys(made) as (keyof Reports)[]) {
    const most = by === "day" ? { limit: "100" } : { order: "amount", limit: String(SHARES_MAX + 2) };
    const told = await ask<Usage>("GET", withQuery("/api/v1/usage", { by, from, ...most }));
    if (told instanceof Refused) return told;
    made[by] = told.usage;
  }
  return made;
}

function sharesOf(
  lines: readonly UsageLine[],
  name: (line: UsageLine) => string,
  href?: (line: UsageLine) => string,
): Share[] {
  return lines.map((line) => ({
    name: name(line),
    nano: line.charged_nano_usd,
    more: `${count(line.calls)} ${line.calls === 1 ? "call" : "calls"}`,
    ...(href === undefined ? {} : { href: href(line) }),
  }));
}

function summary(account: OwnAccount, days: readonly DaySum[], now: string): Html {
  const yesterday = dayOf(Date.parse(now) - DAY_MS);
  const of = (day: string) => days.find((one) => one.day === day)?.nano ?? 0;
  const lately = days.slice(-8);
  // Leave out the unfinished day, except on the first day, when there is no other.
  const past = lately.filter(({ day, nano }) => day < now && Number(nano) > 0).length > 0;
  const whole = past ? lately.filter(({ day }) => day < now) : lately.slice(-1);
  const pace = sumOf(whole.map(({ nano }) => nano));
  const kind = account.kind === "sandbox" ? html` ${pill("sandbox: play money", "warn")}` : "";
  return html`${tiles([
    {
      name: "Balance",
      value: moneyOfCents(account.balance_cents),
      more: runwayWords(account.balance_cents, pace, Math.max(1, whole.length)),
    },
    { name: "Held by running work", value: moneyOfCents(account.held_cents) },
    { name: "Today", value: money(of(now)), more: "UTC" },
    { name: "Yesterday", value: money(of(yesterday)), more: yesterday },
  ])}<p class="soft">Account <code>${account.account_id}</code>${kind}</p>`;
}

async function show({ request, ask }: Visit, nowMs: number): Promise<Shown | Refused> {
  const account = await ask<OwnAccount>("GET", "/api/v1/account");
  if (account instanceof Refused) return account;
  const span = SPANS.find((days) => String(days) === request.query.get("days")) ?? 30;
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const fromMs = today - (span - 1) * DAY_MS;
  const made = await reports(ask, dayOf(fromMs));
  if (made instanceof Refused) return made;
  const { day, model, key, group, tag } = made;
  const days = everyDay(
    day.map((line) => ({ day: line.day ?? "", nano: line.charged_nano_usd })),
    fromMs,
    today,
  );
  const from = dayOf(fromMs);
  const found = (query: Record<string, string>) => withQuery("/account/transactions", { from, ...query });
  const nothing = "Nothing was spent in this time.";
  const spans = SPANS.map((days) => ({ href: `/account?days=${days}`, name: `${days} days`, isOn: days === span }));
  const calls = day.reduce((sum, line) => sum + line.calls, 0);
  const chart =
    calls === 0
      ? html`<p class="none">${nothing} <a href="/account/start">Make a first call</a> or <a href="/try">try a model</a>.</p>`
      : html`<p>${money(sumOf(day.map((line) => line.charged_nano_usd)))} for ${count(calls)} calls</p>${dayChart("Spent by day", days)}`;
  return {
    title: "Your account",
    body: html`${summary(account, days, dayOf(today))}${switchOf("Time", spans)}${card("Spent by day", chart)}<div class="grid">
${card(
  "By model or action",
  shares(
    sharesOf(
      model,
      (line) => line.model ?? "other",
      (line) => found({ model: line.model ?? "" }),
    ),
    nothing,
  ),
)}
${card(
  "By key",
  shares(
    sharesOf(
      key,
      (line) => line.key_label ?? line.key_id ?? "a key that is gone",
      (line) => found({ key: line.key_id ?? "" }),
    ),
    nothing,
  ),
)}
${card(
  "By group",
  shares(
    sharesOf(
      group.filter(({ group_id }) => group_id !== null),
      (line) => line.group_name ?? line.group_id ?? "",
    ),
    "No group has spent anything. Groups bound keys together; they are made on the page of budgets.",
  ),
)}
${card(
  "By tag",
  shares(
    sharesOf(tag, (line) => line.tag ?? "without a tag"),
    "No call had a tag. Send x-tollgate-tags: team=red with a call to tell its spend apart.",
  ),
)}
</div>`,
  };
}

export function overviewSection(epochMs: () => number): Section {
  return { path: "/account", place: "/account", show: (visit) => show(visit, epochMs()) };
}
