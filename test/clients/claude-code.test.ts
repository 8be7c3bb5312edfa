// Claude Code runs a task with one shell call, over a vendor with its own wire and over three others.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderForFile, forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";

const CLAUDE = new URL("node_modules/.bin/claude", import.meta.url).pathname;
const TASK = '[[call: Bash {"command":"echo made by an agent > made.txt"}]]';

const folder = folderForFile("tollgate-claude-");
const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

interface Ran {
  readonly code: number | null;
  readonly said: string;
  readonly work: string;
}

/** Runs a task in its own folder, isolated from the user's settings. */
async function runClaude(task: string, environment: Readonly<Record<string, string>>): Promise<Ran> {
  const home = mkdtempSync(join(folder, "home-"));
  const work = join(home, "work");
  mkdirSync(work);
  const child = spawn(CLAUDE, ["-p", task, "--allowedTools", "Bash", "--output-format", "json"], {
    cwd: work,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, "config"),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_MAX_RETRIES: "1",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, said, work };
}

const asBearer = () => ({ ANTHROPIC_AUTH_TOKEN: account.key });

test.each([
  ["its own wire", "sandbox-messages/ok"],
  ["chat completions", "sandbox/ok"],
  ["responses", "sandbox-responses/ok"],
  ["generate content", "sandbox-gemini/ok"],
])("over a vendor of %s", async (_, model) => {
  const models = { ANTHROPIC_MODEL: model, ANTHROPIC_DEFAULT_HAIKU_MODEL: model };
  const base = { ANTHROPIC_BASE_URL: `${gateway.url}/api/llm` };
  const { code, said, work } = await runClaude(TASK, { ...base, ...models, ...asBearer() });
  expect(code, said).toBe(0);
  expect(readFileSync(join(work, "made.txt"), "utf8")).toBe("made by an agent\n");
  const calls = gateway.records().filter(({ served }) => served === model);
  expect(calls.length).toBeGreaterThanOrEqual(2);
  expect(new Set(calls.map(({ status, outcome }) => `${status} ${outcome}`))).toEqual(new Set(["200 success"]));
});

test("without a word about models: its own names mean what is configured, and a bare host is base enough", async () => {
  const { code, said, work } = await runClaude(TASK, {
    ANTHROPIC_BASE_URL: gateway.url,
    ANTHROPIC_API_KEY: account.key,
  });
  expect(code, said).toBe(0);
  expect(readFileSync(join(work, "made.txt"), "utf8")).toBe("made by an agent\n");
});

test("an account without credit is told so, and nothing is tried again", async () => {
  const poor = await gateway.account({ creditCents: 0 });
  const before = gateway.records().length;
  const { code, said } = await runClaude("Hello", {
    ANTHROPIC_BASE_URL: `${gateway.url}/api/llm`,
    ANTHROPIC_AUTH_TOKEN: poor.key,
    ANTHROPIC_MODEL: "sandbox/ok",
  });
  expect(code).not.toBe(0);
  expect(said).toMatch(/API Error: 402 This call can cost up to [\d.]+ USD and the account has 0 USD free/);
  const refused = gateway
    .records()
    .slice(before)
    .filter(({ status }) => status === 402);
  expect(refused.length).toBeLessThanOrEqual(2);
});
