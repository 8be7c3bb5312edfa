// A timeline as server-made SVG: one lane for each row, spans in proportion to their time. No scripts; every span states its cost.
import { type Html, html } from "../html.ts";
import { callsWords, count, rounded } from "./shown.ts";

export interface LaneSpan {
  readonly from_ms: number;
  readonly to_ms: number;
  readonly calls: number;
  readonly charged_nano_usd: number;
}

export interface Lane {
  readonly name: string;
  readonly spans: readonly LaneSpan[];
}

/** A shorter span would be invisible. */
const WIDTH_MIN = 0.15;

function clock(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

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
