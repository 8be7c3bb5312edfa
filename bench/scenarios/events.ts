// Ten thousand events a minute, each from its own call, sent to a slow receiver: no call waits for them.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { atLeast, atMost, type Bench, expectWhole, type Row, told, withCpu, withGateway } from "../bench.ts";
import type { JobResult } from "../load/jobs.ts";
import { SOMEBODY } from "../load/jobs.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { requestText } from "../workload.ts";

const NAME = "events, 10,000 a minute";
const PER_SECOND = 175;
const KEYS_PER_ACCOUNT = 900;
const AT_ONCE = 16;
const SLOW_MS = 100;
const LEFT_MS_MAX = 120_000;

/** Answers slowly; records when each event came, by id. */
async function startReceiver() {
  const cameAtMs = new Map<string, number>();
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const id = String(request.headers["webhook-id"]);
      cameAtMs.set(id, cameAtMs.get(id) ?? performance.now());
      setTimeout(() => response.end(), SLOW_MS);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, cameAtMs, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

/** Unused keys: the first call of each is an event. */
async function freshKeys(subject: Subject, count: number): Promise<readonly string[]> {
  const owners = Array.from({ length: Math.ceil(count / KEYS_PER_ACCOUNT) }, () => subject.openAccount?.() ?? "");
  const left = (await Promise.all(owners)).flatMap((owner) => Array.from({ length: KEYS_PER_ACCOUNT }, () => owner));
  left.length = count;
  const keys: string[] = [];
  const make = async () => {
    for (let owner = left.pop(); owner !== undefined; owner = left.pop()) {
      const response = await fetch(`http://127.0.0.1:${subject.port}/api/v1/agents`, {
        method: "POST",
        headers: { authorization: `Bearer ${owner}`, "content-type": "application/json" },
        body: "{}",
      });
      keys.push(((await response.json()) as { api_key: string }).api_key);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, make));
  return keys;
}

interface Calls extends JobResult {
  readonly cpuMs: number;
}

async function calls(client: Client, subject: Subject, callers: readonly string[], ms: number): Promise<Calls> {
  const request = requestText({ ...subject, headers: { authorization: `Bearer ${SOMEBODY}` } }, { stream: false });
  const job = { kind: "open", port: subject.port, request, callers, inTurn: true, perSecond: PER_SECOND, ms } as const;
  const { result, cpuMs } = await withCpu(subject, () => client.run(job));
  expectWhole(subject, result);
  return { ...result, cpuMs };
}

export function events(bench: Bench): Promise<Row[]> {
  const options = { settings: { WEBHOOKS_PRIVATE: "1" } };
  return withGateway(bench, (subject, client) => measure(bench, subject, client), options);
}

async function measure(bench: Bench, subject: Subject, client: Client): Promise<Row[]> {
  const receiver = await startReceiver();
  const ms = bench.quick ? 10_000 : 60_000;
  const keys = await freshKeys(subject, Math.ceil((PER_SECOND * ms * 1.1) / 1_000));
  await subject.ask?.("POST", "/admin/v1/webhooks", { url: receiver.url, kinds: ["key.first_use"] });
  // Used keys make no events, so this is the same load without them.
  const [warm, fresh] = [keys.slice(0, 50), keys.slice(50)];
  const request = requestText({ ...subject, headers: { authorization: `Bearer ${SOMEBODY}` } }, { stream: false });
  await client.run({ kind: "closed", port: subject.port, request, callers: warm, connections: 32, ms: 6_000 });
  const before = await calls(client, subject, warm, ms / 3);
  const known = receiver.cameAtMs.size;
  const meanwhile = await calls(client, subject, fresh, ms);
  const dueCount = Math.min(meanwhile.whole, fresh.length) + known;
  const untilMs = performance.now() + LEFT_MS_MAX;
  while (receiver.cameAtMs.size < dueCount && performance.now() < untilMs)
    await new Promise((go) => setTimeout(go, 50));
  const after = await calls(client, subject, warm, ms / 3);
  receiver.server.closeAllConnections();
  receiver.server.close();
  return rowsOf([...receiver.cameAtMs.values()].slice(known), dueCount - known, { before, meanwhile, after });
}

function rowsOf(
  cameAtMs: readonly number[],
  caused: number,
  { before, meanwhile, after }: Readonly<Record<"before" | "meanwhile" | "after", Calls>>,
): Row[] {
  const minutes = ((cameAtMs.at(-1) ?? 0) - (cameAtMs[0] ?? 0)) / 60_000;
  const at = ({ wholeCall }: JobResult, part: "p50" | "p99") => wholeCall?.[part] ?? Number.NaN;
  const text = (result: JobResult) => `${at(result, "p50").toFixed(2)} / ${at(result, "p99").toFixed(2)} ms`;
  const over = (part: "p50" | "p99") => at(meanwhile, part) - (at(before, part) + at(after, part)) / 2;
  const eachUs = ({ cpuMs, whole }: Calls) => (cpuMs * 1_000) / whole;
  const eventUs = eachUs(meanwhile) - (eachUs(before) + eachUs(after)) / 2;
  return [
    told(NAME, "CPU of an event, listed and sent, beside its call's", `${eventUs.toFixed(0)} us`),
    told(NAME, "calls that cause none, before and after, p50 / p99", `${text(before)}, ${text(after)}`),
    told(NAME, "calls that cause one each, p50 / p99", text(meanwhile)),
    atMost(NAME, "p50 over that of calls that cause none", over("p50"), 0.5, " ms"),
    atMost(NAME, "p99 over that of calls that cause none", over("p99"), 10, " ms"),
    atLeast(NAME, `delivered a minute, ${SLOW_MS} ms each`, cameAtMs.length / minutes, 10_000, ""),
    atLeast(NAME, "delivered of those caused", (100 * cameAtMs.length) / caused, 100, " %"),
  ];
}
