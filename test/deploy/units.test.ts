// What starts gateways on machines and in clusters: the systemd unit and the Kubernetes manifests.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../src/platform/config.ts";
import { startTestGateway } from "../support/gateway.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";
import { CLOSE_SECONDS, DEPLOY, expectSettings, has, read, temporary, yaml } from "./deployed.ts";

onlyAProcessShows("the files of deploy/");

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
    // The installed paths do not exist on the test machine.
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
    const literals = [...read("kustomization.yaml").matchAll(/--from-literal=(\w+)=(\S+)/g)];
    const secret = literals.map(([, name = "", value = ""]) => [name, value.replace(/^\.{3}$/, "sixteen-characters")]);
    expectSettings(Object.fromEntries(secret));
    // Pods run on several machines: all but the first would reject an archive in a file.
    expect(new Map(secret as [string, string][]).get("ARCHIVE_URL")).toMatch(/^postgres:/);
  });

  test("ask the gateway whether it lives and whether it is ready, on ports that it has", async () => {
    const gateway = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "2" });
    onTestFinished(() => gateway.stop());
    const status = async (path: string) => (await fetch(`${gateway.adminUrl}${path}`)).status;
    while ((await status("/admin/v1/accounts")) !== 429);
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      expect(ports).toContain(probe.httpGet.port);
      // The probe restarts a gateway that does not answer, so it must succeed however strict the gateway is with strangers.
      for (let asked = 0; asked < 4; asked++) expect(await status(probe.httpGet.path)).toBe(200);
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
