// The board and the alarms: they ask for metrics that there are.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { METRICS } from "../../src/observe/metrics.ts";
import { ROOT, read, yaml } from "./deployed.ts";

interface Alerts {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

interface MetricRow {
  readonly type: string;
  readonly name: string;
  readonly labels: readonly string[];
}

const METRIC_NAMES = new Map<string, readonly string[]>(
  Object.values<MetricRow>(METRICS).flatMap((row): [string, readonly string[]][] => {
    const labels = [...row.labels, "instance"];
    if (row.type !== "histogram") return [[row.name, labels]];
    return ["_bucket", "_sum", "_count"].map((end) => [`${row.name}${end}`, [...labels, "le"]]);
  }),
);

/** Metrics and labels of a question that there are not. */
function unknownIn(question: string): string[] {
  const names = question.match(/\b(tollgate|gen_ai|nodejs|process)_\w+(?=[{[ )]|$)/g) ?? [];
  const metrics = names.filter((name) => METRIC_NAMES.has(name));
  const labels = [...question.matchAll(/\bby \(([^)]*)\)|\{([^}]*)\}/g)].flatMap(([, by, selector]) =>
    by === undefined ? [...(selector ?? "").matchAll(/(\w+)(?:=|!)/g)].map(([, name = ""]) => name) : by.split(", "),
  );
  const allowed = new Set(metrics.flatMap((name) => METRIC_NAMES.get(name) ?? []));
  const isLabel = (name: string) => [...allowed].includes(name);
  return [
    ...names.filter((name) => !METRIC_NAMES.has(name) && !isLabel(name)),
    ...labels.filter((name) => !isLabel(name)),
  ];
}

describe("what is watched", () => {
  interface Panel {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }
  const board = JSON.parse(read("grafana/board.json")) as { panels: Panel[] };
  const [alerts] = yaml<Alerts>("prometheus/alerts.yml");
  const rules = alerts?.groups.flatMap((group) => group.rules) ?? [];

  test.each(board.panels.map((panel) => [panel.title, panel] as const))(
    "%s asks for metrics and labels that there are",
    (_, panel) => {
      for (const { expr, legendFormat } of panel.targets) {
        expect(unknownIn(expr), expr).toEqual([]);
        const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = ""]) => name);
        expect(shown.filter((name) => !expr.includes(name) && name !== "instance")).toEqual([]);
      }
    },
  );

  test("the check would see a metric or a label that there is not", () => {
    expect(unknownIn("sum(tollgate_no_such)")).toEqual(["tollgate_no_such"]);
    expect(unknownIn('sum by (planet) (tollgate_requests_total{colour="red"})')).toEqual(["planet", "colour"]);
  });

  test("panels have their own numbers and places", () => {
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
    const cells = board.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...board.panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
  });

  test("alarms are those of the page, and ask for metrics that there are", () => {
    const page = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
    const listed = [...page.slice(page.indexOf("## Alarms")).matchAll(/^\| `([^`]+ [<>=]=? [^`]+)` \|/gm)].map(
      ([, expr]) => expr,
    );
    expect(rules.map(({ expr }) => expr).sort()).toEqual(listed.sort());
    for (const { expr } of rules.filter(({ expr }) => !expr.startsWith("up{")))
      expect(unknownIn(expr), expr).toEqual([]);
  });
});
