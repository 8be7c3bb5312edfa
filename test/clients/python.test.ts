// OpenAI's and Anthropic's Python clients over every dialect, two major versions of each, and libraries on top of them. Skipped by name if
// Python or the packages are unavailable.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { installedPython, toldByPython } from "./python-site.ts";

const MODELS = ["sandbox/ok", "sandbox-responses/ok", "sandbox-gemini/ok", "sandbox-messages/ok"];
const folder = mkdtempSync(join(tmpdir(), "tollgate-python-"));

const installed = (requirements: string) => installedPython(folder, "-r", join(import.meta.dirname, requirements));
const NEWEST = installed("requirements.txt");
const BEFORE = installed("requirements-before.txt");
const AGENTS = installed("requirements-agents.txt");

/** A script's output about a model, line by line. */
const told = (script: string, site: string | null, model: string) =>
  toldByPython(script, site, [gateway.url, account.key, model]);

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

const text = "one two three";
const CLIENTS = [
  { what: "chat", text, tokens: 3 },
  { what: "chat stream", text },
  { what: "responses", text, status: "completed", tokens: 3 },
  { what: "responses stream", text, first: "response.created", last: "response.completed" },
  { what: "messages", text, stop: "end_turn", tokens: 3 },
  { what: "messages stream", text, tokens: 3 },
  { what: "tool runner", stop: "end_turn" },
  { what: "count_tokens", some: true },
  { what: "unknown model", code: "model_not_found", status: 404 },
  { what: "unknown model in messages", status: 404, type: "not_found_error" },
];

describe.skipIf(NEWEST === null)("the Python clients of OpenAI and Anthropic", () => {
  it.each(MODELS)("work with a base URL and a key alone, over %s", async (model) => {
    expect(await told("python-clients.py", NEWEST, model)).toEqual(CLIENTS);
  });
});

describe.skipIf(NEWEST === null)("the realtime client of OpenAI", () => {
  it("calls a tool, is interrupted, and connects again after its network was lost, which is charged", async () => {
    expect(await told("python-realtime.py", NEWEST, "core/voice")).toEqual([
      { what: "tool call", arguments: { city: "Oslo" }, text: "sunny", status: "completed" },
      { what: "interruption", status: "cancelled", reason: "turn_detected" },
      { what: "cut" },
      { what: "lost network", status: "completed" },
    ]);
    const left = () => gateway.records().find(({ outcome }) => outcome === "left_after_content");
    expect(await eventually(left, "the lost session's charge")).toMatchObject({ operation: "realtime" });
  });
});

describe.skipIf(BEFORE === null)("the Python clients' majors before", () => {
  it.each(MODELS)("work as well, over %s", async (model) => {
    expect(await told("python-clients.py", BEFORE, model)).toEqual(CLIENTS);
  });
});

describe.skipIf(AGENTS === null)("Python's libraries upon them", () => {
  it.each(MODELS)("call tools and go on, over %s", async (model) => {
    const ran = { asked: ["Rome"], said: true, again: "fine" };
    expect(await told("python-agents.py", AGENTS, model)).toEqual([
      { what: "pydantic-ai chat", ...ran },
      { what: "pydantic-ai responses", ...ran },
      { what: "pydantic-ai messages", ...ran },
      { what: "openai-agents", ...ran },
    ]);
  });
});
