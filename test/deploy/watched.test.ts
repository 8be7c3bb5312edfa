// The dashboard and the alarms query only metrics that exist.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { METRICS, type MetricRow, metricType } from "../../src/platform/observe/metrics.ts";
import { installed } from "../support/apt-install.ts";
import { DEPLOY, ROOT, read, temporary, yaml } from "./deployed.ts";

interface Alerts {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Comes with Prometheus; where neither is available, the tests of rules over series are skipped. */
const promtool = await installed(
  () => ["/usr/bin/promtool", "/usr/local/bin/promtool"].find(existsSync),
  "promtool",
  "prometheus",
).catch(() => null);

const METRIC_NAMES = new Map<string, readonly string[]>(
  Object.values<MetricRow>(METRICS).flatMap((row): [string, readonly string[]][] => {
    const labels = [...(row.labels ?? []), "instance"];
    if (metricType(row) !== "histogram") return [[row.name, labels]];
    return ["_bucket", "_sum", "_count"].map((end) => [`${row.name}${end}`, [...labels, "le"]]);
  }),
);

/** A query's metrics and labels that do not exist. */
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

/** The URL where the operator reads the page, or its path in this tree. */
const RUNBOOK = "{{ with $externalLabels.runbooks }}{{ . }}{{ else }}docs/guides/alarms.md{{ end }}";

/** The rates and increases in a query that miss a series which first appears with its first value. */
function blindIn(question: string): string[] {
  const all = [...question.matchAll(/\b(?:i?rate|i?delta|increase)\((\w+(?:\{[^}]*\})?)\[(\w+)\]\)/g)];
  return all
    .filter(([rate, series, time]) => !question.includes(`(${series} unless ${series} offset ${time}) or ${rate}`))
    .map(([rate]) => rate);
}

describe("what is watched", () => {
  interface Panel {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly datasource: { readonly uid: string };
    readonly targets: readonly {
      readonly expr: string;
      readonly legendFormat: string;
      readonly datasource: { readonly uid: string };
    }[];
  }
  interface Board {
    readonly editable: boolean;
    readonly panels: readonly Panel[];
    readonly templating: { readonly list: readonly { readonly name: string; readonly query: unknown }[] };
  }
  const board = JSON.parse(read("grafana/board.json")) as Board;
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

  test("the board is read from whichever data source one chooses, for the gateways and providers one chooses, and can be changed", () => {
    expect(board.editable).toBe(true);
    expect(board.templating.list.map(({ name }) => name)).toEqual(["datasource", "instance", "provider"]);
    const [, ...queries] = board.templating.list.map(({ query }) => JSON.stringify(query));
    for (const query of queries)
      expect([...METRIC_NAMES.keys()].some((name) => query.includes(`(${name},`))).toBe(true);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the board's own way to name a variable.
    const chosen = new Set(["${datasource}"]);
    for (const { datasource, targets } of board.panels) {
      expect(new Set([datasource, ...targets.map((target) => target.datasource)].map(({ uid }) => uid))).toEqual(
        chosen,
      );
      for (const { expr } of targets) {
        const asked = expr.match(/\b(tollgate|gen_ai_client|gen_ai_server)_\w+(?=[{[ )]|$)/g) ?? [];
        expect(expr.split('instance=~"$instance"').length - 1, expr).toBe(asked.length);
      }
    }
  });

  test("every alarm says what it is and where to read what to do", () => {
    const page = readFileSync(join(ROOT, "docs/guides/alarms.md"), "utf8");
    for (const { alert, annotations } of rules) {
      expect(annotations, alert).toMatchObject({ summary: expect.any(String), description: expect.any(String) });
      const [file, anchor] = String(annotations.runbook_url).split("#");
      expect([file, page.includes(`<a id="${anchor}"></a>`)], alert).toEqual([RUNBOOK, true]);
    }
  });

  test("every alarm sees what is counted for the first time", () => {
    for (const { alert, expr } of rules) expect(blindIn(expr), alert).toEqual([]);
    expect(rules.filter(({ expr }) => /\b(rate|increase)\(/.test(expr)).length).toBeGreaterThan(7);
    expect(blindIn("sum(increase(a_total[1h])) > 0")).toEqual(["increase(a_total[1h])"]);
  });

  test("panels have their own numbers and places", () => {
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
    const cells = board.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...board.panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
  });

  /** Evaluates a rule over series: `values` are samples 10 s apart, and `at` is the time of the last. */
  const fires = (alert: string, series: Readonly<Record<string, string>>, at: string) => ({
    ...{ interval: "10s", name: alert },
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: at, alertname: alert }],
  });
  const attempts = (outcome: string) => `tollgate_attempts_total{provider="acme",outcome="${outcome}",sandbox="0"}`;
  const outcomes = (outcome: string, sandbox: string) =>
    `tollgate_outcomes_total{operation="chat",outcome="${outcome}",sandbox="${sandbox}"}`;
  const absorbed = (instance: string) => `tollgate_absorbed_usd_total{instance="${instance}",reason="r",sandbox="0"}`;
  const unpaid = (instance: string) => `tollgate_unpaid_cost_usd_total{instance="${instance}",charged="0"}`;
  const requests = (code: string) => `tollgate_requests_total{endpoint="/x",status="503",code="${code}",sandbox="0"}`;
  const unpriced = 'tollgate_unpriced_usage_total{provider="acme",counter="searches",sandbox="0"}';
  const bug = 'tollgate_requests_total{endpoint="/x",status="500",code="internal_error",sandbox="0"}';

  const certificate = 'tollgate_tls_certificate_end_timestamp_seconds{instance="a"}';

  test.skipIf(promtool === null).each([
    ["a certificate of 13 days", true, fires("CertificateExpires", { [certificate]: "1123200x60" }, "10m")],
    ["a certificate of 15 days", false, fires("CertificateExpires", { [certificate]: "1296000x60" }, "10m")],
    ["no certificate", false, fires("CertificateExpires", { [certificate]: "0x60" }, "10m")],
    ["its first internal error", true, fires("InternalErrors", { [bug]: "_x60 1x60" }, "12m")],
    ["an internal error an hour ago", false, fires("InternalErrors", { [bug]: "_x60 1x420" }, "75m")],
    ["its first outage", true, fires("LedgerUnavailable", { [requests("ledger_unavailable")]: "_x60 3x60" }, "12m")],
    ["the first usage without a price", true, fires("UsageWithoutAPrice", { [unpriced]: "_x60 1x60" }, "15m")],
    ["usage without a price an hour ago", false, fires("UsageWithoutAPrice", { [unpriced]: "_x60 1x420" }, "75m")],
    [
      "a provider that has failed from its first attempt on",
      true,
      fires("ProviderFails", { [attempts("provider_timeout")]: "_x60 5x60" }, "16m"),
    ],
    ["a dollar absorbed at once", true, fires("CostAbsorbed", { [absorbed("a")]: "_x60 1.5x60" }, "15m")],
    [
      "a dollar of two gateways",
      true,
      fires("CostAbsorbed", { [absorbed("a")]: "0x60 0.8x60", [absorbed("b")]: "0x60 0.8x60" }, "15m"),
    ],
    ["a dollar absorbed yesterday", false, fires("CostAbsorbed", { [absorbed("a")]: "1.5x1000" }, "150m")],
    [
      "ten dollars unpaid at once",
      true,
      fires("CostUnpaid", { [unpaid("a")]: "_x60 6x60", [unpaid("b")]: "_x60 6x60" }, "15m"),
    ],
    ["ten dollars a day unpaid", false, fires("CostUnpaid", { [unpaid("a")]: "0+0.00116x1440" }, "240m")],
    [
      "a provider that is down",
      true,
      fires("ProviderFails", { [attempts("provider_timeout")]: "0+1x200", [attempts("ok")]: "0x200" }, "20m"),
    ],
    [
      "callers who ask for nonsense",
      false,
      fires("ProviderFails", { [attempts("caller_invalid")]: "0+1x200", [attempts("ok")]: "0x200" }, "20m"),
    ],
    [
      "streams that break",
      true,
      fires("StreamsBreak", { [outcomes("broken", "0")]: "0+1x200", [outcomes("success", "0")]: "0+1x200" }, "20m"),
    ],
    [
      "streams that are broken in play",
      false,
      fires("StreamsBreak", { [outcomes("broken", "1")]: "0+1x200", [outcomes("success", "0")]: "0+1x200" }, "20m"),
    ],
    [
      "work that keeps all others waiting",
      true,
      fires("EventLoopHeld", { 'tollgate_event_loop_longest_hold_seconds{instance="a"}': "0.5x60" }, "5m"),
    ],
    [
      "an event loop that comes around",
      false,
      fires("EventLoopHeld", { 'tollgate_event_loop_longest_hold_seconds{instance="a"}': "0.05x60" }, "5m"),
    ],
    ["ends that wait", true, fires("EndsOfCallsWait", { tollgate_spool_oldest_seconds: "0+10x60" }, "5m")],
    [
      "an archive that takes nothing",
      true,
      fires("PostingsStayInRedis", { tollgate_archive_behind_seconds: "0+10x60" }, "6m"),
    ],
    [
      "a disk that is nearly full",
      true,
      fires(
        "DiskNearlyFull",
        {
          'tollgate_disk_free_bytes{instance="a"}': "1000000000x120",
          'tollgate_disk_needed_bytes{instance="a"}': "536870912x120",
        },
        "10m",
      ),
    ],
    [
      "a disk with room",
      false,
      fires(
        "DiskNearlyFull",
        {
          'tollgate_disk_free_bytes{instance="a"}': "9000000000x120",
          'tollgate_disk_needed_bytes{instance="a"}': "536870912x120",
        },
        "10m",
      ),
    ],
    ["a gateway that is away", true, fires("GatewayDown", { 'up{job="tollgate",instance="a"}': "0x60" }, "5m")],
  ])("%s: an alarm, %s", (_, isAlarm, { name, ...group }) => {
    const folder = temporary();
    const file = join(folder, "try.json");
    writeFileSync(file, JSON.stringify({ rule_files: [join(DEPLOY, "prometheus/alerts.yml")], tests: [group] }));
    const tried = spawnSync(promtool ?? "", ["test", "rules", file], { encoding: "utf8" });
    // The file expects no alarm: where one fires, promtool fails and names it.
    expect([tried.status === 0, tried.stderr.includes(`alertname="${name}"`)], tried.stderr).toEqual([
      !isAlarm,
      isAlarm,
    ]);
  });

  test("alarms are those of the page, and ask for metrics that there are", () => {
    const page = readFileSync(join(ROOT, "docs/guides/alarms.md"), "utf8");
    const listed = [...page.slice(page.indexOf("## Alarms")).matchAll(/^\| `(\w+)` \| `([^`]+)` \| ./gm)].map(
      ([, alert, expr]) => ({ alert, expr }),
    );
    expect(rules.map(({ alert, expr }) => ({ alert, expr }))).toEqual(listed);
    for (const { expr } of rules.filter(({ expr }) => !expr.startsWith("up{")))
      expect(unknownIn(expr), expr).toEqual([]);
  });
});
