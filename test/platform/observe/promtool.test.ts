// /metrics follows Prometheus' rules: `promtool check metrics`, where installed, finds nothing; the same rules also run in process.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mergeMetrics, readMetrics, writeMetrics } from "../../../src/platform/observe/merge-metrics.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

const PROMTOOL = ["/usr/bin/promtool", "/usr/local/bin/promtool"].find(existsSync);
const SUFFIXES = /(_bucket|_sum|_count)$/;

let gateway: TestGateway;
let text: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  const { client } = await gateway.account();
  await client.chat.completions.create({ model: "core/cheap", messages: [{ role: "user", content: "Hi" }] });
  text = await gateway.metricsText();
});
afterAll(() => gateway.stop());

/** The errors in a text's names and types, by the rules of promtool's linter. */
function faultsIn(metrics: string): string[] {
  const lines = metrics.split("\n");
  const types = lines.flatMap((line) => (line.startsWith("# TYPE ") ? [line.split(" ").slice(2)] : []));
  const helped = new Set(lines.flatMap((line) => (line.startsWith("# HELP ") ? [line.split(" ")[2]] : [])));
  return types.flatMap(([name = "", type = ""]) => [
    ...(type === "counter" && !name.endsWith("_total") ? [`${name}: a counter without _total`] : []),
    ...(type !== "counter" && name.endsWith("_total") ? [`${name}: no counter, with _total`] : []),
    ...(!["histogram", "summary"].includes(type) && SUFFIXES.test(name) ? [`${name}: the suffix of a histogram`] : []),
    ...(helped.has(name) ? [] : [`${name}: without help`]),
    ...(/^[a-z_][a-z0-9_]*$/.test(name) && !/_(ms|milliseconds|kb|mb|minutes|hours)(_|$)/.test(name)
      ? []
      : [`${name}: not in base units, or not in snake case`]),
  ]);
}

describe.each(["one process", "several processes as one"])("the metrics of %s", (of) => {
  const told = () => (of === "one process" ? text : writeMetrics(mergeMetrics([readMetrics(text), readMetrics(text)])));

  it("keep Prometheus' rules", () => {
    expect(told()).toContain("nodejs_active_handles");
    expect(faultsIn(told())).toEqual([]);
  });

  it.runIf(PROMTOOL !== undefined)("are nothing that promtool complains of", () => {
    const { stdout, stderr, status } = spawnSync(PROMTOOL ?? "", ["check", "metrics"], { input: told() });
    expect(`${stdout}${stderr}`).toBe("");
    expect(status).toBe(0);
  });
});

it("the rules in process find what promtool finds", () => {
  const wrong = "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n# HELP b x\n# TYPE b counter\nb 1\n";
  expect(faultsIn(wrong)).toEqual(["a_total: no counter, with _total", "b: a counter without _total"]);
});
