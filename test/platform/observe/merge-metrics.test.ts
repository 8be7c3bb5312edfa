// Metrics of several processes: which are added up, which are not, and what ended processes leave.
import { expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { createLog } from "../../../src/platform/observe/log.ts";
import { countedOnly, mergeMetrics, readMetrics, writeMetrics } from "../../../src/platform/observe/merge-metrics.ts";
import { METRICS } from "../../../src/platform/observe/metrics.ts";
import { createObserver } from "../../../src/platform/observe/observer.ts";

function text(name: string, type: string, ...samples: string[]): string {
  return `# HELP ${name} What it is\n# TYPE ${name} ${type}\n${samples.map((sample) => `${sample}\n`).join("")}`;
}

function merged(...texts: string[]): string {
  return writeMetrics(mergeMetrics(texts.map(readMetrics)));
}

test("counters add up by their labels, whatever stands in them", () => {
  const one = text("a_total", "counter", 'a_total{who="x y"} 1', 'a_total{who="brace } 9"} 2');
  const two = text("a_total", "counter", 'a_total{who="x y"} 10', 'a_total{who="z"} 0.5');
  expect(merged(one, two)).toBe(
    text("a_total", "counter", 'a_total{who="x y"} 11', 'a_total{who="brace } 9"} 2', 'a_total{who="z"} 0.5'),
  );
});

test("histograms add up bucket by bucket", () => {
  const one = text("h", "histogram", 'h_bucket{le="1"} 1', 'h_bucket{le="+Inf"} 2', "h_sum 3.5", "h_count 2");
  const both = text("h", "histogram", 'h_bucket{le="1"} 2', 'h_bucket{le="+Inf"} 4', "h_sum 7", "h_count 4");
  expect(merged(one, one)).toBe(both);
});

test("gauges add up, unless each process sees the same, or its own", () => {
  const gauges = (inFlight: number, accounts: number, start: number, lag: number) =>
    text("tollgate_in_flight", "gauge", `tollgate_in_flight ${inFlight}`) +
    text("tollgate_accounts", "gauge", `tollgate_accounts ${accounts}`) +
    text("process_start_time_seconds", "gauge", `process_start_time_seconds ${start}`) +
    text("nodejs_eventloop_lag_p99_seconds", "gauge", `nodejs_eventloop_lag_p99_seconds ${lag}`);
  expect(merged(gauges(3, 0, 200, 0.1), gauges(4, 7, 100, 0.3), gauges(0, 7, 300, 0.2))).toBe(gauges(7, 7, 100, 0.3));
});

test("of a process that has ended the counts stay and the rest goes", () => {
  const counts = text("a_total", "counter", "a_total 5") + text("h", "histogram", "h_sum 1", "h_count 1");
  expect(
    writeMetrics(countedOnly(readMetrics(counts + text("tollgate_in_flight", "gauge", "tollgate_in_flight 2")))),
  ).toBe(counts);
});

test("what a gateway writes comes through as it was", async () => {
  const log = createLog({ level: "silent", clock: systemClock });
  const observer = createObserver({ clock: systemClock, log, isKnown: () => true });
  observer.ledgerTook("reserve", 3);
  const own = await observer.metricsText();
  const lines = (whole: string) =>
    whole
      .split("\n")
      .filter((line) => line !== "" && !line.endsWith(" Nan"))
      .sort();
  expect(lines(merged(own))).toEqual(lines(own));
  const twice = merged(own, own);
  expect(twice).toContain('tollgate_ledger_operation_seconds_count{operation="reserve"} 2\n');
  for (const { name } of Object.values(METRICS)) expect(twice).toContain(`# TYPE ${name} `);
});
