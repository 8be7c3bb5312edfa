// No caller's body may hold more names or values than there is time to inspect, at any endpoint.
import { describe, expect, it } from "vitest";
import { NAMES_MAX, VALUES_MAX } from "../../src/core/json-bytes.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

const NAMES = `{${'"":1,'.repeat(NAMES_MAX)}"":1}`;
const VALUES = `{"input":${JSON.stringify(Array(VALUES_MAX).fill(1))}}`;

const LLM = [
  ...["chat/completions", "completions", "responses", "responses/compact", "responses/input_tokens", "messages"],
  ...["messages/count_tokens", "embeddings", "moderations", "rerank", "images/generations", "audio/speech"],
].map((path) => `/api/llm/v1/${path}`);

async function ask(url: string, key: string, body: string): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body });
  return { status: response.status, text: await response.text() };
}

describe("a body of too many names or values", () => {
  it.each([...LLM, "/api/run/core/discover", "/api/run/core/onescrape"])("is refused at %s", async (path) => {
    const names = await ask(`${gateway.url}${path}`, account.key, NAMES);
    expect([names.status, names.text]).toEqual([400, expect.stringContaining("more than 20000 names of fields")]);
    const values = await ask(`${gateway.url}${path}`, account.key, VALUES);
    expect([values.status, values.text]).toEqual([400, expect.stringContaining("more than 200000 values")]);
  });

  it.each([
    ["/api/v1/agents", () => gateway.url, () => account.key],
    ["/admin/v1/accounts", () => gateway.adminUrl, () => gateway.adminToken],
  ])("is more than %s reads at all", async (path, url, key) => {
    for (const body of [NAMES, VALUES]) {
      const { status, text } = await ask(`${url()}${path}`, key(), body);
      expect([status, text]).toEqual([413, expect.stringContaining("body_too_large")]);
    }
  });
});

describe("a form that cannot be", () => {
  it.each([
    ["a part without a name", "form-data", "a part of the form has no name"],
    ["a file without a name", 'form-data; filename="f.mp3"', "a part of the form has no name"],
    ["a thousand fields", 'form-data; name="f"', "more than 64 fields"],
    ["a thousand parts that are nothing", "inline", "more than 65 parts"],
  ])("is refused, and harms nobody else: %s", async (_, disposition, words) => {
    const part = `--b\r\ncontent-disposition: ${disposition}\r\n\r\nx\r\n`;
    const response = await fetch(`${gateway.url}/api/llm/v1/audio/transcriptions`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, "content-type": "multipart/form-data; boundary=b" },
      body: `${part.repeat(1_000)}--b--\r\n`,
    });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(words)]);
  });
});
