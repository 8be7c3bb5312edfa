// The compose file: three gateways, their proxy, and a Redis that persists its data.
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../src/platform/config.ts";
import { openLink, REDIS_MS_MAX, startRedis } from "../support/redis.ts";
import { CLOSE_SECONDS, DEPLOY, expectSettings, has, read, temporary, yaml } from "./deployed.ts";

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

interface Prometheus {
  readonly scrape_configs: readonly { readonly static_configs: readonly { readonly targets: readonly string[] }[] }[];
}

/** Expands an operator's variable to its default, or to itself where it has none. */
function filled(value: string): string {
  return value.replace(
    /\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}/g,
    (_, name: string, or?: string) => or ?? `${name}-of-the-operator`,
  );
}

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

  test("has volumes that the gateway may write to: an empty one takes its owner from the image", () => {
    const made = /install -d -o node ([^\n]*)/.exec(read("Dockerfile"))?.[1]?.match(/"[^"]+"/g) ?? [];
    const folders = made.map((folder) => JSON.parse(folder).replace("$DATA_DIR", "/var/lib/tollgate"));
    const mounted = gateways.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(":")[1] ?? ""));
    expect([...new Set(mounted)].sort()).toEqual(folders.sort());
  });

  test("has the proxy and Prometheus ask every gateway", () => {
    const names = gateways.map(([name]) => name);
    const nginx = read("nginx.conf");
    expect([...nginx.matchAll(/server (\S+):8080 resolve/g)].map(([, name]) => name)).toEqual(names);
    const [prometheus] = yaml<Prometheus>("prometheus/prometheus.yml");
    expect(prometheus?.scrape_configs[0]?.static_configs[0]?.targets).toEqual(names.map((name) => `${name}:8081`));
  });

  test.runIf(has("nginx"))("has a proxy configuration that nginx takes", () => {
    const file = join(temporary(), "nginx.conf");
    // The names are those of the compose network, and re-resolving them needs a newer nginx than some machines have.
    const here = read("nginx.conf")
      .replace(/server gateway-\d:8080 resolve/g, "server 127.0.0.1:9")
      .replace(/^ *resolver .*$/m, "");
    writeFileSync(file, `pid ${file}.pid;\n${here}`);
    const checked = spawnSync("nginx", ["-t", "-e", "stderr", "-c", file], { encoding: "utf8" });
    // This test does not check whether nginx may write to its package's body folder.
    expect(checked.stderr).toContain("syntax is ok");
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
    expect(lines).toContain("limit_conn addresses 100;");
    expect(lines.filter((line) => line.startsWith("proxy_pass"))).toHaveLength(
      lines.filter((line) => line === "proxy_http_version 1.1;").length,
    );
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
    // The safe settings must come from the file.
    const unsafe = { appendonly: "no", appendfsync: "everysec", "maxmemory-policy": "allkeys-lru" };
    const server = await startRedis({ ...unsafe, ...Object.fromEntries(pairs) });
    const link = await openLink(server.url);
    onTestFinished(async () => {
      await link.close();
      await server.dispose();
    });
    expect(await link.problems()).toEqual([]);
  },
  REDIS_MS_MAX,
);
