// The table of models, to filter, sort and compare: prices, limits, and what this gateway measured in thirty days.
import { type Catalog, EVERYBODY, type SoldEmbedding, type SoldModel } from "../../catalog/catalog.ts";
import { CONTENT_KINDS, modelFacts } from "../../catalog/model-facts.ts";
import { usdPerMillionText } from "../../core/money.ts";
import { addSums, type DayFigures, firstTokenMs, noSums, type Sums } from "../../platform/observe/figures.ts";
import { type Html, html, type Put } from "./html.ts";
import { sparkline } from "./kit/charts.ts";
import { field } from "./kit/forms.ts";
import { percent, pill, seconds, table } from "./kit/shown.ts";
import { logo } from "./logos.ts";

export type Sold = SoldModel | SoldEmbedding;

/** What was measured of a model or an action in thirty days. */
export interface Measured {
  /** Of one provider, or of all of them. */
  attempts(name: string, provider?: string): Sums;
  /** Of whole calls, whichever provider served. */
  calls(name: string): Sums;
  /** The calls of each day, the oldest first. */
  daily(name: string): readonly number[];
}

export function measuredIn(days: readonly DayFigures[]): Measured {
  const sums = new Map<string, Sums>();
  const add = (name: string, more: Sums) => sums.set(name, addSums(sums.get(name) ?? noSums(), more));
  for (const [name, one] of days.flatMap(({ routes }) => [...routes])) {
    add(name, one);
    if (!name.endsWith(" *")) add(name.replace(/ [^ ]*$/, " +"), one);
  }
  const of = (name: string) => sums.get(name) ?? noSums();
  return {
    attempts: (name, provider = "+") => of(`${name} ${provider}`),
    calls: (name) => of(`${name} *`),
    daily: (name) => days.map(({ routes }) => routes.get(`${name} *`)?.calls ?? 0).toReversed(),
  };
}

const speedOf = ({ tokens, tokensMs }: Sums) => (tokensMs === 0 ? null : (tokens * 1_000) / tokensMs);

/** Time to the first token, tokens a second, and the share of attempts that were answered. */
export const MEASURED_COLUMNS = ["First token|num", "Tokens/s|num", "Answered|num"];
export function measuredCells(sums: Sums): readonly Put[] {
  const speed = speedOf(sums);
  const answered = sums.calls === 0 ? "-" : percent(1 - sums.failed / sums.calls);
  return [seconds(firstTokenMs(sums, 0.5)), speed === null ? "-" : speed.toFixed(0), answered];
}

/** Prices of one column with their decimal points below each other: shorter fractions are filled with spaces as wide as a digit. */
export function aligned(prices: readonly string[]): readonly string[] {
  const parts = prices.map((price) => [price.split(".")[0] ?? "", (price.split(".")[1] ?? "").padEnd(2, "0")] as const);
  const most = Math.max(0, ...parts.map(([, fraction]) => fraction.length));
  return parts.map(([whole, fraction]) => `$${whole}.${fraction.padEnd(most, "\u2007")}`);
}

/** Whether it can be called here: a dot, with words for those who do not see it. */
export function state(configured: boolean): Html {
  return configured
    ? html`<span class="on"></span>`
    : html`<span class="off" title="Not configured here">not configured</span>`;
}

export interface TableParts {
  readonly catalog: Catalog;
  readonly measured: Measured;
}

interface Column {
  /** With its kinds after a bar, as of `table`. */
  readonly name: string;
  readonly cell: (model: Sold, parts: TableParts) => Put;
  /** Models can be sorted by it, the smallest first. */
  readonly rank?: (model: Sold, parts: TableParts) => number;
  /** The cell is the text of a price, aligned with those of other models. */
  readonly isPrice?: true;
}

function price(name: string, rate: "input" | "output" | "cacheRead"): Column {
  const cell = ({ kind, sale }: Sold) => (kind === "chat" || rate === "input" ? usdPerMillionText(sale[rate]) : "");
  return { name: `${name}|num`, isPrice: true, cell, rank: ({ sale }) => sale[rate] };
}
const modalities = (model: Sold, { catalog }: TableParts) => modelFacts(model, catalog).architecture;
const measuredAt = (at: number, rank: (sums: Sums) => number): Column => ({
  name: `${MEASURED_COLUMNS[at]} large`,
  cell: ({ slug }, { measured }) => measuredCells(measured.attempts(slug))[at] ?? "",
  rank: ({ slug }, { measured }) => rank(measured.attempts(slug)),
});

/** What models are compared by; the first ones are shown by default. */
const COLUMNS: Readonly<Record<string, Column>> = {
  input: price("Input", "input"),
  output: price("Output", "output"),
  context: {
    name: "Context|num",
    cell: ({ contextTokens }) => tokensShown(contextTokens),
    rank: ({ contextTokens }) => -contextTokens,
  },
  takes: { name: "Takes|large", cell: (...of) => modalities(...of).input_modalities.join(", ") },
  first: measuredAt(0, (sums) => firstTokenMs(sums, 0.5) ?? Number.POSITIVE_INFINITY),
  speed: measuredAt(1, (sums) => -(speedOf(sums) ?? 0)),
  answered: measuredAt(2, ({ calls, failed }) => (calls === 0 ? 1 : failed / calls)),
  calls: {
    name: "30 days|large",
    cell: ({ slug }, { measured }) => sparkline(measured.daily(slug)),
    rank: ({ slug }, { measured }) => -measured.calls(slug).calls,
  },
  cached: price("Cached input", "cacheRead"),
  answer: {
    name: "Longest answer|num",
    cell: ({ outputTokensMax }) => (outputTokensMax === null ? "" : tokensShown(outputTokensMax)),
    rank: ({ outputTokensMax }) => -(outputTokensMax ?? 0),
  },
  gives: { name: "Gives|large", cell: (...of) => modalities(...of).output_modalities.join(", ") },
  providers: {
    name: "Providers|large",
    cell: ({ offers }) => [...new Set(offers.map(({ adapter }) => adapter.spec.name))].join(", ") || "-",
  },
};
const DEFAULT_COLUMNS = Object.keys(COLUMNS).slice(0, 8);

export function modelTable(
  models: readonly Sold[],
  parts: TableParts,
  chosen: readonly string[] = DEFAULT_COLUMNS,
): Html {
  const columns = chosen.flatMap((id) => COLUMNS[id] ?? []);
  const cells = columns.map(({ cell, isPrice }) => {
    const all = models.map((model) => cell(model, parts));
    return isPrice ? aligned(all as string[]).map((one) => html`<span class="money">${one}</span>`) : all;
  });
  const rows = models.map(({ slug, kind, offers }, at) => [
    html`${state(offers.length > 0)} ${logo(slug.split("/")[0] ?? "")} <a class="row name" id="${slug}" href="/catalog/models/${slug}">${slug}</a>${kind === "chat" ? "" : html` ${pill(kind)}`}`,
    ...cells.map((all) => all[at] ?? ""),
  ]);
  const names = ["Model", ...columns.map(({ name }) => name)];
  return table("Models, prices in USD per million tokens", names, rows, "No model matches. Change a filter.");
}

/** Cached: creating one takes longer than the rest of a line. */
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact" });

/** Tokens in short form: `200k`, `1m`. */
export function tokensShown(count: number): string {
  return COMPACT.format(count).toLowerCase();
}

const nameOf = ({ name }: Column) => name.replace(/\|.*/, "");
const SORTS = [
  ["", "Name"] as const,
  ...Object.entries(COLUMNS).flatMap(([id, one]) => (one.rank === undefined ? [] : [[id, nameOf(one)] as const])),
];
const CONTEXTS = ["", "32000", "128000", "200000", "1000000"].map(
  (one) => [one, one === "" ? "any" : `${tokensShown(Number(one))} or more`] as const,
);
const TAKES = [["", "anything"] as const, ...CONTENT_KINDS.map(([name]) => [name, `${name}s`] as const)];

function box(name: string, value: string, isOn: boolean, words: string): Html {
  return html`<label class="check"><input type="checkbox" name="${name}" value="${value}"${isOn ? html` checked` : ""}> ${words}</label>`;
}

/** The body of the page that compares models; its query filters and sorts them and chooses the columns. */
export function comparison(query: URLSearchParams, catalog: Catalog, measured: Measured): Html {
  const parts = { catalog, measured };
  const text = (name: string) => (query.get(name) ?? "").trim().slice(0, 100);
  const [words, takes, context, most, sort] = [text("q"), text("takes"), text("context"), text("price"), text("sort")];
  const named = [...new Set(query.getAll("column"))].filter((id) => Object.hasOwn(COLUMNS, id));
  const columns = named.length === 0 ? DEFAULT_COLUMNS : named;
  const isOn = query.has("configured");
  const rank = Object.hasOwn(COLUMNS, sort) ? COLUMNS[sort]?.rank : undefined;
  const left = catalog
    .listed(EVERYBODY)
    .filter((model) => model.slug.includes(words.toLowerCase()) && (!isOn || model.offers.length > 0))
    .filter(({ contextTokens }) => contextTokens >= (Number(context) || 0))
    .filter(({ sale }) => most === "" || !(Number(usdPerMillionText(sale.input)) > Number(most)))
    .filter((model) => takes === "" || modalities(model, parts).input_modalities.includes(takes))
    .toSorted((a, b) => (rank === undefined ? 0 : rank(a, parts) - rank(b, parts)));
  const fields = [
    { name: "q", label: "Part of the name", value: words },
    { name: "takes", label: "Takes", value: takes, options: TAKES },
    { name: "context", label: "Context", value: context, options: CONTEXTS },
    { name: "price", label: "Input at most, $", type: "number" as const, value: most },
    { name: "sort", label: "Sort by", value: sort, options: SORTS },
  ];
  const boxes = Object.entries(COLUMNS).map(([id, one]) => box("column", id, columns.includes(id), nameOf(one)));
  const form = html`<form class="filters" method="get" action="/catalog/models" aria-label="Filter">
${fields.map((one) => field(one))}${box("configured", "1", isOn, "Configured only")}<div class="buttons"><button>Filter</button><a class="button plain" href="/catalog/models">Clear</a></div>
<details><summary>Columns</summary><div class="chips">${boxes}</div></details></form>`;
  return html`${form}<p class="soft" role="status">${left.length} models</p>${modelTable(left, parts, columns)}`;
}
