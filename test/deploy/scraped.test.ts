// A real Prometheus with the configuration of deploy/ scrapes a gateway: its metrics match the charges, and it evaluates the rules.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NANO_PER_USD } from "../../src/core/money.ts";
import { INSTALLED_MS_MAX, installed } from "../support/apt-install.ts";
import { callChat } from "../support/chat-call.ts";
import { endWithTests } from "../support/end-with-tests.ts";
import { freePort } from "../support/free-port.ts";
import { eventually, startTestGateway, type TestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { DEPLOY, yaml } from "./deployed.ts";

interface Configuration {
  readonly global: Readonly<Record<string, unknown>>;
  readonly scrape_configs: readonly Readonly<Record<string, unknown>>[];
}

const program = await installed(
  () => ["/usr/bin/prometheus", "/usr/local/bin/prometheus"].find(existsSync),
  "prometheus",
  "prometheus",
).catch(() => null);

const RUNBOOKS = "https://docs.example.org/alarms.md";
/** The file's ten seconds are too long for a test; on a busy machine one scrape may take far longer than usual. */
const OFTEN = { scrape_interval: "2s", evaluation_interval: "500ms", scrape_timeout: "2s" };

/** The file's configuration, except for the gateways' addresses, the path of their token, and the intervals. */
function configurationFor(gateway: TestGateway): string {
  const [file] = yaml<Configuration>("prometheus/prometheus.yml");
  if (file === undefined) throw new Error("prometheus.yml is empty");
  const { host } = new URL(gateway.adminUrl);
  const jobs = file.scrape_configs.map((job) => ({
    ...job,
    authorization: { credentials_file: join(gateway.dataDir, "admin.token") },
    static_configs: [{ targets: [host] }],
  }));
  const rules = [join(DEPLOY, "prometheus/alerts.yml")];
  return JSON.stringify({ ...file, global: { ...file.global, ...OFTEN }, rule_files: rules, scrape_configs: jobs });
}

describe.skipIf(program === null)("a real Prometheus", () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-prometheus-"));
  let gateway: TestGateway;
  let prometheus: ChildProcess;
  let url: string;

  beforeAll(async () => {
    gateway = await startTestGateway();
    writeFileSync(join(folder, "prometheus.yml"), configurationFor(gateway));
    const port = await freePort();
    url = `http://127.0.0.1:${port}/api/v1`;
    const flags = {
      "config.file": join(folder, "prometheus.yml"),
      "storage.tsdb.path": join(folder, "data"),
      "web.listen-address": `127.0.0.1:${port}`,
      "enable-feature": "expand-external-labels",
    };
    const words = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    prometheus = spawn(program ?? "", words, { env: { RUNBOOKS_URL: RUNBOOKS }, stdio: "ignore" });
    endWithTests(prometheus);
  }, INSTALLED_MS_MAX);

  afterAll(async () => {
    prometheus.kill("SIGTERM");
    if (prometheus.exitCode === null) await once(prometheus, "exit");
    removeFolder(folder);
  });

  async function api(path: string): Promise<Record<string, unknown> | undefined> {
    const response = await fetch(`${url}${path}`).catch(() => null);
    if (response?.status !== 200) return undefined;
    return ((await response.json()) as { data: Record<string, unknown> }).data;
  }

  async function answerTo(question: string): Promise<number | undefined> {
    const told = await api(`/query?query=${encodeURIComponent(question)}`);
    const [first] = (told?.result ?? []) as { value: [number, string] }[];
    return first === undefined ? undefined : Number(first.value[1]);
  }

  it("reaches the gateway, and has the sum that its call was charged", async () => {
    const { key } = await gateway.account();
    const { requestId } = await callChat(
      { model: "sandbox/ok", messages: [{ role: "user", content: "Hi" }] },
      { url: gateway.url, key },
    );
    const { charged_nano_usd: charged } = await gateway.record(requestId);
    const sum = await eventually(() => answerTo('sum(tollgate_charged_usd_total{sandbox="1"}) > 0'), "the charge");
    expect(sum).toBeCloseTo(Number(charged) / NANO_PER_USD, 12);
    await eventually(
      async () => (await answerTo('up{job="tollgate"}')) === 1 || undefined,
      "a look that was answered in time",
    );
  });

  interface Rule {
    readonly name: string;
    readonly health: string;
    readonly state: string;
    readonly lastError?: string;
  }

  it("asks every rule, and none of them has an error or raises an alarm", async () => {
    const rules = await eventually(async () => {
      const groups = ((await api("/rules"))?.groups ?? []) as { rules: Rule[] }[];
      const all = groups.flatMap((group) => group.rules);
      return all.length > 0 && all.every(({ health }) => health !== "unknown") ? all : undefined;
    }, "the rules");
    expect(rules.filter(({ health }) => health !== "ok")).toEqual([]);
    // One late scrape makes an alarm pending, which does not count.
    expect(rules.filter(({ state }) => state === "firing").map(({ name }) => name)).toEqual([]);
  });

  it("raises the alarm of a gateway that is away, with the address of what to do", async () => {
    await gateway.stop();
    const alert = await eventually(async () => {
      const alerts = ((await api("/alerts"))?.alerts ?? []) as {
        labels: Record<string, string>;
        annotations: object;
      }[];
      return alerts.find(({ labels }) => labels.alertname === "GatewayDown");
    }, "the alarm");
    expect(alert.annotations).toMatchObject({ runbook_url: `${RUNBOOKS}#gatewaydown` });
  });
});
