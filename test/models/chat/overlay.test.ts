// The operator's own provider and tier, as files beside a running gateway: read at start, and again on SIGHUP.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { endWithTests } from "../../support/end-with-tests.ts";
import { eventually } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { onlyAProcessShows } from "../../support/process-fact.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { type RecordingVendor, startRecordingVendor } from "./recording-vendor.ts";

onlyAProcessShows("SIGHUP reloads");

const MAIN = new URL("../../../src/main.ts", import.meta.url).pathname;

const ACME = `// Acme: two models over OpenAI's wire.
import { bearer, defineAdapter } from "#adapter";

export default defineAdapter({
  name: "Acme",
  docs: "https://acme.example/docs",
  origin: "https://api.acme.example/v1",
  auth: bearer,
  maker: "acme",
  chat: {
    dialect: "chat-completions",
    dropFields: ["seed"],
    models: {
      "one-2": { contextTokens: 32_000, prices: [{ since: "2026-08-01", input: "0.5", output: "1.5" }] },
      "two-1": { contextTokens: 64_000, prices: [{ since: "2026-08-01", input: "2", output: "8" }] },
    },
  },
});
`;

function tier(model: string): string {
  return `// Ours.
import { defineTier } from "#tier";

export default defineTier({ purpose: "Ours.", firstTokenMsMax: 5_000, candidates: [{ model: "${model}" }] });
`;
}

let folder: string;
let vendor: RecordingVendor;
let gateway: ChildProcess;
let said = "";
let client: OpenAI;

function write(file: string, text: string): void {
  const path = join(folder, "overlay", file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function until(pattern: RegExp): Promise<RegExpExecArray> {
  return eventually(() => pattern.exec(said) ?? undefined, `${pattern} on standard error`);
}

/** Makes the gateway read its files again, and waits for its log line. */
async function reread(pattern: RegExp): Promise<void> {
  said = "";
  gateway.kill("SIGHUP");
  await until(pattern);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-overlay-"));
  vendor = await startRecordingVendor();
  write("adapters/acme.ts", ACME);
  const dataDir = join(folder, "data");
  gateway = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", MAIN], {
    env: {
      ...process.env,
      PORT: "0",
      ADMIN_PORT: "0",
      DATA_DIR: dataDir,
      LOG_LEVEL: "silent",
      OVERLAY_DIR: join(folder, "overlay"),
      ACME_API_KEY: "key-of-acme",
      ACME_BASE_URL: `${vendor.url}/acme/v1`,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  endWithTests(gateway);
  gateway.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const [, url, adminUrl] = await until(/listens on (\S+), its admin listener on (\S+)\./);
  const made = await postAs(
    readFileSync(join(dataDir, "admin.token"), "utf8").trim(),
    `${adminUrl}/admin/v1/accounts`,
    { name: "me" },
  );
  const { api_key } = (await made.json()) as { api_key: string };
  client = new OpenAI({ apiKey: api_key, baseURL: `${url}/api/llm/v1`, maxRetries: 0 });
});

afterAll(async () => {
  const gone = new Promise((resolve) => gateway.once("exit", resolve));
  gateway.kill("SIGTERM");
  expect(await gone).toBe(0);
  await vendor.close();
  removeFolder(folder);
});

function ask(model: string): Promise<OpenAI.ChatCompletion> {
  return client.chat.completions.create({ model, messages: [{ role: "user", content: "[[pace: 100000]]" }], seed: 1 });
}

it("serves a new provider from one file of fewer than sixty lines", async () => {
  expect(ACME.split("\n").length).toBeLessThan(60);
  const { model, usage } = await ask("acme/one-2");
  expect(model).toBe("acme/one-2");
  const cost = (usage as unknown as { cost: number }).cost;
  expect(Math.round(cost * 1e9)).toBe((usage?.prompt_tokens ?? 0) * 500 + (usage?.completion_tokens ?? 0) * 1_500);
  const [arrival] = vendor.arrivals;
  expect([arrival?.path, arrival?.headers.authorization]).toEqual(["/acme/v1/chat/completions", "Bearer key-of-acme"]);
  expect(arrival?.body).toMatchObject({ model: "one-2", max_tokens: 4096 });
  expect(arrival?.body).not.toHaveProperty("seed");
});

it("reads files again on SIGHUP, keeps the old ones where one is broken, and goes on meanwhile", async () => {
  await expect(ask("core/ours")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  write("tiers/ours.ts", tier("acme/one-2"));
  await reread(/were read again/);
  expect((await ask("core/ours")).model).toBe("acme/one-2");

  write("tiers/ours.ts", "export default {");
  await reread(/stay as they were:[\s\S]*ours\.ts/);
  expect((await ask("core/ours")).model).toBe("acme/one-2");

  write("tiers/ours.ts", tier("acme/no-such"));
  await reread(/stay as they were:[\s\S]*acme\/no-such/);
  expect((await ask("ours")).model).toBe("acme/one-2");

  const running = client.chat.completions.stream({
    model: "core/ours",
    messages: [{ role: "user", content: "[[pace: 100]]" }],
  });
  await new Promise<void>((resolve) => running.once("content", () => resolve()));
  write("tiers/ours.ts", tier("acme/two-1"));
  await reread(/were read again/);
  expect((await running.finalChatCompletion()).choices[0]?.finish_reason).toBe("stop");
  expect((await ask("core/ours")).model).toBe("acme/two-1");
});
