// Batches that a provider runs, while the gateway is killed at every step, Redis is away, or the disk is full: every line has one result,
// runs once at the provider, and is charged once.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { expect, it, onTestFinished } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { folderForTest } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { REDIS_MS_MAX, startRedis } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const LINES = 600;
const END_MS_MAX = 240_000;

/** A request to the provider, and how much of its exchange happens before the fault. */
type Step = readonly [what: RegExp, until: "arrival" | "answer" | "half"];

/** The sandbox behind a proxy that calls `strike` at each step in turn, and cuts off that request. */
async function startVendor(strike: () => Promise<unknown>) {
  const sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  const steps: Step[] = [];
  const seen: string[] = [];
  const server = createServer((from, to) => {
    const what = `${from.method} ${from.url}`;
    const at = steps[0]?.[0].test(what) === true ? steps.shift()?.[1] : undefined;
    const cut = () => strike().finally(() => to.destroy());
    if (at === "arrival") return void cut();
    const { host: _, ...headers } = from.headers;
    const onward = request(sandbox.url + from.url, { method: from.method, headers }, (answer) => {
      seen.push(what);
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () => {
        const whole = Buffer.concat(parts);
        if (at === "answer") return void cut();
        to.writeHead(answer.statusCode ?? 500, answer.headers);
        if (at !== "half") return void to.end(whole);
        to.write(whole.subarray(0, whole.length / 2), () => void cut());
      });
    });
    onward.on("error", () => to.destroy());
    from.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await sandbox.close();
  });
  return { url: `http://127.0.0.1:${port}`, steps, seen, sandbox };
}

async function accountOf(gateway: GatewayProcess): Promise<string> {
  const account = { name: "batch", kind: "sandbox", credit_cents: 1_000_000 };
  const made = await gateway.admin("POST", "/admin/v1/accounts", account);
  await gateway.admin("PATCH", `/admin/v1/accounts/${made.account_id}`, {
    inference_cap_cents: 900_000_000,
    rate_limit: { requests_per_minute: 10_000_000, in_flight: 1_000 },
  });
  return String(made.api_key);
}

const chat = (at: number) => ({ role: "user", content: `Say ${String(at).padStart(6, "0")}` });

interface Begun {
  readonly isOver: (url: string, key: string) => Promise<boolean>;
  /** The custom ids of its results, and what they say that they cost. */
  readonly results: (url: string, key: string) => Promise<readonly { readonly id: string; readonly nano: number }[]>;
}

const nanoOf = (cost = 0): number => Math.round(cost * 1e9);

async function beginFiles(url: string, apiKey: string, fault: string): Promise<Begun> {
  const client = (base: string, key: string) => new OpenAI({ apiKey: key, baseURL: `${base}/v1`, maxRetries: 0 });
  const lines = Array.from({ length: LINES }, (_, at) => ({
    custom_id: `line-${at}`,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "openai/gpt-6-luna", max_tokens: 10, messages: [chat(at)] },
  }));
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const { files, batches } = client(url, apiKey);
  const file = await files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "in.jsonl") });
  const wanted = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
  const { id } = await batches.create(wanted, { headers: { "x-tollgate-sandbox-fault": fault } });
  return {
    isOver: async (base, key) => (await client(base, key).batches.retrieve(id)).status === "completed",
    async results(base, key) {
      const { batches: own, files: kept } = client(base, key);
      const { output_file_id: output } = await own.retrieve(id);
      const whole = (await (await kept.content(output ?? "")).text()).trim().split("\n");
      return whole.map((line) => {
        const { custom_id: name, response } = JSON.parse(line) as {
          custom_id: string;
          response: { body: { usage: { cost: number } } };
        };
        return { id: name, nano: nanoOf(response.body.usage.cost) };
      });
    },
  };
}

async function beginMessages(url: string, apiKey: string, fault: string): Promise<Begun> {
  const headersOf = (key: string) => ({ "x-api-key": key, "content-type": "application/json" });
  const requests = Array.from({ length: LINES }, (_, at) => ({
    custom_id: `line-${at}`,
    params: { model: "anthropic/claude-haiku-4.5", max_tokens: 10, messages: [chat(at)] },
  }));
  const made = await fetch(`${url}/v1/messages/batches`, {
    method: "POST",
    headers: { ...headersOf(apiKey), "x-tollgate-sandbox-fault": fault },
    body: JSON.stringify({ requests }),
  });
  const { id } = (await made.json()) as { id: string };
  const get = (base: string, key: string, path = "") =>
    fetch(`${base}/v1/messages/batches/${id}${path}`, { headers: headersOf(key) });
  return {
    async isOver(base, key) {
      const { processing_status: status } = (await (await get(base, key)).json()) as { processing_status: string };
      return status === "ended";
    },
    async results(base, key) {
      const whole = (await (await get(base, key, "/results")).text()).trim().split("\n");
      return whole.map((line) => {
        const { custom_id: name, result } = JSON.parse(line) as {
          custom_id: string;
          result: { message: { usage: { cost: number } } };
        };
        return { id: name, nano: nanoOf(result.message.usage.cost) };
      });
    },
  };
}

/** Waits for the batch's end, and checks its results, its charges and the provider's count. */
async function expectWhole(
  gateway: () => GatewayProcess,
  key: string,
  { isOver, results }: Begun,
  books: () => { readonly totals: { readonly requests: number } },
): Promise<void> {
  await eventually(
    () =>
      isOver(gateway().url, key).then(
        (over) => over || undefined,
        () => undefined,
      ),
    "the end of the batch",
    END_MS_MAX,
  );
  const { url } = gateway();
  const lines = await results(url, key);
  expect([lines.length, new Set(lines.map(({ id }) => id)).size]).toEqual([LINES, LINES]);
  expect(books().totals.requests).toBe(LINES);
  const answer = await fetch(`${url}/api/v1/transactions?limit=1000`, { headers: { authorization: `Bearer ${key}` } });
  const { transactions } = (await answer.json()) as { transactions: { kind: string; charged_nano_usd: number }[] };
  const charges = transactions.filter(({ kind }) => kind === "charge").map(({ charged_nano_usd: nano }) => nano);
  expect(charges.reduce((sum, nano) => sum + nano, 0)).toBe(lines.reduce((sum, { nano }) => sum + nano, 0));
  // All lines share one posting.
  expect(charges).toHaveLength(1);
  await eventually(async () => ((await gateway().gauge("tollgate_holds_open")) === 0 ? true : undefined), "no holds");
}

const FILES: readonly Step[] = [
  [/^POST .*\/files$/, "arrival"],
  [/^POST .*\/files$/, "answer"],
  [/^POST .*\/batches$/, "arrival"],
  [/^POST .*\/batches$/, "answer"],
  [/^GET .*\/batches\/\w+$/, "answer"],
  [/^GET .*\/content$/, "half"],
];
const MESSAGES: readonly Step[] = [
  [/^POST .*\/messages\/batches$/, "arrival"],
  [/^POST .*\/messages\/batches$/, "answer"],
  [/^GET .*\/batches\/\w+$/, "arrival"],
  [/^GET .*\/results$/, "half"],
];

it.each([
  ["files", FILES, beginFiles],
  ["messages", MESSAGES, beginMessages],
] as const)("a gateway killed at each step of a batch of %s", async (_, steps, begin) => {
  let gateway: GatewayProcess;
  let kills = 0;
  const vendor = await startVendor(async () => {
    await gateway.kill();
    gateway = await spawnGateway(environment);
    kills += 1;
  });
  const dataDir = folderForTest("tollgate-native-kill-");
  const environment = { DATA_DIR: dataDir, SANDBOX_URL: vendor.url, LOG_LEVEL: "error", BATCH_POLL_SECONDS: "0.2" };
  gateway = await spawnGateway(environment);
  onTestFinished(() => gateway.kill());
  const key = await accountOf(gateway);
  const books = () => vendor.sandbox.books();
  vendor.steps.push(...steps);
  const begun = await begin(gateway.url, key, "batch-slow-1");
  await eventually(() => (kills === steps.length ? true : undefined), "all kills", END_MS_MAX);
  // Twice more while the lines are paid for.
  for (let kill = 0; kill < 2; kill++) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 500));
    await gateway.kill();
    gateway = await spawnGateway(environment);
  }
  await expectWhole(() => gateway, key, begun, books);
  expect((await gateway.terminate()).code).toBe(0);
  expect((await doctorOffline(dataDir)).report.findings).toEqual([]);
});

it("Redis goes away while the provider runs a batch", async () => {
  const redis = await startRedis();
  const proxy = await startTcpProxy(redis.port);
  const vendor = await startVendor(async () => {});
  const gateway = await spawnGateway({
    DATA_DIR: folderForTest("tollgate-native-redis-"),
    SANDBOX_URL: vendor.url,
    REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
    REDIS_COMMAND_MS: "1000",
    LOG_LEVEL: "error",
    BATCH_POLL_SECONDS: "0.2",
  });
  onTestFinished(async () => {
    await gateway.kill();
    await proxy.close();
    await redis.dispose();
  }, REDIS_MS_MAX);
  const key = await accountOf(gateway);
  const begun = await beginFiles(gateway.url, key, "batch-slow-2");
  const looks = () => vendor.seen.filter((what) => /^GET .*\/batches\/\w+$/.test(what)).length;
  await eventually(() => (looks() > 1 ? true : undefined), "the first looks");
  await redis.kill();
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  await redis.start();
  await expectWhole(
    () => gateway,
    key,
    begun,
    () => vendor.sandbox.books(),
  );
});

const folder = mkdtempSync(join(tmpdir(), "tollgate-native-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1g", "tmpfs", folder]).status === 0;
if (!mounted) console.log("skipped: a small file system cannot be mounted here (that takes root and CAP_SYS_ADMIN)");

/** Fills the disk. */
function fill(path: string): void {
  const handle = openSync(path, "a");
  for (const bytes of [1024 * 1024, 4096]) {
    try {
      for (;;) writeSync(handle, Buffer.alloc(bytes, 1));
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOSPC") throw error;
    }
  }
  closeSync(handle);
}

it.skipIf(!mounted)("the disk fills up while the provider runs a batch", async () => {
  const vendor = await startVendor(async () => {});
  const gateway = await spawnGateway({
    DATA_DIR: folder,
    DISK_FREE_MIB_MIN: "4",
    SANDBOX_URL: vendor.url,
    LOG_LEVEL: "fatal",
    BATCH_POLL_SECONDS: "0.2",
  });
  onTestFinished(async () => {
    await gateway.kill();
    spawnSync("umount", ["-l", folder]);
    removeFolder(folder);
  });
  const key = await accountOf(gateway);
  const begun = await beginFiles(gateway.url, key, "batch-slow-2");
  const looks = (what: RegExp) => vendor.seen.filter((one) => what.test(one)).length;
  await eventually(() => (looks(/^GET .*\/batches\/\w+$/) > 1 ? true : undefined), "the first looks");
  const filler = join(folder, "filler");
  for (let round = 0; round < 40; round++) {
    // Repeatedly, because the ballast is released in the meantime.
    fill(filler);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  rmSync(filler);
  await expectWhole(
    () => gateway,
    key,
    begun,
    () => vendor.sandbox.books(),
  );
});
