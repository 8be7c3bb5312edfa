// Numbers that grow with every request: found once per combination of labels, kept in plain arrays, named at a scrape.
import { Counter, Histogram, type Registry } from "prom-client";

type Labels = Readonly<Record<string, string>>;

interface SeriesShape<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly L[];
}

/** Adds up for one combination of labels. Holders keep it, so that counting is one addition. */
export interface CounterCell {
  readonly labels: Labels;
  total: number;
}

/** Counts observations into buckets for one combination of labels. */
export class HistogramCell {
  readonly labels: Labels;
  readonly bounds: readonly number[];
  /** One more than there are bounds; not cumulative. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index += 1;
    counts[index] = (counts[index] as number) + 1;
    this.sum += value;
  }
}

/** The library hashes the labels at every call, a microsecond each; cells are looked up once per request instead. */
class Cells<L extends string, Cell> {
  readonly #labels: readonly L[];
  readonly #make: (labels: Labels) => Cell;
  readonly #byKey = new Map<string, Cell>();

  constructor(labels: readonly L[], make: (labels: Labels) => Cell) {
    this.#labels = labels;
    this.#make = make;
  }

  of(labels: Readonly<Record<L, string>>): Cell {
    let key = "";
    for (const name of this.#labels) key += `${labels[name]}\n`;
    let cell = this.#byKey.get(key);
    if (cell === undefined) {
      cell = this.#make({ ...labels });
      this.#byKey.set(key, cell);
    }
    return cell;
  }

  all(): Iterable<Cell> {
    return this.#byKey.values();
  }
}

/** A counter whose values are divided by `unit` when they are read: nano-USD stay integers until then. */
export class CounterSeries<L extends string> extends Counter<L> {
  readonly #unit: number;
  readonly #cells: Cells<L, CounterCell>;

  constructor(registry: Registry, shape: SeriesShape<L>, unit: number) {
    super({ name: shape.name, help: shape.help, labelNames: shape.labels, registers: [registry] });
    this.#unit = unit;
    this.#cells = new Cells(shape.labels, (labels) => ({ labels, total: 0 }));
  }

  cell(labels: Readonly<Record<L, string>>): CounterCell {
    return this.#cells.of(labels);
  }

  override async get(): ReturnType<Counter<L>["get"]> {
    const values = [];
    for (const { labels, total } of this.#cells.all()) {
      if (total > 0) values.push({ labels: labels as Record<L, string>, value: total / this.#unit });
    }
    return { ...(await super.get()), values };
  }
}

/** A histogram that leaves out the combinations that were never observed. */
export class HistogramSeries<L extends string> extends Histogram<L> {
  readonly #shape: SeriesShape<L>;
  readonly #cells: Cells<L, HistogramCell>;

  constructor(registry: Registry, shape: SeriesShape<L>, bounds: readonly number[]) {
    super({
      name: shape.name,
      help: shape.help,
      labelNames: shape.labels,
      buckets: [...bounds],
      registers: [registry],
    });
    this.#shape = shape;
    this.#cells = new Cells(shape.labels, (labels) => new HistogramCell(labels, bounds));
  }

  cell(labels: Readonly<Record<L, string>>): HistogramCell {
    return this.#cells.of(labels);
  }

  /** What the registry's text is made from; it formats `sharedLabels` once per cell. */
  async getForPromString(): Promise<unknown> {
    const { name, help } = this.#shape;
    const values = [];
    for (const cell of this.#cells.all()) {
      const sharedLabels = cell.labels;
      let count = 0;
      const rows = [];
      for (const [index, bound] of [...cell.bounds, "+Inf"].entries()) {
        count += cell.counts[index] ?? 0;
        rows.push({ metricName: `${name}_bucket`, labels: { le: bound }, sharedLabels, value: count });
      }
      if (count === 0) continue;
      rows.push({ metricName: `${name}_sum`, labels: {}, sharedLabels, value: cell.sum });
      rows.push({ metricName: `${name}_count`, labels: {}, sharedLabels, value: count });
      values.push(...rows);
    }
    return { name, help, type: "histogram", aggregator: "sum", values };
  }
}
