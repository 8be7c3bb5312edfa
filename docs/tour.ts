// The last command of the tour in guides/processes.md: load on several processes, one of them killed, and what is in the books afterwards.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const { PORT = "8080", ADMIN_PORT = "8081", DATA_DIR = "./data" } = process.env;
const API = `http://127.0.0.1:${PORT}`;
const ADMIN = `http://127.0.0.1:${ADMIN_PORT}`;
const LANES = 16;
const BEFORE_MS = 2_000;
const AFTER_MS = 3_000;
const READY_MS_MAX = 120_000;
const LOOK_MS = 1_000;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function admin(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const token = readFileSync(join(DATA_DIR, "admin.token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(`${ADMIN}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  return (await response.json()) as Record<string, unknown>;
}

async function ready(): Promise<number> {
  const answer = await fetch(`${ADMIN}/readyz`).catch(() => null);
  const { processes } = ((await answer?.json()) ?? {}) as { processes?: { ready: number } };
  return processes?.ready ?? 0;
}

/** Waits until so many processes serve. */
async function untilReady(count: number): Promise<void> {
  for (const until = Date.now() + READY_MS_MAX; (await ready()) < count; await sleep(LOOK_MS)) {
    if (Date.now() > until)
      throw new Error(`${ADMIN} has no ${count} processes: was it started with WORKERS=${count}?`);
  }
}

/** The processes of the gateway that was started in this folder, by what Linux says of them. */
function workers(): number[] {
  const port = process.env.ADMIN_PORT === undefined ? null : `ADMIN_PORT=${ADMIN_PORT}`;
  const isOurs = (pid: string) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      const settings = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      const samePort = port === null ? !settings.some((one) => one.startsWith("ADMIN_PORT=")) : settings.includes(port);
      const isWorker = words.some((word) => word.endsWith("main.ts")) && words.includes("worker");
      return isWorker && samePort && readlinkSync(`/proc/${pid}/cwd`) === process.cwd();
    } catch {
      return false;
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isOurs(name))
    .map(Number);
}

interface Told {
  readonly requestId: string;
  readonly nano: number;
}

/** Calls until `isOver`; a call whose connection breaks has no answer, and so far as its caller knows no charge. */
async function load(key: string, isOver: () => boolean) {
  const told: Told[] = [];
  const others = new Map<string, number>();
  const request = {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ model: "sandbox/ok-at-200", messages: [{ role: "user", content: "Hello" }] }),
  };
  const lane = async () => {
    while (!isOver()) {
      try {
        const response = await fetch(`${API}/api/llm/v1/chat/completions`, request);
        const { usage } = (await response.json()) as { usage?: { cost: number } };
        if (response.status !== 200 || usage === undefined) throw new Error(String(response.status));
        told.push({ requestId: response.headers.get("x-request-id") ?? "", nano: Math.round(usage.cost * 1e9) });
      } catch (error) {
        const what = error instanceof Error && /^\d+$/.test(error.message) ? error.message : "connection broken";
        others.set(what, (others.get(what) ?? 0) + 1);
        await sleep(20);
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return { told, others };
}

async function charges(key: string): Promise<Map<string, number[]>> {
  const found = new Map<string, number[]>();
  for (let cursor = ""; ; ) {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${API}/api/v1/transactions?limit=1000${cursor}`, { headers });
    const page = (await response.json()) as {
      transactions: { kind: string; request_id: string; charged_nano_usd: number }[];
      next_cursor: string | null;
    };
    for (const { kind, request_id, charged_nano_usd } of page.transactions) {
      if (kind === "charge") found.set(request_id, [...(found.get(request_id) ?? []), charged_nano_usd]);
    }
    if (page.next_cursor === null) return found;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

await untilReady(3);
const made = await admin("POST", "/admin/v1/accounts", { name: "tour", kind: "sandbox", credit_cents: 100_000 });
const far = { inference_cap_cents: 100_000, rate_limit: { requests_per_minute: 1_000_000, in_flight: 1_000 } };
await admin("PATCH", `/admin/v1/accounts/${made.account_id}`, far);
const key = String(made.api_key);
let over = false;
const running = load(key, () => over);
say(`${LANES} callers call three processes.`);
await sleep(BEFORE_MS);
const victim = workers()[0];
if (victim === undefined) throw new Error("no process was found in /proc");
process.kill(victim, "SIGKILL");
say(`Killed process ${victim}; the other two go on.`);
await sleep(AFTER_MS);
await untilReady(3);
say("Three processes are ready again.");
over = true;
const { told, others } = await running;
const inBooks = await charges(key);
const lost = told.filter(({ requestId, nano }) => inBooks.get(requestId)?.join() !== String(nano));
const { findings } = (await admin("GET", "/admin/v1/doctor")) as { findings: unknown[] };
const rest = [...others].map(([what, count]) => `${count} ${what}`).join(", ") || "none";
say(`${told.length} calls were answered, ${inBooks.size} charged; without an answer: ${rest}.`);
say(`Answers that are not in the books once, at their cost: ${lost.length}. What doctor found: ${findings.length}.`);
if (lost.length > 0 || findings.length > 0 || told.length === 0) process.exitCode = 1;
