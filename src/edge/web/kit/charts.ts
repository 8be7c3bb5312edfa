// SVG charts rendered on the server: columns of days, shares of a sum, use of a budget, timelines. No script is needed: every figure is also in a table.
import { type NanoSum, sumOf } from "../../../core/money.ts";
import { type Html, html, type Put } from "../html.ts";
import { callsWords, count, DAY_MS, dayOf, money, rounded, table } from "./shown.ts";

export interface DaySum {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly name: string;
  readonly nano: NanoSum;
}

/** The series of a chart that have their own color. */
const SERIES_MAX = 5;
export const OTHERS = "others";

const sumBy = (sums: readonly DaySum[]) => sumOf(sums.map(({ nano }) => nano));

/** The smallest of 1, 2, 2.5 or 5 times a power of ten that is not below the value. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return (([1, 2, 2.5, 5].find((step) => step * power >= value) ?? 10) as number) * power;
}

/** The names of the largest series, the largest first, and of all others together. */
function seriesOf(sums: readonly DaySum[]): readonly string[] {
  const byName = [...Map.groupBy(sums, ({ name }) => name)].map(([name, own]) => ({ name, nano: Number(sumBy(own)) }));
  const names = byName.sort((a, b) => b.nano - a.nano).map(({ name }) => name);
  const known = names.filter((name) => name !== OTHERS);
  return known.length < names.length || known.length > SERIES_MAX ? [...known.slice(0, SERIES_MAX), OTHERS] : known;
}

const dot = (at: number) => html`<svg class="dot" aria-hidden="true"><rect fill="var(--s${at})"/></svg>`;

/** The value of a series in a column: its height, and what people read. */
interface Part {
  readonly height: number;
  readonly shown: Put;
}

export interface Columns {
  readonly label: string;
  readonly series: readonly { readonly name: string; readonly sum?: Put }[];
  readonly columns: readonly { readonly name: string; readonly parts: readonly Part[]; readonly sum?: Put }[];
  /** A height as text, beside the gridlines. */
  readonly scale: (height: number) => string;
}

function columnHtml({ name, parts, sum = "" }: Columns["columns"][number], { series }: Columns, top: number): Html {
  let below = 0;
  const bars = parts.map(({ height }, at) => {
    const share = (height / top) * 100;
    below += share;
    return share === 0
      ? ""
      : html`<rect fill="var(--s${at})" width="100%" y="${(100 - below).toFixed(2)}%" height="${share.toFixed(2)}%"/>`;
  });
  const lines = parts.map(({ height, shown }, at) =>
    height === 0 ? "" : html`<span>${dot(at)}${series[at]?.name ?? ""}<b>${shown}</b></span>`,
  );
  return html`<li tabindex="-1"><svg aria-hidden="true">${bars}</svg><div class="tip"><span><strong>${name}</strong><b>${sum}</b></span>${lines}</div></li>`;
}

/** Stacked columns with gridlines, a legend, and the figures as a table. */
export function columnChart(chart: Columns): Html {
  const { label, series, columns, scale } = chart;
  const heightOf = (parts: readonly Part[]) => parts.reduce((sum, { height }) => sum + height, 0);
  const top = roundUp(Math.max(1, ...columns.map(({ parts }) => heightOf(parts))));
  const [first, last] = [columns[0]?.name ?? "", columns.at(-1)?.name ?? ""];
  const legend = series.map(({ name, sum = "" }, at) => html`<li>${dot(at)}${name} ${sum}</li>`);
  const rows = columns
    .filter(({ parts }) => heightOf(parts) > 0)
    .map(({ name, parts }) => [name, ...parts.map(({ shown }) => shown)]);
  const heads = ["Time (UTC)", ...series.map(({ name }) => `${name}|num`)];
  const figures = table(`${label}, as a table`, heads, rows, "There are no figures in this time.");
  return html`<div class="chart" role="group" aria-label="${label}, ${first} to ${last}. The arrow keys move along the columns." tabindex="0" data-chart><svg class="lines" aria-hidden="true"><line x1="0" x2="100%" y1="0.5" y2="0.5"/><line x1="0" x2="100%" y1="50%" y2="50%"/><line x1="0" x2="100%" y1="100%" y2="100%"/></svg><span class="tick top" aria-hidden="true">${scale(top)}</span><span class="tick half" aria-hidden="true">${scale(top / 2)}</span><ol class="cols">${columns.map((one) => columnHtml(one, chart, top))}</ol></div><p class="scale" aria-hidden="true"><span>${first}</span><span>${last}</span></p><ul class="legend">${legend}</ul><details><summary>The figures as a table</summary>${figures}</details>`;
}

/** A column for each day from `fromMs` to `toMs`, stacked by name. */
export function dayChart(label: string, sums: readonly DaySum[], fromMs: number, toMs: number): Html {
  const names = seriesOf(sums);
  const nameOf = (name: string) => (names.includes(name) ? name : OTHERS);
  const byDay = Map.groupBy(sums, ({ day }) => day);
  const days: { readonly name: string; readonly sums: readonly NanoSum[] }[] = [];
  for (let at = fromMs; at <= toMs; at += DAY_MS) {
    const own = byDay.get(dayOf(at)) ?? [];
    const sumOfName = (name: string) => sumBy(own.filter((one) => nameOf(one.name) === name));
    days.push({ name: dayOf(at), sums: names.map(sumOfName) });
  }
  return columnChart({
    label,
    series: names.map((name, at) => ({ name, sum: money(sumOf(days.map(({ sums: own }) => own[at] ?? 0))) })),
    columns: days.map(({ name, sums: own }) => ({
      name,
      sum: money(sumOf(own)),
      parts: own.map((nano) => ({ height: Number(nano), shown: money(nano) })),
    })),
    scale: rounded,
  });
}

/** A small chart for a row of a list: a column for each value. Without a label it is decorative, as the row has the figures. */
export function sparkline(values: readonly number[], label?: string): Html {
  const top = Math.max(1, ...values);
  const bars = values.map((value, at) => {
    const height = Math.max(value > 0 ? 6 : 0, (value / top) * 100).toFixed(0);
    return html`<rect x="${((at * 100) / values.length).toFixed(1)}%" y="${100 - Number(height)}%" width="${(80 / values.length).toFixed(1)}%" height="${height}%"/>`;
  });
  const name = label === undefined ? html` aria-hidden="true"` : html` role="img" aria-label="${label}"`;
  return html`<svg class="spark"${name}>${label === undefined ? "" : html`<title>${label}</title>`}${bars}</svg>`;
}

export interface Share {
  readonly name: string;
  readonly nano: NanoSum;
  readonly href?: string;
  readonly more?: string;
  /** What is shown in place of the amount. */
  readonly shown?: string;
}

/** The most shares shown. Request one more to know whether there are others. */
export const SHARES_MAX = 8;

/** Largest first, each relative to the largest. */
export function shares(all: readonly Share[], none: string): Html {
  if (all.length === 0) return html`<p class="none">${none}</p>`;
  const sorted = all.toSorted((a, b) => Number(b.nano) - Number(a.nano));
  const most = Math.max(1, Number(sorted[0]?.nano ?? 0));
  const rows = sorted.slice(0, SHARES_MAX).map(({ name, nano, href, more, shown }) => {
    const width = Math.max(0.5, (Number(nano) / most) * 100).toFixed(1);
    const title = href === undefined ? html`${name}` : html`<a href="${href}">${name}</a>`;
    const small = more === undefined ? "" : html` <span class="soft">${more}</span>`;
    return html`<li><span class="name" title="${name}">${title}${small}</span><span>${shown ?? money(nano)}</span><svg aria-hidden="true"><rect class="room" width="100%" height="5" rx="2.5"/><rect class="bar" width="${width}%" height="5" rx="2.5"/></svg></li>`;
  });
  const more = sorted.length > SHARES_MAX ? html`<p class="soft">and others that have less</p>` : "";
  return html`<ol class="shares">${rows}</ol>${more}`;
}

/** The used part of a limit, from 0 to 1 and beyond; with `isBound` false, the progress of some work, which is never too much. */
export function meter(used: number, isBound = true): Html {
  const width = Math.min(100, Math.max(0, used * 100)).toFixed(1);
  return html`<svg class="meter" aria-hidden="true"><rect class="room" width="100%" height="5" rx="2.5"/><rect class="bar${isBound && used >= 0.8 ? " high" : ""}" width="${width}%" height="5" rx="2.5"/></svg>`;
}

interface Lane {
  readonly name: string;
  readonly spans: readonly Readonly<Record<"from_ms" | "to_ms" | "calls" | "charged_nano_usd", number>>[];
}

/** A shorter span would be invisible. */
const WIDTH_MIN = 0.15;

function clock(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

/** A timeline: one lane per row, with its spans in proportion to their time; every span has its cost. */
export function lanes(rows: readonly Lane[]): Html {
  const all = rows.flatMap(({ spans }) => spans);
  const from = all.reduce((least, { from_ms: ms }) => Math.min(least, ms), Number.POSITIVE_INFINITY);
  const to = all.reduce((most, { to_ms: ms }) => Math.max(most, ms), 0);
  const part = (ms: number) => (ms / Math.max(1, to - from)) * 100;
  const lane = ({ name, spans }: Lane) => {
    const calls = spans.reduce((sum, span) => sum + span.calls, 0);
    const nano = spans.reduce((sum, span) => sum + span.charged_nano_usd, 0);
    const first = Math.min(...spans.map((span) => span.from_ms));
    const last = Math.max(...spans.map((span) => span.to_ms));
    const whole = html`<rect class="room" x="${part(first - from).toFixed(2)}%" width="${Math.max(WIDTH_MIN, part(last - first)).toFixed(2)}%" height="100%"/>`;
    const bars = spans.map((span) => {
      const words = `${callsWords(span.calls)}, ${rounded(span.charged_nano_usd)}`;
      const width = Math.max(WIDTH_MIN, part(span.to_ms - span.from_ms)).toFixed(2);
      return html`<rect class="bar" x="${part(span.from_ms - from).toFixed(2)}%" width="${width}%" height="100%"><title>${words}</title></rect>`;
    });
    const label = `${name.trim()}: ${callsWords(calls)}, ${rounded(nano)}, ${clock(first)} to ${clock(last)} UTC`;
    return html`<li><span class="name" title="${name.trim()}">${name} <span class="soft">${count(calls)}</span></span><span>${rounded(nano)}</span><svg role="img" aria-label="${label}">${whole}${bars}</svg></li>`;
  };
  return html`<ol class="shares lanes">${rows.map(lane)}</ol><p class="scale"><span>${clock(from)}</span><span>${clock(to)} UTC</span></p>`;
}
