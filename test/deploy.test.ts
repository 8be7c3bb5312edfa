// What is in deploy/, as far as one machine can try it: it parses, names what there is, and what can run is run.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { effectiveSettings, readConfig } from "../src/config.ts";
import { METRICS } from "../src/observe/metrics.ts";
import { openRedis } from "../src/storage/redis-link.ts";
import { startTestGateway } from "./support/gateway.ts";
import { REDIS_MS_MAX, startRedis } from "./support/redis.ts";

const DEPLOY = join(import.meta.dirname, "../deploy");
const ROOT = join(DEPLOY, "..");
const FILES = readdirSync(DEPLOY, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => posix.join(entry.parentPath.slice(DEPLOY.length + 1), entry.name));
/** What a process takes beyond DRAIN_SECONDS: see CLOSE_MS_MAX of the parent. */
const CLOSE_SECONDS = 15;

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly stop_grace_period?: string;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly name: string }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly mountPath: string }[];
}

interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly terminationGracePeriodSeconds: number;
    readonly securityContext: Readonly<Record<string, unknown>>;
    readonly containers: readonly [Container];
  };
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly template: Pod;
    readonly ports: readonly { readonly targetPort: string }[];
  };
}

interface Alerts {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

interface Prometheus {
  readonly scrape_configs: readonly { readonly static_configs: readonly { readonly targets: readonly string[] }[] }[];
}

function read(file: string): string {
  return readFileSync(join(DEPLOY, file), "utf8");
}

function yaml<T = unknown>(file: string): T[] {
  return parseAllDocuments(read(file), { merge: true }).map((document) => {
    expect([...document.errors, ...document.warnings], file).toEqual([]);
    return document.toJS() as T;
  });
}

/** Whether a tool of the operator's is here; what it would check is not checked otherwise. */
function has(tool: string): boolean {
  return spawnSync("which", [tool]).status === 0;
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-deploy-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Fails unless each name is a setting, and the values are ones that the gateway starts with. */
function expectSettings(environment: Readonly<Record<string, string>>): void {
  const known = effectiveSettings(environment).flatMap(({ name, from }) => (from === "environment" ? [name] : []));
  expect(Object.keys(environment).filter((name) => !known.includes(name) && name !== "NODE_ENV")).toEqual([]);
  readConfig(environment);
}

/** A variable of the operator's stands for itself, or for what it is without one. */
function filled(value: string): string {
  return value.replace(
    /\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}/g,
    (_, name: string, or?: string) => or ?? `${name}-of-the-operator`,
  );
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

describe("every file", () => {
  test.each(FILES.filter((file) => /\.ya?ml$/.test(file)))("%s is good YAML", (file) => {
    expect(yaml(file).length).toBeGreaterThan(0);
  });

  test("names no machine and no registry, and images by their official names with a version", () => {
    for (const file of FILES) {
      const text = read(file);
      expect(text, file).not.toMatch(/\/(work|root|home|Users)\//);
      const images = [...text.matchAll(/^\s*image: (\S+)|^FROM (\S+)/gm)].map(([, one, other]) => one ?? other ?? "");
      const own = ["tollgate"];
      expect(images.filter((image) => !own.includes(image) && !/^([a-z]+\/)?[a-z]+:v?\d[\w.-]*$/.test(image))).toEqual(
        [],
      );
    }
  });
});

describe("the image", () => {
  const text = read("Dockerfile").replace(/\\\n\s*/g, "");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const all = (word: string) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  const copied = all("COPY")
    .filter((line) => !line.startsWith("--from"))
    .flatMap((line) => line.split(" ").slice(0, -1));

  test("is of the Node that the gateway needs, runs as nobody in particular, and is told of signals", () => {
    expect(all("FROM").every((line) => /^node:22-slim( AS \w+)?$/.test(line))).toBe(true);
    expect(all("USER")).toEqual(["node"]);
    expect(lines.findIndex((line) => line.startsWith("USER"))).toBeLessThan(
      lines.findIndex((line) => line.startsWith("ENTRYPOINT")),
    );
    expect(JSON.parse(all("ENTRYPOINT")[0] ?? "")).toContain("src/main.ts");
    expect(text).not.toMatch(/\b(sudo|latest|ADD|curl|wget)\b/);
  });

  test("sets what are settings", () => {
    const pairs = (all("ENV")[0] ?? "").split(/\s+/).map((pair) => pair.split("=") as [string, string]);
    expectSettings(Object.fromEntries(pairs));
  });

  test("copies what there is, all of it past the ignore file, and it is enough to run", () => {
    const kept = read("Dockerfile.dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"));
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect([...new Set(copied)].map((path) => `!${path}`).sort()).toEqual(kept.sort());
    const image = temporary();
    for (const path of new Set(copied)) cpSync(join(ROOT, path), join(image, path), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(image, "node_modules"));
    const words = ["--disable-warning=ExperimentalWarning", "src/cli.ts", "prices"];
    const run = spawnSync(process.execPath, words, {
      cwd: image,
      encoding: "utf8",
      env: { DATA_DIR: join(image, "d") },
    });
    expect([run.status, run.stderr]).toEqual([0, ""]);
  });

  test("has the packages that run: what src imports is no package of the tests", () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const folders = ["src", "adapters", "tiers"];
    const source = folders.flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts"))
        .map((name) => readFileSync(join(ROOT, folder, name), "utf8")),
    );
    const imported = source.flatMap((file) =>
      [...file.matchAll(/^import (?!type)[^"';]*?from "([^."#][^"]*)"|import\("([^."#][^"]*)"\)/gm)].map(
        ([, one, other]) => one ?? other ?? "",
      ),
    );
    const packages = new Set(
      imported.filter((name) => !name.startsWith("node:")).map((name) => name.split("/")[0] ?? ""),
    );
    expect([...packages].filter((name) => dependencies[name] === undefined)).toEqual([]);
  });

  test("is healthy while the gateway answers", async () => {
    const gateway = await startTestGateway();
    onTestFinished(() => gateway.stop());
    const check = JSON.parse(/CMD (\[.*\])$/.exec(all("HEALTHCHECK")[0] ?? "")?.[1] ?? "[]") as string[];
    const status = async (port: string) => {
      const child = spawn(process.execPath, check.slice(1), { env: { ADMIN_PORT: port }, stdio: "inherit" });
      const [code] = await once(child, "exit");
      return code;
    };
    expect(check[0]).toBe("node");
    expect(await status(new URL(gateway.adminUrl).port)).toBe(0);
    expect(await status("1")).toBe(1);
  });
});

describe("the compose file", () => {
  const [compose = { services: {}, volumes: {} }] = yaml<Compose>("compose.yaml");
  const services = Object.entries(compose.services);
  const gateways = services.filter(([name]) => name.startsWith("gateway-"));

  test("starts three gateways with settings that there are, each with a folder of its own, and time to drain", () => {
    expect(gateways).toHaveLength(3);
    const own = gateways.map(([, { volumes }]) => volumes?.find((volume) => volume.endsWith(":/var/lib/tollgate")));
    expect(new Set(own).size).toBe(3);
    for (const [, { environment, stop_grace_period: grace }] of gateways) {
      const values = Object.entries(environment ?? {}).map(([name, value]) => [name, filled(value)]);
      expectSettings(Object.fromEntries(values));
      const { drainMs } = readConfig(Object.fromEntries(values));
      expect(Number.parseInt(String(grace), 10)).toBeGreaterThan(drainMs / 1000 + CLOSE_SECONDS);
    }
  });

  test("mounts what there is, and names what it declares", () => {
    const volumes = services.flatMap(([, service]) => service.volumes ?? []);
    const sources = volumes.map((volume) => volume.split(":")[0] ?? "");
    const files = sources.filter((source) => source.startsWith("./"));
    expect(files.filter((source) => !existsSync(join(DEPLOY, source)))).toEqual([]);
    const named = new Set(sources.filter((source) => !source.startsWith(".")));
    expect([...named].sort()).toEqual(Object.keys(compose.volumes).sort());
    const needed = services.flatMap(([, { depends_on: on = {} }]) => (Array.isArray(on) ? on : Object.keys(on)));
    expect(needed.filter((name) => !services.some(([known]) => known === name))).toEqual([]);
  });

  test("has the proxy and Prometheus ask every gateway", () => {
    const names = gateways.map(([name]) => name);
    const nginx = read("nginx.conf");
    expect([...nginx.matchAll(/server (\S+):8080 resolve/g)].map(([, name]) => name)).toEqual(names);
    const [prometheus] = yaml<Prometheus>("prometheus/prometheus.yml");
    expect(prometheus?.scrape_configs[0]?.static_configs[0]?.targets).toEqual(names.map((name) => `${name}:8081`));
  });

  test("has a proxy whose lines end, whose blocks close, and that holds no stream back", () => {
    const lines = read("nginx.conf")
      .split("\n")
      .map((line) => line.trim());
    expect(lines.filter((line) => line !== "" && !/^#|[;{}]$/.test(line))).toEqual([]);
    const count = (sign: string) => lines.filter((line) => line.endsWith(sign) && !line.startsWith("#")).length;
    expect(count("{")).toBe(count("}"));
    expect(lines).toContain("proxy_buffering off;");
    expect(lines.join()).not.toContain("non_idempotent");
    const seconds = Number(/proxy_read_timeout (\d+)s/.exec(read("nginx.conf"))?.[1]);
    expect(seconds).toBeGreaterThan(readConfig({}).wholeMsMax / 1000);
  });
});

test(
  "Redis with these settings loses no money, says the gateway",
  async () => {
    const settings = read("redis.conf")
      .split("\n")
      .filter((line) => /^[a-z]/.test(line) && !/^(dir|bind|protected-mode) /.test(line));
    const pairs = settings.map((line) => [
      line.slice(0, line.indexOf(" ")),
      line.slice(line.indexOf(" ") + 1).replace(/^""$/, ""),
    ]);
    // What is safe must come from the file.
    const unsafe = { appendonly: "no", appendfsync: "everysec", "maxmemory-policy": "allkeys-lru" };
    const server = await startRedis({ ...unsafe, ...Object.fromEntries(pairs) });
    const link = await openRedis(server.url, { onBroken() {} });
    onTestFinished(async () => {
      await link.close();
      await server.dispose();
    });
    expect(await link.problems()).toEqual([]);
  },
  REDIS_MS_MAX,
);

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

describe("the systemd unit", () => {
  const unit = read("tollgate.service");

  test("sets what are settings, and waits for the drain", () => {
    const pairs = [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]);
    expectSettings(Object.fromEntries(pairs));
    const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
    expect(seconds).toBeGreaterThan(readConfig({}).drainMs / 1000 + CLOSE_SECONDS);
    expect(unit).toMatch(/^KillMode=mixed$/m);
  });

  test.runIf(has("systemd-analyze"))("is one that systemd takes", () => {
    const file = join(temporary(), "tollgate.service");
    // Where it will be is not where it is tried.
    writeFileSync(
      file,
      unit.replace(/ExecStart=\S+/, `ExecStart=${process.execPath}`).replace(/^WorkingDirectory=.*$/m, ""),
    );
    const checked = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
    expect([checked.status, checked.stderr]).toEqual([0, ""]);
  });
});

describe("the Kubernetes manifests", () => {
  const documents = ["kubernetes/redis.yaml", "kubernetes/gateway.yaml"].flatMap((file) => yaml<Manifest>(file));
  function of(kind: string, name: string): Manifest["spec"] {
    const found = documents.find((one) => one.kind === kind && one.metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
    return found.spec;
  }
  const { replicas, template: pod } = of("StatefulSet", "tollgate");
  const [container] = pod.spec.containers;
  const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
  const ports = container.ports.map(({ name }) => name);

  test("set what are settings", () => {
    expectSettings(env);
    const literals = read("kustomization.yaml").matchAll(/--from-literal=(\w+)=/g);
    expectSettings(Object.fromEntries([...literals].map(([, name]) => [name, "sixteen-characters"])));
  });

  test("ask the gateway whether it lives and whether it is ready, on ports that it has", async () => {
    const gateway = await startTestGateway();
    onTestFinished(() => gateway.stop());
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      expect(ports).toContain(probe.httpGet.port);
      expect((await fetch(`${gateway.adminUrl}${probe.httpGet.path}`)).status).toBe(200);
    }
    const targets = ["tollgate", "tollgate-admin"].flatMap((name) => of("Service", name).ports);
    expect(targets.filter(({ targetPort }) => !ports.includes(targetPort))).toEqual([]);
  });

  test("give a pod the time to drain, its volume back, and no rights that it does not need", () => {
    const preStop = Number(container.lifecycle.preStop.exec.command[1]);
    const needed = preStop + readConfig(env).drainMs / 1000 + CLOSE_SECONDS;
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(needed);
    expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toContain("/var/lib/tollgate");
    expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(container.securityContext).toMatchObject({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true });
  });

  test("never take two gateways away at once", () => {
    const selector = { matchLabels: pod.metadata.labels };
    expect(of("PodDisruptionBudget", "tollgate")).toMatchObject({ maxUnavailable: 1, selector });
    expect(replicas).toBe(3);
  });

  test.runIf(has("kubectl"))("are put together by kubectl, with the settings of Redis", () => {
    const built = spawnSync("kubectl", ["kustomize", DEPLOY], { encoding: "utf8" });
    expect([built.status, built.stderr]).toEqual([0, ""]);
    expect(built.stdout).toContain("appendfsync always");
  });
});
