// Counters and histograms: looked up once per label combination, updated in place, formatted at a scrape.

type Labels = Readonly<Record<string, string>>;

export interface SeriesShape<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly L[];
}

/** The sum for one label combination. Callers keep the cell, so that counting is one addition. */
export interface CounterCell {
  total: number;
  readonly labelText: string;
}

/** Counts observations in buckets, for one label combination. */
export class HistogramCell {
  readonly #bounds: readonly number[];
  /** One more than the bounds; not cumulative. */
  readonly #counts: Float64Array;
  /** The start of each output line: one per bucket, then sum and count. Created on first output. */
  readonly #prefixes: () => readonly string[];
  #made: readonly string[] | null = null;
  #sum = 0;

  constructor(bounds: readonly number[], prefixes: () => readonly string[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
    this.#prefixes = prefixes;
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index += 1;
    this.#counts[index] = (this.#counts[index] as number) + 1;
    this.#sum += value;
  }

  /** The output lines; empty without observations. */
  text(): string {
    const total = this.#counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) return "";
    this.#made ??= this.#prefixes();
    let text = "";
    let running = 0;
    for (const [index, prefix] of this.#made.entries()) {
      const bucket = this.#counts[index];
      if (bucket !== undefined) running += bucket;
      const value = index === this.#counts.length ? this.#sum : running;
      text += `${prefix}${value}\n`;
    }
    return text;
  }
}

/** The usual library hashes the labels on every call, which takes a microsecond; here they are looked up once per request. */
class Cells<L extends string, Cell> {
  readonly #names: readonly L[];
  readonly #make: (labelText: string) => Cell;
  readonly #byKey = new Map<string, Cell>();

  constructor(names: readonly L[], make: (labelText: string) => Cell) {
    this.#names = names;
    this.#make = make;
  }

  of(labels: Readonly<Record<L, string>>): Cell {
    let key = "";
    for (const name of this.#names) key += `${labels[name]}\n`;
    let cell = this.#byKey.get(key);
    if (cell === undefined) {
      cell = this.#make(labelText(this.#names, labels));
      this.#byKey.set(key, cell);
    }
    return cell;
  }

  all(): Iterable<Cell> {
    return this.#byKey.values();
  }
}

/** Values are divided by `unit` on output, so nano-USD stay integers until then. */
export class CounterSeries<L extends string> {
  readonly #shape: SeriesShape<L>;
  readonly #unit: number;
  readonly #cells: Cells<L, CounterCell>;

  constructor(shape: SeriesShape<L>, unit: number) {
    this.#shape = shape;
    this.#unit = unit;
    this.#cells = new Cells(shape.labels, (text) => ({ total: 0, labelText: text }));
  }

  cell(labels: Readonly<Record<L, string>>): CounterCell {
    return this.#cells.of(labels);
  }

  /** In Prometheus' text format. Omits combinations at zero. */
  text(): string {
    let text = head(this.#shape, "counter");
    for (const { total, labelText } of this.#cells.all()) {
      if (total > 0) text += `${this.#shape.name}{${labelText}} ${total / this.#unit}\n`;
    }
    return text;
  }
}

export class HistogramSeries<L extends string> {
  readonly #shape: SeriesShape<L>;
  readonly #cells: Cells<L, HistogramCell>;

  constructor(shape: SeriesShape<L>, bounds: readonly number[]) {
    const { name } = shape;
    this.#shape = shape;
    const prefixes = (text: string) => [
      ...[...bounds, "+Inf"].map((bound) => `${name}_bucket{${text},le="${bound}"} `),
      `${name}_sum{${text}} `,
      `${name}_count{${text}} `,
    ];
    this.#cells = new Cells(shape.labels, (text) => new HistogramCell(bounds, () => prefixes(text)));
  }

  cell(labels: Readonly<Record<L, string>>): HistogramCell {
    return this.#cells.of(labels);
  }

  /** In Prometheus' text format. Omits combinations without observations. */
  text(): string {
    let text = head(this.#shape, "histogram");
    for (const cell of this.#cells.all()) text += cell.text();
    return text;
  }
}

function head({ name, help }: SeriesShape<string>, type: string): string {
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`;
}

function labelText(names: readonly string[], labels: Labels): string {
  return names.map((name) => `${name}="${escaped(labels[name] ?? "").replaceAll('"', '\\"')}"`).join(",");
}

/** Escapes as the format requires: https://prometheus.io/docs/instrumenting/exposition_formats/ */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
