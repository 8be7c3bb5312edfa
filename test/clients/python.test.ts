// OpenAI's and Anthropic's Python clients over every dialect. Skipped by name where there is no Python, or its packages cannot be had.
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

const MODELS = ["sandbox/ok", "sandbox-responses/ok", "sandbox-gemini/ok", "sandbox-messages/ok"];
const run = promisify(execFile);
const site = mkdtempSync(join(tmpdir(), "tollgate-python-"));

/** Installs the clients into a folder of the test's own. */
function install(): boolean {
  const options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", site];
  const { status } = spawnSync("python3", [...options, "-r", join(import.meta.dirname, "requirements.txt")], {
    stdio: "ignore",
    timeout: 150_000,
  });
  return status === 0;
}

const isThere = install();
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 100_000 });
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  rmSync(site, { recursive: true, force: true });
  expect(findings).toEqual([]);
});

describe.skipIf(!isThere)("the Python clients of OpenAI and Anthropic", () => {
  it.each(MODELS)("work with a base URL and a key alone, over %s", async (model) => {
    const env = { ...process.env, PYTHONPATH: site, PYTHONDONTWRITEBYTECODE: "1" };
    const script = join(import.meta.dirname, "python-clients.py");
    const { stdout } = await run("python3", [script, gateway.url, account.key, model], { env });
    const told = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const text = "one two three";
    expect(told).toEqual([
      { what: "chat", text, tokens: 3 },
      { what: "chat stream", text },
      { what: "responses", text, status: "completed", tokens: 3 },
      { what: "responses stream", text, first: "response.created", last: "response.completed" },
      { what: "messages", text, stop: "end_turn", tokens: 3 },
      { what: "messages stream", text, tokens: 3 },
      { what: "count_tokens", some: true },
      { what: "unknown model", code: "model_not_found", status: 404 },
      { what: "unknown model in messages", status: 404, type: "not_found_error" },
    ]);
  });
});
