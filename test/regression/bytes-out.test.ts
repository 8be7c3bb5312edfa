// The answer length in a request's record is the number of bytes on the wire, whatever characters were in it.
import { expect, test } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

/** Two, three and four bytes a character. */
const TEXT = "Größe, 東京, 🌊";

async function counted(path: string, body: unknown): Promise<{ told: unknown; came: number }> {
  const response = await postAs(account.key, `${gateway.url}${path}`, body);
  const came = (await response.arrayBuffer()).byteLength;
  const record = await gateway.record(response.headers.get("x-request-id"));
  return { told: record.bytes_out, came };
}

function chat(more: object, model = "sandbox/ok") {
  const messages = [{ role: "user", content: `[[say: ${TEXT}]]` }];
  return counted("/api/llm/v1/chat/completions", { model, messages, ...more });
}

test("of a stream, with the usage in its last part", async () => {
  const { told, came } = await chat({ stream: true, stream_options: { include_usage: true } });
  expect(told).toBe(came);
});

test("of a whole answer", async () => {
  const { told, came } = await chat({});
  expect(told).toBe(came);
});

test("of an action's envelope", async () => {
  const { told, came } = await counted("/api/run/brave/search", { q: TEXT });
  expect(told).toBe(came);
});

test("of a stream that breaks, whose error is its last part", async () => {
  const { told, came } = await chat({ stream: true }, "sandbox/cut-after-3");
  expect(told).toBe(came);
});

test("of a refusal", async () => {
  const { told, came } = await chat({}, `${TEXT}/none`);
  expect(told).toBe(came);
});
