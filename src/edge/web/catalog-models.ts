// The table of models, to filter, sort and compare: prices, limits, and what this gateway measured in thirty days.
import { type Catalog, EVERYBODY, type SoldEmbedding, type SoldModel } from "../../catalog/catalog.ts";
import { CONTENT_KINDS, modelFacts } from "../../catalog/model-facts.ts";
import { usdPerMillionText } from "../../core/money.ts";
import { addSums, type DayFigures, firstTokenMs, noSums, type Sums } from "../../platform/observe/figures.ts";
import { type Html, html, type Put } from "./html.ts";
import { sparkline } from "./kit/charts.ts";
import { field } from "./kit/forms.ts";
import { percent, pill, seconds, table } from "./kit/shown.ts";

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

/** The initials of a name. */
export function logo(name: string): Html {
  const letters = name.replace(/[^\p{L}\p{N}]/gu, "").slice(0, 2);
  return html`<span class="logo" aria-hidden="true">${letters}</span>`;
}

/** Whether it can be called here: a dot, with words for those who do not see it. */
export function state(configured: boolean): Html {
  return configured
    ? html`<span class="on"></span>`
    : html`<span class="off" title="Not configured here">not configured</span>`;
}

interface TableParts {
  readonly catalog: Catalog;
  readonly measured: Measured;
  /** Links may lead to its rows. */
  readonly hasIds?: boolean;
}

/** The table of these models. */
export function modelTable(models: readonly Sold[], { catalog, measured, hasIds = false }: TableParts): Html {
  const inputs = aligned(models.map(({ sale }) => usdPerMillionText(sale.input)));
  const outputs = aligned(models.map(({ sale }) => usdPerMillionText(sale.output)));
  const columns = [
    "Model",
    "Input|num",
    "Output|num",
    "Context|num",
    "Takes|large",
    ...MEASURED_COLUMNS.map((column) => `${column} large`),
    "30 days|large",
  ];
  const rows = models.map((model, at) => {
    const { slug, kind, contextTokens, offers } = model;
    return [
      html`${state(offers.length > 0)} ${logo(slug)} <a class="row name"${hasIds ? html` id="${slug}"` : ""} href="/catalog/models/${slug}">${slug}</a>${kind === "chat" ? "" : html` ${pill(kind)}`}`,
      html`<span class="money">${inputs[at] ?? ""}</span>`,
      kind === "chat" ? html`<span class="money">${outputs[at] ?? ""}</span>` : "",
      tokensShown(contextTokens),
      modelFacts(model, catalog).architecture.input_modalities.join(", "),
      ...measuredCells(measured.attempts(slug)),
      sparkline(measured.daily(slug)),
    ];
  });
  return table("Models, prices in USD per million tokens", columns, {
    rows,
    none: "No model matches. Change a filter.",
  });
}

/** Cached: creating one takes longer than the rest of a line. */
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact" });

/** Tokens in short form: `200k`, `1m`. */
export function tokensShown(count: number): string {
  return COMPACT.format(count).toLowerCase();
}

type Rank = (model: Sold, measured: Measured) => number;
/** Smallest first. */
const SORTS: Readonly<Record<string, readonly [words: string, rank: Rank]>> = {
  "": ["Name", () => 0],
  input: ["Input price", ({ sale }) => sale.input],
  output: ["Output price", ({ sale }) => sale.output],
  context: ["Longest context", ({ contextTokens }) => -contextTokens],
  first: ["First token", ({ slug }, of) => firstTokenMs(of.attempts(slug), 0.5) ?? Number.POSITIVE_INFINITY],
  speed: ["Tokens a second", ({ slug }, of) => -(speedOf(of.attempts(slug)) ?? 0)],
  calls: ["Most called", ({ slug }, of) => -of.calls(slug).calls],
};
const CONTEXTS = [
  ["", "any"],
  ...["32000", "128000", "200000", "1000000"].map((one) => [one, `${tokensShown(Number(one))} or more`]),
];
const TAKES = [["", "anything"], ...CONTENT_KINDS.map(([name]) => [name, `${name}s`])];
type Options = readonly (readonly [string, string])[];

/** The body of the page that compares models; its query filters and sorts them. */
export function comparison(query: URLSearchParams, catalog: Catalog, measured: Measured): Html {
  const text = (name: string) => (query.get(name) ?? "").trim().slice(0, 100);
  const [words, takes, context, price, sort] = ["q", "takes", "context", "price", "sort"].map(text) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const isOn = query.has("configured");
  const rank = Object.hasOwn(SORTS, sort) ? SORTS[sort]?.[1] : undefined;
  const left = catalog
    .listed(EVERYBODY)
    .filter((model) => model.slug.includes(words.toLowerCase()) && (!isOn || model.offers.length > 0))
    .filter(
      (model) =>
        model.contextTokens >= (Number(context) || 0) &&
        !(price !== "" && Number(usdPerMillionText(model.sale.input)) > Number(price)),
    )
    .filter((model) => takes === "" || modelFacts(model, catalog).architecture.input_modalities.includes(takes))
    .toSorted((a, b) => (rank === undefined ? 0 : rank(a, measured) - rank(b, measured)));
  const sorts = Object.entries(SORTS).map(([name, [shown]]) => [name, shown] as const);
  const form = html`<form class="filters" method="get" action="/catalog/models" aria-label="Filter">
${field({ name: "q", label: "Part of the name", value: words })}${field({ name: "takes", label: "Takes", value: takes, options: TAKES as unknown as Options })}${field({ name: "context", label: "Context", value: context, options: CONTEXTS as unknown as Options })}${field({ name: "price", label: "Input at most", note: "USD per million", type: "number", value: price })}${field({ name: "sort", label: "Sort by", value: sort, options: sorts })}
<label class="check"><input type="checkbox" name="configured" value="1"${isOn ? html` checked` : ""}> Configured only</label><div class="buttons"><button>Filter</button><a class="button plain" href="/catalog/models">Clear</a></div></form>`;
  return html`${form}<p class="soft" role="status">${left.length} models</p>${modelTable(left, { catalog, measured })}`;
}
