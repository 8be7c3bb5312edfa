// Codex runs a task with one shell call, with vendors that support its wire and vendors that do not.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderForFile, forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { type AskedCall, LAST_WORDS, startAgentVendor } from "./agent-vendor.ts";

const CODEX = new URL("node_modules/.bin/codex", import.meta.url).pathname;
const COMMAND = "echo made by an agent > made.txt";

const folder = folderForFile("tollgate-codex-");
const vendor = forFile(await startAgentVendor());
const gateway = forFile(
  await startTestGateway({
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: `${vendor.url}/v1`,
    ANTHROPIC_API_KEY: "sk-test",
    ANTHROPIC_BASE_URL: `${vendor.url}/v1`,
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 100_000 });

function configOf(model: string, more: string): string {
  return `model_provider = "tollgate"
model = "${model}"
check_for_update_on_startup = false

[model_providers.tollgate]
name = "Tollgate"
base_url = "${gateway.url}/api/llm/v1"
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"
${more}

[mcp_servers.tollgate]
url = "${gateway.url}/mcp"
bearer_token_env_var = "TOLLGATE_API_KEY"

[analytics]
enabled = false
`;
}

/** Runs a task in its own folder, isolated from the user's settings. */
async function runCodex(
  model: string,
  task: string,
  more = "",
): Promise<{ code: number | null; said: string; work: string }> {
  const home = mkdtempSync(join(folder, "home-"));
  const work = join(home, "work");
  mkdirSync(work);
  writeFileSync(join(home, "config.toml"), configOf(model, more));
  const flags = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", task];
  const child = spawn(CODEX, flags, {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, TOLLGATE_API_KEY: account.key },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, said, work };
}

const SHELL: AskedCall = { name: "exec_command", input: { cmd: COMMAND } };
/** Models that it knows by name get a single text tool, whose input is a script. */
const SCRIPT: AskedCall = {
  name: "exec",
  namespace: "functions",
  input: `text(await tools.exec_command(${JSON.stringify({ cmd: COMMAND })}));`,
};

test.each([
  ["a model whose vendor speaks its wire", "openai/gpt-5.4-nano", SHELL, "/v1/responses"],
  ["a model that it knows by name", "gpt-5.6-luna", SCRIPT, "/v1/responses"],
  ["a model of another wire", "anthropic/claude-haiku-4.5", SHELL, "/v1/messages"],
])("%s", async (_, model, call, path) => {
  vendor.asksFor(call);
  const { code, said, work } = await runCodex(model, "Make the file made.txt");
  expect(said).toContain(LAST_WORDS);
  expect(code, said).toBe(0);
  expect(readFileSync(join(work, "made.txt"), "utf8")).toBe("made by an agent\n");
  expect(vendor.asked.map(({ url }) => url)).toEqual([path, path]);
  const calls = gateway.records().filter(({ endpoint }) => String(endpoint).endsWith("/responses"));
  expect(calls.slice(-2).map(({ status }) => status)).toEqual([200, 200]);
});

test("a tool of the gateway's own MCP server", async () => {
  vendor.asksFor({ name: "search_actions", namespace: "mcp__tollgate", input: { query: "news" } });
  const { code, said } = await runCodex("openai/gpt-5.4-nano", "Find news");
  expect(code, said).toBe(0);
  const found = gateway.records().filter(({ asked }) => asked === "core/discover");
  expect(found.map(({ status }) => status)).toEqual([200]);
});

test("over a socket, where its provider is said to have them: both turns come over one", async () => {
  const before = gateway.records().length;
  vendor.asksFor(SHELL);
  const { code, said, work } = await runCodex("openai/gpt-5.4-nano", "Make the file", "supports_websockets = true");
  expect(said).toContain(LAST_WORDS);
  expect(code, said).toBe(0);
  expect(readFileSync(join(work, "made.txt"), "utf8")).toBe("made by an agent\n");
  const calls = gateway.records().slice(before);
  const ofWire = calls.filter(({ endpoint }) => String(endpoint).endsWith("/responses"));
  // It opens one socket, first sends only its instructions, to be cached, and then makes two requests.
  expect(ofWire.map(({ status }) => status)).toEqual([101, 200, 200, 200]);
  expect(vendor.asked.map(({ url }) => url)).toEqual(["/v1/responses", "/v1/responses"]);
});
