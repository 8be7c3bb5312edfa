// Merges the metrics of several processes: parses, adds up and rewrites Prometheus texts.
import { METRICS, type MetricRow } from "./metrics.ts";

/** Gauges that must not be added up: ours unless marked `sum`, and Node's. Counters and histograms always add up. */
const HIGHEST = new Set([
  ...Object.values<MetricRow>(METRICS).flatMap((row) => (row.merge === "sum" ? [] : [row.name])),
  "nodejs_version_info",
]);
const LOWEST = new Set(["process_start_time_seconds", "process_max_fds", "nodejs_eventloop_lag_min_seconds"]);
const LAG = "nodejs_eventloop_lag_";

const GROWING = new Set(["counter", "histogram", "summary"]);

interface Family {
  /** The HELP and TYPE lines, unchanged. */
  readonly head: string;
  readonly type: string;
  /** From name and labels, unchanged, to the value. */
  readonly samples: Map<string, number>;
}

export type Families = ReadonlyMap<string, Family>;

/** Parses the output of `metricsText`. Skips lines without a number. */
export function readMetrics(text: string): Families {
  const families = new Map<string, Family>();
  let help = "";
  let current: Family | null = null;
  for (const line of text.split("\n")) {
    if (line.startsWith("# HELP ")) help = line;
    else if (line.startsWith("# TYPE ")) {
      const [, , name = "", type = ""] = line.split(" ");
      current = { head: `${help}\n${line}\n`, type, samples: new Map() };
      families.set(name, current);
    } else if (line !== "" && current !== null) {
      const at = line.lastIndexOf(" ");
      const value = Number(line.slice(at + 1));
      if (at > 0 && !Number.isNaN(value)) current.samples.set(line.slice(0, at), value);
    }
  }
  return families;
}

/** What remains of a process that has ended: its counts stay, its gauges go. */
export function countedOnly(families: Families): Families {
  return new Map([...families].filter(([, { type }]) => GROWING.has(type)));
}

function howToMerge(name: string, type: string): (one: number, other: number) => number {
  if (GROWING.has(type)) return (one, other) => one + other;
  if (LOWEST.has(name)) return Math.min;
  if (HIGHEST.has(name) || name.startsWith(LAG)) return Math.max;
  return (one, other) => one + other;
}

export function mergeMetrics(all: readonly Families[]): Families {
  const merged = new Map<string, Family>();
  for (const families of all) {
    for (const [name, { head, type, samples }] of families) {
      const into = merged.get(name) ?? { head, type, samples: new Map<string, number>() };
      merged.set(name, into);
      const merge = howToMerge(name, type);
      for (const [key, value] of samples) {
        const before = into.samples.get(key);
        into.samples.set(key, before === undefined ? value : merge(before, value));
      }
    }
  }
  return merged;
}

export function writeMetrics(families: Families): string {
  let text = "";
  for (const { head, samples } of families.values()) {
    text += head;
    for (const [key, value] of samples) text += `${key} ${value}\n`;
  }
  return text;
}
