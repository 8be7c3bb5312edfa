// MCP's own conformance suite in two revisions, its inspector, its Python client, and two agents with the gateway as server.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { installedPython, toldByPython } from "./python-site.ts";

const run = promisify(execFile);
const BIN = join(import.meta.dirname, "node_modules/.bin");
const folder = mkdtempSync(join(tmpdir(), "tollgate-mcp-"));
const PYTHON = installedPython(folder, "mcp==2.3.0");
const PYTHON_BEFORE = installedPython(folder, "mcp==1.30.0");

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  // The suite uses no key, so its address is rate limited.
  gateway = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000" });
  account = await gateway.account({ kind: "sandbox", creditCents: 100_000 });
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  removeFolder(folder);
  expect(findings).toEqual([]);
});

describe("the conformance suite", () => {
  it.each([
    ["2025-11-25", ["--spec-version", "2025-11-25"]],
    ["2026-07-28", ["--requirements", "2026-07-28"]],
  ])("%s fails in nothing that the baseline does not name", async (revision, which) => {
    const baseline = join(import.meta.dirname, `mcp-baseline-${revision}.yml`);
    const args = ["server", "--url", `${gateway.url}/mcp`, ...which, "--expected-failures", baseline];
    const { stdout } = await run(join(BIN, "conformance"), args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
    expect(stdout).not.toContain("Unexpected failures");
  });
});

it("the suite's own look at the server of OAuth finds nothing missing", async () => {
  const guarded = await startTestGateway({ OAUTH: "1", ADDRESS_REQUESTS_PER_MINUTE: "100000" });
  const args = ["authorization", "--url", guarded.url];
  const { stdout } = await run(join(BIN, "conformance"), args, { cwd: folder }).finally(() => guarded.stop());
  expect(stdout).toMatch(/authorization-server-metadata-endpoint.*: 2 passed, 0 failed/);
});

it("the inspector finds nothing wrong with the tools, and runs one", async () => {
  const key = `Authorization: Bearer ${account.key}`;
  const base = ["--cli", `${gateway.url}/mcp`, "--transport", "http", "--header", key];
  const inspect = (...args: string[]) => run(join(BIN, "mcp-inspector"), [...base, ...args], { cwd: folder });
  const listed = await inspect("--method", "tools/list", "--strict");
  expect(`${listed.stdout}${listed.stderr}`).not.toMatch(/warning/i);
  const called = await inspect("--method", "tools/call", "--tool-name", "search_actions", "--tool-arg", "query=news");
  expect(called.stdout).toContain("price_cents");
});

describe.each([
  ["2", PYTHON],
  ["1", PYTHON_BEFORE],
])("Python's client %s", (_, site) => {
  it.skipIf(site === null)("lists and calls", async () => {
    expect(await toldByPython("python-mcp.py", site, [`${gateway.url}/mcp`, account.key])).toEqual([
      { what: "tools", first: "search_actions", last: "ask_model" },
      { what: "run", ok: true },
      { what: "wrong", error: true },
    ]);
  });
});

it("Claude Code calls a tool of the gateway's, over a model of the gateway's", async () => {
  const home = join(folder, "claude");
  mkdirSync(home);
  const server = { type: "http", url: `${gateway.url}/mcp`, headers: { Authorization: `Bearer ${account.key}` } };
  const config = join(home, "mcp.json");
  writeFileSync(config, JSON.stringify({ mcpServers: { tollgate: server } }));
  const task = '[[call: mcp__tollgate__search_actions {"query": "news"}]]';
  const args = ["-p", task, "--mcp-config", config, "--allowedTools", "mcp__tollgate", "--output-format", "json"];
  const child = spawn(join(BIN, "claude"), args, {
    cwd: home,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, "config"),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
      // Tools are offered immediately instead of being searched first: the sandbox calls what it is told to.
      ENABLE_TOOL_SEARCH: "false",
      ANTHROPIC_BASE_URL: `${gateway.url}/api/llm`,
      ANTHROPIC_AUTH_TOKEN: account.key,
      ANTHROPIC_MODEL: "sandbox-messages/ok",
      ANTHROPIC_DEFAULT_HAIKU_MODEL: "sandbox-messages/ok",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  expect(code, said).toBe(0);
  const found = gateway
    .records()
    .filter(({ endpoint, asked }) => endpoint === "/api/run/{service}/{action}" && asked === "core/discover");
  expect(found.length).toBeGreaterThan(0);
});
