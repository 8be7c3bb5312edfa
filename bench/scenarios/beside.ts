// Chat beside each kind of other work: how much later its first token comes, and the event loop's longest turn meanwhile.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { atMost, type Bench, expectWhole, type Row, startClient, told } from "../bench.ts";
import { growthStores } from "../growth-stores.ts";
import { askProbe, median } from "../measure.ts";
import { adminOf, openAccount } from "../peers/tollgate.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { requestText } from "../workload.ts";

const NAME = "chat, 500/s, beside";
const PER_SECOND = 500;
const PROBE = fileURLToPath(new URL("../turn-probe.ts", import.meta.url));
const GATEWAY = new URL("../peers/pages-gateway.ts", import.meta.url);
const [JOBS, JOBS_OF_ACCOUNT, JOB_PAGES, JOB_PAGE_MS] = [200, 3, 10, 1_000];
const SITES = 1_000;
const CONSOLES = 20;
const UPLOAD = Buffer.alloc(5_000_000, "many words ");

/** The gateway, and how to call its two listeners. */
interface Ground {
  readonly port: number;
  readonly pid: number;
  readonly key: string;
  readonly webhookUrl: string;
  readonly newKey: () => Promise<string>;
  readonly pageUrl: (path: string) => string;
  readonly open: (path: string, options?: RequestInit) => Promise<string>;
  readonly account: (path: string, body?: unknown, key?: string) => Promise<unknown>;
  readonly admin: (method: string, path: string, body?: unknown) => Promise<unknown>;
  readonly console: (path: string) => Promise<void>;
  readonly folder: string;
}

/** Other work, repeated while chat is measured, with at least `everyMs` in between. */
interface Work {
  readonly everyMs?: number;
  /** Runs once before. */
  readonly before?: (ground: Ground) => Promise<unknown>;
  readonly once: (ground: Ground) => Promise<unknown>;
}

function inTurn<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<unknown> {
  return items.reduce<Promise<unknown>>((before, item) => before.then(() => work(item)), Promise.resolve());
}

async function reloaded({ pid }: Ground): Promise<void> {
  process.kill(pid, "SIGHUP");
  await sleep(1_000);
}

async function launchJobs(ground: Ground): Promise<void> {
  for (let left = JOBS; left > 0; left -= JOBS_OF_ACCOUNT) {
    const key = await ground.newKey();
    for (let at = 0; at < Math.min(left, JOBS_OF_ACCOUNT); at++) {
      const urls = Array.from({ length: JOB_PAGES }, () => ground.pageUrl(`/text/${JOB_PAGE_MS}`));
      await ground.account("/api/run/core/onescrape-deep", { urls, budgetCents: JOB_PAGES }, key);
    }
  }
}

const fivePages = (kind: string) => (ground: Ground) =>
  ground.account("/api/run/core/onescrape", { urls: Array.from({ length: 5 }, () => ground.pageUrl(`/${kind}/40`)) });

const WORK: Readonly<Record<string, Work>> = {
  "200 jobs of 10 pages": { everyMs: 60_000, once: launchJobs },
  "five plain pages, again and again": { once: fivePages("text") },
  "five HTML pages, again and again": { once: fivePages("html") },
  "reports over all postings": {
    once: ({ admin }) =>
      inTurn(["by=day,model", "by=account", "by=day,provider&format=csv"], (by) =>
        admin("GET", `/admin/v1/usage?${by}`),
      ),
  },
  "transactions as CSV": { once: ({ admin }) => admin("GET", "/admin/v1/transactions?format=csv&limit=1000") },
  "the doctor": { once: ({ admin }) => admin("GET", "/admin/v1/doctor") },
  "a backup": {
    once: async ({ admin, folder }) => {
      const path = join(folder, "beside.backup");
      rmSync(path, { force: true });
      await admin("POST", "/admin/v1/backup", { path });
    },
  },
  "20 console pages": {
    everyMs: 100,
    once: ({ console }) => {
      const pages = ["", "/accounts", "/calls", "/prices", "/routes", "/log"].map((path) => `/console${path}`);
      return Promise.all(Array.from({ length: CONSOLES }, (_, at) => console(pages[at % pages.length] ?? "/console")));
    },
  },
  "signups with a key each, told to a webhook": {
    before: ({ admin, webhookUrl }) =>
      admin("POST", "/admin/v1/webhooks", { url: webhookUrl, kinds: ["key.first_use"] }),
    once: async ({ newKey, account }) => {
      const keys = await Promise.all(Array.from({ length: 10 }, newKey));
      await Promise.all(keys.map((key) => account("/api/v1/account", undefined, key)));
      await Promise.all(keys.map((key) => account("/api/run/core/discover", { query: "news" }, key)));
    },
  },
  "a catalog read again": { everyMs: 500, once: reloaded },
  "the first questions to a new catalog": {
    everyMs: 500,
    once: async (ground) => {
      await reloaded(ground);
      await ground.account("/api/run/core/discover", { query: "search recent news" });
      await inTurn(
        ["/api/llm/v1/models", "/api/run", "/api/catalog", "/catalog", "/catalog?q=news", "/openapi.json", "/llms.txt"],
        (path) => ground.open(path),
      );
    },
  },
  uploads: {
    once: async ({ account }) => {
      const file = { filename: "words.txt", size_bytes: UPLOAD.length, mime: "text/plain" };
      const told = JSON.parse(String(await account("/api/run/files/upload", file)));
      await bodyOf("the upload", await fetch(told.data.put_url, { method: "PUT", body: UPLOAD }));
      await account("/api/run/files/delete", { file_id: told.data.file_id });
    },
  },
};

async function bodyOf(what: string, response: Response): Promise<string> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${what}: ${response.status} ${text.slice(0, 500)}`);
  return text;
}

async function startGround(bench: Bench): Promise<Ground> {
  const { grown } = await growthStores(bench.scale, bench.say);
  const data = join(grown.folder, "data");
  const turns = join(bench.folder, "turns");
  mkdirSync(turns, { recursive: true });
  process.env.TURNS_FOLDER = turns;
  const nodeFlags = ["--no-allocation-site-pretenuring", "--import", PROBE];
  const args = [data, String(bench.upstream.port)];
  const { child, hello } = await bench.processes.fork(GATEWAY, { args, nodeFlags });
  const { port, adminPort = 0 } = hello;
  const admin = adminOf(adminPort, data);
  const newKey = () => openAccount(adminPort, data);
  const key = await newKey();
  const receiver = createServer((request, response) => void request.resume().on("end", () => response.end()));
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  receiver.unref();
  const signedIn = await fetch(`http://127.0.0.1:${adminPort}/console/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: `http://127.0.0.1:${adminPort}` },
    body: new URLSearchParams({ token: readFileSync(join(data, "admin.token"), "utf8").trim(), name: "bench" }),
  });
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  const open = async (path: string, options?: RequestInit) =>
    bodyOf(path, await fetch(`http://127.0.0.1:${port}${path}`, options));
  let page = 0;
  return {
    port,
    pid: child.pid ?? 0,
    key,
    newKey,
    admin,
    open,
    folder: bench.folder,
    webhookUrl: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    pageUrl: (path) => `http://site${page++ % SITES}.bench.example:${bench.upstream.port}${path}?${page}`,
    async account(path, body, as = key) {
      const headers = {
        authorization: `Bearer ${as}`,
        ...(body === undefined
          ? {}
          : { "content-type": "application/json", accept: "application/json, text/event-stream" }),
      };
      const asked = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
      return open(path, asked);
    },
    async console(path) {
      await bodyOf(path, await fetch(`http://127.0.0.1:${adminPort}${path}`, { headers: { cookie } }));
    },
  };
}

/** The event loop's longest turn since the last reading, in milliseconds of wall time and of CPU. */
async function longestTurn(pid: number): Promise<{ readonly busyMs: number; readonly cpuMs: number }> {
  const said = await askProbe(pid, join(process.env.TURNS_FOLDER ?? ".", String(pid)));
  const [busyMs = Number.NaN, cpuMs = Number.NaN] = said.split(" ").map(Number);
  return { busyMs, cpuMs };
}

interface Figures {
  readonly p99: number[];
  readonly busyMs: number[];
  readonly cpuMs: number[];
}

const noFigures = (): Figures => ({ p99: [], busyMs: [], cpuMs: [] });

async function measure(client: Client, chat: Subject, ms: number, into: Figures): Promise<void> {
  const request = requestText(chat, { stream: true, chunks: 16 });
  await longestTurn(chat.pid ?? 0);
  const result = await client.run({ kind: "open", port: chat.port, perSecond: PER_SECOND, ms, request });
  const { busyMs, cpuMs } = await longestTurn(chat.pid ?? 0);
  expectWhole(chat, result);
  into.p99.push(result.firstToken?.p99 ?? Number.NaN);
  into.busyMs.push(busyMs);
  into.cpuMs.push(cpuMs);
}

async function besides({ once, everyMs = 0 }: Work, ground: Ground, measured: () => Promise<void>): Promise<number> {
  const over = new AbortController();
  let times = 0;
  const working = (async () => {
    while (!over.signal.aborted) {
      await once(ground);
      times += 1;
      await sleep(everyMs, undefined, { signal: over.signal }).catch(() => {});
    }
  })();
  await Promise.all([working, measured().finally(() => over.abort())]);
  return times;
}

export async function beside(bench: Bench): Promise<Row[]> {
  const ground = await startGround(bench);
  const client = await startClient(bench);
  const chat: Subject = {
    name: "tollgate",
    port: ground.port,
    pid: ground.pid,
    child: null,
    path: "/api/llm/v1/chat/completions",
    model: "openai/gpt-5.4-mini",
    headers: { authorization: `Bearer ${ground.key}` },
  };
  const request = requestText(chat, { stream: true, chunks: 16 });
  await client.run({ kind: "closed", port: chat.port, request, connections: 16, ms: bench.quick ? 4_000 : 8_000 });
  const ms = 2_500;
  const rows: Row[] = [];
  for (const [what, work] of Object.entries(WORK)) {
    const [alone, with_] = [noFigures(), noFigures()];
    await work.before?.(ground);
    let times = 0;
    for (let round = 0; round < bench.rounds; round++) {
      await measure(client, chat, ms, alone);
      times += await besides(work, ground, () => measure(client, chat, ms, with_));
    }
    const text = ({ p99, busyMs, cpuMs }: Figures) =>
      `p99 ${median(p99).toFixed(1)} ms, turn ${median(busyMs).toFixed(1)} (${median(cpuMs).toFixed(1)} of CPU)`;
    bench.say(`  ${NAME} ${what}: ${times} times; ${text(alone)} alone, ${text(with_)} beside`);
    rows.push(
      atMost(NAME, `${what}: first token p99 over that without`, median(with_.p99) / median(alone.p99), 1.2, "x"),
      told(
        NAME,
        `${what}: the longest turn, without it`,
        `${median(with_.busyMs).toFixed(1)} ms (${median(with_.cpuMs).toFixed(1)} of CPU), ${median(alone.busyMs).toFixed(1)} (${median(alone.cpuMs).toFixed(1)})`,
      ),
    );
  }
  return rows;
}
