// Gemini CLI with the gateway's address in place of its vendor's: a question, and one of its tools called by any vendor's model.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

const run = promisify(execFile);
const CLI = join(import.meta.dirname, "node_modules/@google/gemini-cli/bundle/gemini.js");
const home = mkdtempSync(join(tmpdir(), "tollgate-gemini-cli-"));

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 100_000 });
  mkdirSync(join(home, ".gemini"));
  const settings = {
    security: { auth: { selectedType: "gemini-api-key" } },
    privacy: { usageStatisticsEnabled: false },
  };
  writeFileSync(join(home, ".gemini/settings.json"), JSON.stringify(settings));
  writeFileSync(join(home, "road.txt"), "the light is on");
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  removeFolder(home);
  expect(findings).toEqual([]);
});

/** The command line's answer to a question, as JSON. */
async function say(model: string, question: string): Promise<{ response: string; stats: Record<string, unknown> }> {
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    GEMINI_API_KEY: account.key,
    GOOGLE_GEMINI_BASE_URL: `${gateway.url}/api/llm`,
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    CI: "1",
  };
  const args = [CLI, "-m", model, "-o", "json", "--approval-mode", "yolo", "-p", question];
  const { stdout } = await run(process.execPath, args, { env, cwd: home, timeout: 90_000 });
  return JSON.parse(stdout.slice(stdout.indexOf("{")));
}

it.each(["sandbox/ok", "sandbox-messages/ok", "sandbox-responses/ok"])(
  "asks %s and shows what it said",
  async (model) => {
    expect((await say(model, "[[say: one two three]]")).response).toBe("one two three");
  },
);

it("runs the tools that a model calls, and goes on", async () => {
  const { response, stats } = await say("sandbox-messages/ok", '[[call: list_directory {"dir_path": "."}]]');
  expect(response).toMatch(/\w/);
  expect(stats).toMatchObject({ tools: { totalCalls: 1, totalFail: 0 } });
});
