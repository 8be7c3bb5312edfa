// Web searches by models whose vendor has none, requested by real clients: they display the sources, with only the base URL changed.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, streamText } from "ai";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { MODEL, type Said, type Stage, startStage } from "../models/acting/stage.ts";
import type { TestAccount } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

let stage: Stage;
let account: TestAccount;

beforeAll(async () => {
  stage = await startStage();
  account = await stage.account();
});
afterAll(async () => {
  expect(await stage.gateway.doctor()).toEqual([]);
  await stage.stop();
});

const URL_FOUND = "https://example.com/tides";
const ANSWER = `At noon, says [Tides](${URL_FOUND}).`;
const asks = () =>
  stage.says({ text: "I look.", calls: [{ id: "c1", name: "web_search", args: { query: "tide" } }] }, { text: ANSWER });

it("Anthropic's SDK", async () => {
  asks();
  const client = new Anthropic({ apiKey: account.key, baseURL: `${stage.gateway.url}/api/llm`, maxRetries: 0 });
  const asked = {
    model: MODEL,
    max_tokens: 500,
    messages: [{ role: "user" as const, content: "When?" }],
    tools: [{ type: "web_search_20250305" as const, name: "web_search" as const }],
  };
  const streamed = await client.messages.stream(asked).finalMessage();
  asks();
  const whole = await client.messages.create(asked);
  for (const { content } of [streamed, whole]) {
    const last = content.at(-1);
    expect(last?.type === "text" ? last.citations : null).toMatchObject([{ url: URL_FOUND, title: "Tides" }]);
    expect(content.find(({ type }) => type === "web_search_tool_result")).toMatchObject({
      content: [{ url: URL_FOUND }],
    });
  }
});

it("the AI SDK in the messages wire", async () => {
  const anthropic = createAnthropic({ apiKey: account.key, baseURL: `${stage.gateway.url}/api/llm/v1` });
  const asked = {
    model: anthropic(MODEL),
    prompt: "When?",
    tools: { web_search: anthropic.tools.webSearch_20250305({ maxUses: 2 }) },
    maxRetries: 0,
  };
  asks();
  const whole = await generateText(asked);
  expect(whole.text).toContain(ANSWER);
  expect(whole.sources).toMatchObject([{ sourceType: "url", url: URL_FOUND, title: "Tides" }]);
  asks();
  const streamed = streamText(asked);
  expect(await streamed.text).toContain(ANSWER);
  expect((await streamed.sources).map((source) => ("url" in source ? source.url : ""))).toContain(URL_FOUND);
});

it("the AI SDK in the responses wire", async () => {
  const openai = createOpenAI({ apiKey: account.key, baseURL: `${stage.gateway.url}/api/llm/v1` });
  const asked = {
    model: openai.responses(MODEL),
    prompt: "When?",
    tools: { web_search: openai.tools.webSearch({}) },
    maxRetries: 0,
  };
  asks();
  const whole = await generateText(asked);
  expect(whole.text).toContain(ANSWER);
  expect(whole.sources).toMatchObject([{ sourceType: "url", url: URL_FOUND }]);
  asks();
  const streamed = streamText(asked);
  expect(await streamed.text).toContain(ANSWER);
  expect((await streamed.sources).map((source) => ("url" in source ? source.url : ""))).toContain(URL_FOUND);
});

const AGENTS = new URL("node_modules/.bin/", import.meta.url).pathname;

/** Runs an agent in its own folder, isolated from the machine's settings. */
async function runAgent(
  name: string,
  flags: readonly string[],
  { files, env }: { files: Readonly<Record<string, string>>; env: Readonly<Record<string, string>> },
): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), `tollgate-${name}-`));
  onTestFinished(() => removeFolder(home));
  const work = join(home, "work");
  mkdirSync(work);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(home, file), text);
  const own = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, CLAUDE_CONFIG_DIR: join(home, "config") };
  const child = spawn(join(AGENTS, name), flags, {
    cwd: work,
    env: Object.assign({}, own, env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  expect(code, said).toBe(0);
  return said;
}

const messagesOf = ({ messages }: Record<string, unknown>) => messages as { role: string; content: unknown }[];
const offers = ({ tools = [] }: Record<string, unknown>, name: string) =>
  (tools as { function?: { name?: string } }[]).some((tool) => tool.function?.name === name);
/** The model calls the tool of this name if it is offered and has not been answered, and otherwise repeats the tool's result. */
const searching =
  (...names: readonly string[]) =>
  (body: Record<string, unknown>): Said => {
    const isAnswered = messagesOf(body).some(({ role }) => role === "tool");
    const name = names.find((one) => offers(body, one));
    return isAnswered || name === undefined
      ? { text: ANSWER }
      : { calls: [{ id: "c1", name, args: { query: "tide" } }] };
  };

it("Claude Code: its search shows the sources to the model that asked for it", async () => {
  // Its search is a separate call, which offers the model the wire's tool.
  stage.thinks(searching("web_search", "WebSearch"));
  const said = await runAgent(
    "claude",
    ["-p", "When is high tide?", "--allowedTools", "WebSearch", "--output-format", "json"],
    {
      files: {},
      env: {
        ANTHROPIC_BASE_URL: `${stage.gateway.url}/api/llm`,
        ANTHROPIC_AUTH_TOKEN: account.key,
        ANTHROPIC_MODEL: MODEL,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: MODEL,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_TELEMETRY: "1",
        DISABLE_AUTOUPDATER: "1",
        CLAUDE_CODE_MAX_RETRIES: "1",
        ENABLE_TOOL_SEARCH: "false",
      },
    },
  );
  const [result = ""] = /^\{.*\}$/m.exec(said) ?? [];
  expect(JSON.parse(result)).toMatchObject({ is_error: false, result: ANSWER });
  expect(stage.searches().length).toBe(1);
  const told = stage
    .rounds()
    .flatMap(messagesOf)
    .filter(({ role }) => role === "tool");
  const links = `Links: ${JSON.stringify([{ title: "Tides", url: URL_FOUND }])}`;
  expect(told.map(({ content }) => String(content)).findLast((text) => text.includes("Links:"))).toContain(links);
});

it("Codex: its search runs and its answer has the source", async () => {
  stage.thinks(searching("web_search"));
  const config = `model_provider = "tollgate"
model = "${MODEL}"
web_search = "live"
check_for_update_on_startup = false

[model_providers.tollgate]
name = "Tollgate"
base_url = "${stage.gateway.url}/api/llm/v1"
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"

[analytics]
enabled = false
`;
  const flags = [
    "exec",
    "--json",
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "When is high tide?",
  ];
  const said = await runAgent("codex", flags, {
    files: { "config.toml": config },
    env: { TOLLGATE_API_KEY: account.key },
  });
  const items = said
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { item?: { type?: string; query?: string; text?: string } })
    .flatMap(({ item }) => item ?? []);
  expect(items.find(({ type }) => type === "web_search")).toMatchObject({ query: "tide" });
  expect(items.findLast(({ type }) => type === "agent_message")?.text).toContain(URL_FOUND);
  expect(stage.searches()).toHaveLength(1);
});
