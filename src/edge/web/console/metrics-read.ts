// What the console reads from the metrics: sums of series, and recent first-token latencies.

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(?:^|,)([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** The series of the given names, from Prometheus' text format. */
export function seriesIn(text: string, names: readonly string[]): readonly Series[] {
  return text.split("\n").flatMap((line) => {
    if (!names.some((name) => line.startsWith(name))) return [];
    const [, name = "", labels = "", value = ""] = LINE.exec(line) ?? [];
    if (!names.includes(name)) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = "", told = ""]) => [label, told]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

export function seriesSum(all: readonly Series[], name: string, where: Readonly<Record<string, string>> = {}): number {
  const isMeant = (one: Series) =>
    one.name === name && Object.entries(where).every(([label, value]) => one.labels[label] === value);
  return all.filter(isMeant).reduce((sum, { value }) => sum + value, 0);
}

/** Cumulative counts by upper bound, in seconds. */
export type Buckets = ReadonlyMap<number, number>;

export function bucketsOf(all: readonly Series[], name: string): Buckets {
  const sums = new Map<number, number>();
  for (const one of all) {
    if (one.name !== name) continue;
    const bound = one.labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(one.labels.le);
    sums.set(bound, (sums.get(bound) ?? 0) + one.value);
  }
  return sums;
}

/** The counts since an earlier reading. */
export function since(now: Buckets, before: Buckets): Buckets {
  return new Map([...now].map(([bound, value]) => [bound, value - (before.get(bound) ?? 0)]));
}

/** The bound in seconds below which this share of the observations lies; null: there were none. */
export function quantile(buckets: Buckets, share: number): number | null {
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const all = sorted.at(-1)?.[1] ?? 0;
  if (all <= 0) return null;
  return sorted.find(([, count]) => count >= all * share)?.[0] ?? null;
}
