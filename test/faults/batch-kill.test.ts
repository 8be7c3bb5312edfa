// A gateway killed repeatedly while a batch is uploaded, read, run and written: every line has one result, and is charged once.
import OpenAI, { toFile } from "openai";
import { expect, it, onTestFinished } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { folderForTest } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { LONG_RUNS } from "../support/runs.ts";

const LINES = LONG_RUNS ? 5_000 : 1_000;
const KILLS = LONG_RUNS ? 30 : 6;
const KILL_MS_MAX = 1_500;
const ENDED = ["completed", "failed", "expired", "cancelled"];

/** Prompts of equal length, so that each line costs the same. */
const line = (at: number) => ({
  custom_id: `line-${at}`,
  method: "POST",
  url: "/v1/chat/completions",
  body: {
    // Slow enough that most kills find lines in flight.
    model: "sandbox/slow-headers-0.2",
    max_tokens: 10,
    messages: [{ role: "user", content: `Say ${String(at).padStart(6, "0")}` }],
  },
});

interface Result {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: { readonly usage: { readonly cost: number } } };
}

it(`${KILLS} kills in a batch of ${LINES} lines lose none and double none`, async () => {
  const sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  const dataDir = folderForTest("tollgate-batch-kill-");
  const environment = { DATA_DIR: dataDir, SANDBOX_URL: sandbox.url, LOG_LEVEL: "error" };
  let gateway: GatewayProcess = await spawnGateway(environment);
  onTestFinished(async () => {
    await gateway.kill();
    await sandbox.close();
  });
  const account = { name: "batch", kind: "sandbox", credit_cents: 1_000_000 };
  const made = await gateway.admin("POST", "/admin/v1/accounts", account);
  const apiKey = String(made.api_key);
  const limits = {
    inference_cap_cents: 900_000_000,
    rate_limit: { requests_per_minute: 10_000_000, in_flight: 1_000 },
  };
  await gateway.admin("PATCH", `/admin/v1/accounts/${made.account_id}`, limits);
  const client = () => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const text = Array.from({ length: LINES }, (_, at) => JSON.stringify(line(at))).join("\n");
  const file = await client().files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "in.jsonl") });
  const wanted = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
  const { id } = await client().batches.create(wanted);
  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * KILL_MS_MAX));
    await gateway.kill();
    gateway = await spawnGateway(environment);
  }
  const batch = await eventually(
    async () => {
      const now = await client().batches.retrieve(id);
      return ENDED.includes(now.status) ? now : undefined;
    },
    "the end of the batch",
    240_000,
  );
  expect(batch).toMatchObject({ status: "completed", request_counts: { total: LINES, completed: LINES, failed: 0 } });
  const results = (await (await client().files.content(batch.output_file_id ?? "")).text())
    .trim()
    .split("\n")
    .map((one) => JSON.parse(one) as Result);
  expect(new Set(results.map(({ custom_id: name }) => name)).size).toBe(LINES);
  expect(results).toHaveLength(LINES);
  // The sandbox counts every call, also those that a kill cut off; all cost the same.
  const { totals } = (await (await fetch(`${sandbox.url}/_sandbox/books`)).json()) as {
    totals: { requests: number; whole: number; tokensIn: number; tokensOut: number };
  };
  expect(totals.requests).toBeGreaterThanOrEqual(LINES);
  const { tokensIn, tokensOut, requests, whole } = totals;
  const lineNano = Math.round((tokensIn / requests) * 1_000 + (tokensOut / whole) * 2_000);
  const told = results.reduce((sum, { response }) => sum + Math.round(response.body.usage.cost * 1e9), 0);
  expect(told).toBe(lineNano * LINES);
  const answer = await fetch(`${gateway.url}/api/v1/transactions?limit=1000`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  const { transactions } = (await answer.json()) as {
    transactions: { kind: string; charged_nano_usd: number; usage: { output_tokens: number } }[];
  };
  const charges = transactions.filter(({ kind }) => kind === "charge");
  expect(charges.reduce((sum, one) => sum + one.charged_nano_usd, 0)).toBe(lineNano * LINES);
  expect(charges.length).toBeGreaterThanOrEqual(LINES / 500);
  expect(await gateway.gauge("tollgate_holds_open")).toBe(0);
  console.log(`${totals.requests} calls for ${LINES} lines, ${charges.length} postings`);
  expect((await gateway.terminate()).code).toBe(0);
  expect((await doctorOffline(dataDir)).report.findings).toEqual([]);
});
