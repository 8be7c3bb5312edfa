// Spending by day, divided by model, provider or key: the same chart for an account and for the operator.
import { lessOf, type NanoSum, sumOf } from "../../core/money.ts";
import { type Html, html } from "./html.ts";
import { type Ask, bodyOr, withQuery } from "./kit/ask.ts";
import { type DaySum, dayChart, OTHERS, sparkline } from "./kit/charts.ts";
import { callsWords, DAY_MS, dayOf, money, rounded, switchOf } from "./kit/shown.ts";

const SPANS = [7, 30, 90] as const;
const SPLITS = [
  ["model", "Model or action"],
  ["provider", "Provider"],
  ["key", "Key"],
] as const;
/** The largest sums of a day and a name; the rest of a day is shown as others. */
const LINES_MAX = "1000";

export interface UsageLine {
  readonly day?: string;
  readonly model?: string | null;
  readonly provider?: string | null;
  readonly key_id?: string | null;
  readonly key_label?: string | null;
  readonly account_id?: string | null;
  readonly account_name?: string | null;
  readonly group_id?: string | null;
  readonly group_name?: string | null;
  readonly tag?: string | null;
  readonly calls: number;
  readonly charged_nano_usd: NanoSum;
}
export type Field = (typeof SPLITS)[number][0] | "account" | "group" | "tag";

/** The name of a line's field, as people know it. */
export function nameIn(line: UsageLine, field: Field): string {
  if (field === "key") return line.key_label ?? line.key_id ?? "a deleted key";
  if (field === "account") return line.account_name ?? line.account_id ?? "a deleted account";
  if (field === "group") return line.group_name ?? line.group_id ?? "";
  if (field === "tag") return line.tag ?? "without a tag";
  return line[field] ?? "other";
}

export async function usageOf<Line extends UsageLine = UsageLine>(
  ask: Ask,
  api: string,
  query: Readonly<Record<string, string>>,
): Promise<readonly Line[]> {
  return (await ask<{ readonly usage: readonly Line[] }>("GET", withQuery(api, query))).usage;
}

/** The listed sums, and for each day what they leave of its whole. */
function daySums(days: readonly UsageLine[], split: readonly UsageLine[], field: Field): readonly DaySum[] {
  const listed = split.map((line) => ({ day: line.day ?? "", name: nameIn(line, field), nano: line.charged_nano_usd }));
  const byDay = Map.groupBy(listed, ({ day }) => day);
  const rest = days.map(({ day = "", charged_nano_usd }) => {
    const known = sumOf((byDay.get(day) ?? []).map(({ nano }) => nano));
    return { day, name: OTHERS, nano: lessOf(charged_nano_usd, known) };
  });
  return [...listed, ...rest.filter(({ nano }) => nano !== "0")];
}

/** The days that the small charts in lists of keys and accounts cover. */
export const TREND_DAYS = 14;

/** A small chart of what each key or account spent lately; one report for all of them. */
export async function trends(
  ask: Ask,
  api: string,
  { by, ids, nowMs }: { readonly by: "key" | "account"; readonly ids: readonly string[]; readonly nowMs: number },
): Promise<(id: string) => Html | string> {
  if (ids.length === 0) return () => "";
  const days = Array.from({ length: TREND_DAYS }, (_, at) => dayOf(nowMs - (TREND_DAYS - 1 - at) * DAY_MS));
  const asked = { by: `${by},day`, only: ids.join(), from: days[0] ?? "", order: "amount", limit: LINES_MAX };
  const byId = Map.groupBy(await bodyOr(usageOf(ask, api, asked), []), (line) => line[`${by}_id`] ?? "");
  return (id) => {
    const own = byId.get(id) ?? [];
    const sum = sumOf(own.map((line) => line.charged_nano_usd));
    const values = days.map((day) => Number(own.find((line) => line.day === day)?.charged_nano_usd ?? 0));
    return own.length === 0 ? "" : sparkline(values, `${rounded(sum)} in ${TREND_DAYS} days`);
  };
}

export interface SpendingOrder {
  readonly ask: Ask;
  /** The endpoint of the usage report. */
  readonly api: string;
  /** The page that the chart is on; its query chooses the time and the division. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly todayMs: number;
  readonly none: Html;
}

export interface Spending {
  readonly card: Html;
  readonly from: string;
}

/** A card with the chart; `days`: the sum of each day of the last 90. */
export async function spending(order: SpendingOrder, days: readonly UsageLine[]): Promise<Spending> {
  const { ask, api, path, query, todayMs, none } = order;
  const span = SPANS.find((one) => String(one) === query.get("days")) ?? 30;
  const [split, name] = SPLITS.find(([field]) => field === query.get("split")) ?? SPLITS[0];
  const fromMs = todayMs - (span - 1) * DAY_MS;
  const from = dayOf(fromMs);
  const lines = await usageOf(ask, api, { by: `day,${split}`, from, order: "amount", limit: LINES_MAX });
  const shown = days.filter(({ day = "" }) => day >= from);
  const calls = shown.reduce((sum, line) => sum + line.calls, 0);
  const to = (more: Record<string, string>) => withQuery(path, { days: String(span), split, ...more });
  const spans = SPANS.map((one) => ({ href: to({ days: String(one) }), name: `${one} days`, isOn: one === span }));
  const splits = SPLITS.map(([field, words]) => ({ href: to({ split: field }), name: words, isOn: field === split }));
  const sum = html`<p>${money(sumOf(shown.map((line) => line.charged_nano_usd)))} <span class="soft">for ${callsWords(calls)}</span></p>`;
  const label = `Spending by day and ${name.toLowerCase()}`;
  const chart = calls === 0 ? none : dayChart(label, daySums(shown, lines, split), fromMs, todayMs);
  const head = html`<header><h2>Spending</h2>${sum}${switchOf("Time", spans)}${switchOf("Divide by", splits)}</header>`;
  return { card: html`<section class="card">${head}${chart}</section>`, from };
}
