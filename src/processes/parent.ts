// The gateway as several processes: children serve callers on one port; the parent has the admin listener and manages the children.
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { systemClock } from "../core/clock.ts";
import { startGateway } from "../gateway/gateway.ts";
import type { Readiness } from "../money/accounts/admin-endpoints.ts";
import type { Config } from "../platform/config.ts";
import { readMetrics, writeMetrics } from "../platform/observe/merge-metrics.ts";
import type { ChildPart } from "./child.ts";
import { PATIENCE, type Supervisor, startSupervisor } from "./supervisor.ts";
import { WORKER_ARGUMENT } from "./worker.ts";

/** The time for a child besides finishing its requests: to settle interrupted calls, and to close what it opened. */
const CLOSE_MS_MAX = 15_000;
const PROGRAM = fileURLToPath(new URL("../main.ts", import.meta.url));

export type Processes = Awaited<ReturnType<typeof startProcesses>>;

/** `wanted`, or a free port for 0. It must be free: another program on a shared port would receive some of the calls. */
async function freePort(host: string, wanted: number): Promise<number> {
  const probe = createServer();
  try {
    probe.listen({ host, port: wanted });
    await once(probe, "listening");
  } catch {
    throw new Error(`cannot listen on ${host} port ${wanted}: taken, not allowed, or not of this machine`);
  }
  const bound = probe.address();
  probe.close();
  await once(probe, "close");
  return bound === null || typeof bound === "string" ? wanted : bound.port;
}

/** Where roles are divided among processes, the first does the background work and the others serve callers. */
function partOf(role: Config["role"], place: number): ChildPart {
  if (role !== "split") return { role, serves: true };
  return place === 1 ? { role: "work", serves: false } : { role: "serve", serves: true };
}

export function servingOf({ role, workers }: Pick<Config, "role" | "workers">): number {
  return role === "split" ? workers - 1 : workers;
}

function readinessOf(supervisor: Supervisor | null, wanted: number): Readiness {
  const ready = supervisor?.ready() ?? 0;
  const processes = { ready, wanted };
  if (supervisor === null) return { ready: false, reason: "starting", processes };
  if (supervisor.stopping) return { ready: false, reason: "draining", processes };
  return ready > 0 ? { ready: true, processes } : { ready: false, reason: "no process is ready", processes };
}

/** Starts `config.workers` processes. Rejects with a sentence for the operator, as `startGateway` does. */
export async function startProcesses(
  set: Config,
  say: (sentence: string) => void,
  onFatal: (error: Error) => void,
  patience = PATIENCE,
) {
  const config = { ...set, port: await freePort(set.host, set.port) };
  let supervisor: Supervisor | null = null;
  const gateway = await startGateway({
    config,
    onFatal,
    role: {
      kind: "parent",
      readiness: () => readinessOf(supervisor, servingOf(config)),
      async metricsText() {
        const own = await gateway.metricsText();
        return supervisor === null ? own : writeMetrics(await supervisor.metrics(readMetrics(own)));
      },
    },
  });
  try {
    supervisor = await startSupervisor({
      file: PROGRAM,
      args: [WORKER_ARGUMENT],
      count: config.workers,
      partOf: (place) => partOf(config.role, place),
      dataDir: config.dataDir,
      port: config.port,
      sandboxUrl: gateway.sandboxUrl,
      drainMsMax: config.drainMs + CLOSE_MS_MAX,
      retireMsMax: config.wholeMsMax + config.drainMs + CLOSE_MS_MAX,
      patience,
      clock: systemClock,
      say,
      onGivenUp: onFatal,
    });
  } catch (error) {
    await gateway.drain();
    throw error;
  }
  const running = supervisor;
  return {
    url: gateway.url,
    adminUrl: gateway.adminUrl,
    startWords: () => gateway.startWords(),
    /** Replaces every process, one at a time, if the adapters and tiers can be read. */
    async reload() {
      await gateway.reload();
      await running.roll();
    },
    async drain() {
      await running.drain();
      await gateway.drain();
    },
  };
}
