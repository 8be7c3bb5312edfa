// The gateway as several processes over their own Redis, for tests in which they start, stop and die.
import { mkdtempSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { callChat, type SeenCall } from "./chat-call.ts";
import { eventually } from "./gateway.ts";
import { type GatewayProcess, spawnGateway } from "./gateway-process.ts";
import { anyRedis } from "./redis.ts";
import { removeFolder } from "./remove-folder.ts";

const STREAM = { stream: true, stream_options: { include_usage: true }, max_tokens: 100 };
export const SHORT = { model: "sandbox/ok", messages: [{ role: "user", content: "hello" }], ...STREAM };
/** Takes four seconds: long enough that many of them run at the same time on a busy machine. */
export const LONG = { ...SHORT, messages: [{ role: "user", content: "hello [[pace: 15]]" }] };

const FAR = { inference_cap_cents: 900_000_000, rate_limit: { requests_per_minute: 10_000_000, in_flight: 100_000 } };

export interface Several extends GatewayProcess {
  readonly environment: Readonly<Record<string, string>>;
  readonly accountId: string;
  /** Process ids of the current children. */
  children(): number[];
  /** The number of callers' connections at each child. */
  connections(): number[];
  ready(): Promise<number>;
  /** The sum of all series of a metric whose labels contain `part`. */
  total(name: string, part: string): Promise<number>;
  /** A call on a new connection, or on one that stays open. */
  call(body?: Readonly<Record<string, unknown>>, connection?: "close" | "keep-alive"): Promise<SeenCall>;
}

/** The process ids of a process's children. */
export function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return readFileSync(file, "utf8").trim().split(" ").filter(Boolean).map(Number);
}

/** Sockets of a process, by their inodes. */
function socketsOf(pid: number): Set<string> {
  const found = new Set<string>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      if (inode !== undefined) found.add(inode);
    } catch {
      // Closed between the two reads.
    }
  }
  return found;
}

/** Inodes of the sockets at a local port in a given state, in the kernel's notation. */
function socketsAt(port: number, wanted: string): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const rows = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  return rows.filter(([, local, , state]) => local?.endsWith(`:${hex}`) && state === wanted).map((row) => row[9] ?? "");
}

/** Inodes of the established connections to a local port. */
const connectionsTo = (port: number): string[] => socketsAt(port, "01");

/** Process ids of a gateway's children that listen on its public port. */
export function listenersTo(port: number, of: readonly number[]): number[] {
  const listening = socketsAt(port, "0A");
  return of.filter((pid) => {
    const own = socketsOf(pid);
    return listening.some((inode) => own.has(inode));
  });
}

/** `patience` replaces the parent's usual milliseconds. All of it ends with the test, or when `atEnd` says. */
export async function startSeveral(
  count: number,
  patience?: Record<string, number>,
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
): Promise<Several> {
  const redis = await anyRedis();
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-several-"));
  const environment = {
    DATA_DIR: dataDir,
    REDIS_URL: redis.url,
    WORKERS: String(count),
    LOG_LEVEL: "error",
    ADDRESS_REQUESTS_PER_MINUTE: "1000000",
  };
  const program = patience && ["test/support/several-processes.ts", JSON.stringify(patience)];
  const gateway = await spawnGateway(environment, undefined, program);
  atEnd(async () => {
    await gateway.kill();
    await redis.dispose();
    removeFolder(dataDir);
  });
  const made = await gateway.admin("POST", "/admin/v1/accounts", {
    name: "a",
    kind: "sandbox",
    credit_cents: 1_000_000,
  });
  await gateway.admin("PATCH", `/admin/v1/accounts/${made.account_id}`, FAR);
  const key = String(made.api_key);
  const port = Number(new URL(gateway.url).port);
  const children = () => childrenOf(gateway.pid);
  return {
    ...gateway,
    environment: { ...environment, ADMIN_PORT: new URL(gateway.adminUrl).port },
    accountId: String(made.account_id),
    children,
    connections() {
      const open = connectionsTo(port);
      return children().map((pid) => {
        const own = socketsOf(pid);
        return open.filter((inode) => own.has(inode)).length;
      });
    },
    ready: () => readyOf(gateway.adminUrl),
    async total(name, part) {
      const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
      const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) && line.includes(part));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
    },
    call: (body = SHORT, connection = "close") => callChat(body, { url: gateway.url, key, headers: { connection } }),
  };
}

export const charged = (seen: readonly SeenCall[]): number => seen.filter(({ acknowledged }) => acknowledged).length;

async function readyOf(adminUrl: string): Promise<number> {
  const state = (await (await fetch(`${adminUrl}/readyz`)).json()) as { processes: { ready: number } };
  return state.processes.ready;
}

export function processesReady(wanted: number, adminUrl: string): Promise<true> {
  return eventually(async () => (await readyOf(adminUrl)) === wanted || undefined, `${wanted} ready processes`);
}

export function allReady(gateway: Several, wanted: number): Promise<true> {
  return processesReady(wanted, gateway.adminUrl);
}

/** Waits until `count` calls run, without the one that asks. */
export async function inFlight(gateway: Several, count: number): Promise<void> {
  await eventually(
    async () => (await gateway.gauge("tollgate_in_flight")) > count || undefined,
    `${count} calls in flight`,
  );
}
