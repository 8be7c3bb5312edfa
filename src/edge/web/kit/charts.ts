// SVG charts rendered on the server: bars by day, shares of a sum, use of a budget. No scripts; every bar states its value.
import { type NanoSum, sumOf, usdTextOfSum } from "../../../core/money.ts";
import { type Html, html } from "../html.ts";
import { DAY_MS, dayOf } from "./days.ts";
import { money, rounded } from "./shown.ts";

const WIDTH = 720;
const BASE = 100;

export interface DaySum {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly nano: NanoSum;
}

/** Every day in the range, including those without a sum. */
export function everyDay(sums: readonly DaySum[], fromMs: number, toMs: number): readonly DaySum[] {
  const known = new Map(sums.map(({ day, nano }) => [day, nano]));
  const days: DaySum[] = [];
  for (let at = fromMs; at <= toMs; at += DAY_MS) {
    const day = dayOf(at);
    days.push({ day, nano: known.get(day) ?? 0 });
  }
  return days;
}

/** One bar per day. */
export function dayChart(label: string, days: readonly DaySum[]): Html {
  const most = days.map(({ nano }) => nano).reduce((a, b) => (Number(b) > Number(a) ? b : a), 0);
  const step = WIDTH / Math.max(1, days.length);
  const bars = days.map(({ day, nano }, at) => {
    const height = Math.round((Number(nano) / Math.max(1, Number(most))) * 92);
    const x = (at * step + step * 0.12).toFixed(1);
    return html`<rect class="bar" x="${x}" y="${BASE - height}" width="${(step * 0.76).toFixed(1)}" height="${height}" rx="2"><title>${day}: ${usdTextOfSum(nano)} USD</title></rect>`;
  });
  const first = days[0]?.day ?? "";
  const last = days.at(-1)?.day ?? "";
  const sum = usdTextOfSum(sumOf(days.map(({ nano }) => nano)));
  const words = `${label}, ${first} to ${last}: ${sum} USD in all, at most ${usdTextOfSum(most)} USD a day`;
  return html`<p class="scale" aria-hidden="true"><span>${Number(most) === 0 ? "" : rounded(most)}</span></p><svg class="chart" viewBox="0 0 ${WIDTH} ${BASE}" role="img" aria-label="${words}"><line class="axis" x1="0" x2="${WIDTH}" y1="${BASE}" y2="${BASE}"/>${bars}</svg><p class="scale" aria-hidden="true"><span>${first}</span><span>${last}</span></p>`;
}

export interface Share {
  readonly name: string;
  readonly nano: NanoSum;
  readonly href?: string;
  readonly more?: string;
}

/** The most shares shown. Request one more to know whether there are others. */
export const SHARES_MAX = 8;

/** Largest first, each relative to the largest. */
export function shares(all: readonly Share[], none: string): Html {
  if (all.length === 0) return html`<p class="none">${none}</p>`;
  const sorted = all.toSorted((a, b) => Number(b.nano) - Number(a.nano));
  const most = Math.max(1, Number(sorted[0]?.nano ?? 0));
  const rows = sorted.slice(0, SHARES_MAX).map(({ name, nano, href, more }) => {
    const width = Math.max(0.5, (Number(nano) / most) * 100).toFixed(1);
    const title = href === undefined ? html`${name}` : html`<a href="${href}">${name}</a>`;
    const small = more === undefined ? "" : html` <span class="soft">${more}</span>`;
    return html`<li><span class="name" title="${name}">${title}${small}</span>${money(nano)}<svg aria-hidden="true"><rect class="room" width="100%" height="6" rx="3"/><rect class="bar" width="${width}%" height="6" rx="3"/></svg></li>`;
  });
  const more = sorted.length > SHARES_MAX ? html`<p class="soft">and others that have less</p>` : "";
  return html`<ol class="shares">${rows}</ol>${more}`;
}

/** The used part of a limit, from 0 to 1 and beyond; with `isBound` false, the progress of some work, which is never too much. */
export function meter(used: number, isBound = true): Html {
  const width = Math.min(100, Math.max(0, used * 100)).toFixed(1);
  return html`<svg class="meter" aria-hidden="true"><rect class="room" width="100%" height="6" rx="3"/><rect class="bar${isBound && used >= 0.8 ? " high" : ""}" width="${width}%" height="6" rx="3"/></svg>`;
}
