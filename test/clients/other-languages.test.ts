// OpenAI's and Anthropic's Go and Java clients over every dialect. Skipped by name if their tools or packages are unavailable.
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

const MODELS = ["sandbox/ok", "sandbox-responses/ok", "sandbox-gemini/ok", "sandbox-messages/ok"];
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "tollgate-languages-"));
const PROGRAM = join(folder, "go-clients");
const JARS = join(folder, "jars");
/** These clients are large: their first build takes a minute on a quiet machine, later ones a second. */
const BUILD_MS_MAX = 170_000;

function succeeds(command: string, args: readonly string[], cwd: string): boolean {
  const { status } = spawnSync(command, args, { cwd, stdio: "ignore", timeout: BUILD_MS_MAX });
  return status === 0;
}

/** Without optimization, for a faster build. */
const hasGo = succeeds("go", ["build", "-gcflags=all=-N -l", "-o", PROGRAM, "."], join(import.meta.dirname, "go"));
const hasJava =
  succeeds("java", ["-version"], folder) &&
  succeeds(
    "mvn",
    ["--quiet", "--batch-mode", "dependency:copy-dependencies", `-DoutputDirectory=${JARS}`],
    join(import.meta.dirname, "java"),
  );

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 100_000 });
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  removeFolder(folder);
  expect(findings).toEqual([]);
});

function linesOf(stdout: string): Record<string, unknown>[] {
  const lines = stdout.trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const text = "one two three";
const UNKNOWN = { what: "unknown model", code: "model_not_found", status: 404 };

describe.skipIf(!hasGo)("the Go clients of OpenAI and Anthropic", () => {
  it.each(MODELS)("work with a base URL and a key alone, over %s", async (model) => {
    const { stdout } = await run(PROGRAM, [gateway.url, account.key, model]);
    expect(linesOf(stdout)).toEqual([
      { what: "chat", text, tokens: 3 },
      { what: "chat stream", text },
      { what: "responses", text, tokens: 3 },
      { what: "responses stream", text, last: "response.completed" },
      { what: "messages", text, tokens: 3 },
      { what: "messages stream", text, tokens: 3 },
      UNKNOWN,
    ]);
  });
});

describe.skipIf(!hasJava)("the Java clients of OpenAI and Anthropic", () => {
  it("work with a base URL and a key alone, over every dialect", async () => {
    const program = join(import.meta.dirname, "java", "clients.java");
    const { stdout } = await run("java", ["-cp", `${JARS}/*`, program, gateway.url, account.key, ...MODELS]);
    const ofModel = (model: string) => [
      { model, what: "chat", text, tokens: 3 },
      { model, what: "chat stream", text },
      { model, what: "responses", text, tokens: 3 },
      { model, what: "responses stream", text },
      { model, what: "messages", text, tokens: 3 },
      { model, what: "messages stream", text },
    ];
    expect(linesOf(stdout)).toEqual([...MODELS.flatMap(ofModel), { model: "nobody/knows-it", ...UNKNOWN }]);
  });
});
