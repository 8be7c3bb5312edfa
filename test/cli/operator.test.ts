// A first-time operator follows docs/guides/budgets.md, with the command and over HTTP: finds the biggest spender, the reason why a call
// failed, and how to stop a key, each in under a minute.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { INSTALLED_MS_MAX } from "../support/apt-install.ts";
import { callChat } from "../support/chat-call.ts";
import { needCurl } from "../support/curl.ts";
import { endWithTests } from "../support/end-with-tests.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { writeNpm } from "../support/npm.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

onlyAProcessShows("an operator's commands");

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/guides/budgets.md"), "utf8");
const MODEL = "openai/gpt-oss-120b";
const TASK_MS_MAX = 60_000;

/** The lines of the shell blocks below the heading, verbatim. */
const [byCommand = [], overHttp = []] = [
  ...(/^## Who spent what, why a call failed, stop a key\n([\s\S]*?)^## /m.exec(PAGE)?.[1] ?? "").matchAll(
    /^```sh\n([\s\S]*?)\n```$/gm,
  ),
].map(([, text = ""]) => text.split("\n"));

let vendor: VendorServer;
let gateway: TestGateway;
let folder: string;
let spender: TestAccount & { readonly agent: { readonly id: string; readonly key: string } };

const answerOf = (tokens: number) => ({
  body: {
    ...{ id: "c1", object: "chat.completion", created: 1, model: "gpt-oss" },
    choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 5, completion_tokens: tokens, total_tokens: 5 + tokens },
  },
});

const call = (key: string) =>
  callChat({ model: MODEL, max_tokens: 2_000, messages: [{ role: "user", content: "Hi" }] }, { url: gateway.url, key });

beforeAll(async () => {
  await needCurl();
  vendor = await startVendor();
  folder = mkdtempSync(join(tmpdir(), "tollgate-operator-"));
  gateway = await startTestGateway({ DATA_DIR: folder, GROQ_API_KEY: "k", GROQ_BASE_URL: `${vendor.url}/v1` });
  // With tomorrow's date, today's spending counts as yesterday's.
  writeFileSync(join(folder, "date"), "#!/bin/sh\nexec /bin/date -u +%F\n", { mode: 0o755 });
  writeNpm(folder);
  const [one, other] = [await gateway.account({ kind: "personal" }), await gateway.account({ kind: "personal" })];
  const made = await gateway.admin("POST", `/admin/v1/accounts/${one.accountId}/keys`, { label: "nightly" });
  spender = { ...one, agent: { id: String(made.json.id), key: String(made.json.api_key ?? made.json.key) } };
  vendor.answers(answerOf(1_000), answerOf(10), answerOf(20), {
    status: 400,
    body: { error: { message: "no tools here" } },
  });
  for (const key of [spender.agent.key, one.key, other.key]) expect((await call(key)).status).toBe(200);
  expect((await call(spender.agent.key)).status).toBeGreaterThanOrEqual(400);
}, INSTALLED_MS_MAX);

afterAll(async () => {
  await gateway.stop();
  await vendor.close();
  removeFolder(folder);
});

/** Types lines into one shell, with the page's placeholders replaced by what was found. */
async function type(lines: readonly string[], found: Readonly<Record<string, string>> = {}): Promise<string> {
  const typed = lines
    .join("\n")
    .replaceAll("http://127.0.0.1:8081", gateway.adminUrl)
    .replaceAll(/\b(acct|key)_\.\.\./g, (left, kind: string) => found[kind] ?? left);
  const child = spawn("bash", ["-ec", typed], {
    cwd: ROOT,
    env: {
      PATH: [folder, join(ROOT, "node_modules/.bin"), process.env.PATH].join(delimiter),
      HOME: process.env.HOME ?? "/",
      DATA_DIR: folder,
      ADMIN_PORT: new URL(gateway.adminUrl).port,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithTests(child);
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const [code] = await once(child, "close");
  expect(code, `${typed}\n${out}`).toBe(0);
  return out;
}

/** Prints how long a task took. */
async function timed(task: string, work: () => Promise<void>): Promise<void> {
  const fromMs = Date.now();
  await work();
  const ms = Date.now() - fromMs;
  console.log(`${task}: ${(ms / 1_000).toFixed(1)} s`);
  expect(ms).toBeLessThan(TASK_MS_MAX);
}

it.each([
  ["the command", byCommand],
  ["HTTP", overHttp],
])(
  "by %s: who spent most yesterday, why a call failed, and a key is stopped",
  async (way, lines) => {
    const isSetting = (line: string) => /^(\w+=|admin\(\))/.test(line);
    const settings = lines.filter(isSetting);
    const [who, failed, why, pause, resume, ...others] = lines.filter((line) => !isSetting(line));
    expect(others).toEqual([]);
    const ask = (line = "", found = {}) => type([...settings, line], found);
    const found: Record<string, string> = {};
    await timed(`${way}, who spent most yesterday`, async () => {
      const told = await ask(who);
      for (const [id, kind = ""] of told.matchAll(/\b(acct|key)_\w{15,}/g)) found[kind] ??= id;
      expect(found).toEqual({ acct: spender.accountId, key: spender.agent.id });
    });
    await timed(`${way}, why a call failed`, async () => {
      const [list, reason] = [await ask(failed), await ask(why, found)];
      for (const told of [list, reason]) expect(told).toContain("no tools here");
      expect(list).toContain(spender.agent.id);
    });
    await timed(`${way}, a key is stopped`, async () => {
      await ask(pause, found);
      expect((await call(spender.agent.key)).error).toMatchObject({ code: "key_paused" });
      await ask(resume, found);
    });
  },
  4 * TASK_MS_MAX,
);
