// What the console reads from the metrics: sums of series.

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
