// Batches in the sandbox keep a bounded amount of results.
import { expect, it } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { forFile } from "../support/for-file.ts";

const sandbox = forFile(await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 }));

async function call(path: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
  const headers = { "x-api-key": "any", "anthropic-version": "2023-06-01", "content-type": "application/json" };
  const answer = await fetch(`${sandbox.url}/anthropic/messages/batches${path}`, { ...init, headers });
  return (await answer.json()) as Record<string, unknown>;
}

/** Starts a batch whose every line has a result of 12 million characters. */
async function begin(count: number): Promise<string> {
  const params = {
    model: "claude-haiku-4.5",
    max_tokens: 10_000,
    messages: [{ role: "user", content: "[[words: 4000]] [[width: 3000]]" }],
  };
  const requests = Array.from({ length: count }, (_, at) => ({ custom_id: `line-${at}`, params }));
  return String((await call("", { method: "POST", body: JSON.stringify({ requests }) })).id);
}

it("a batch with long results expires before its last lines, and evicts the oldest batches", async () => {
  const ids = [await begin(5), await begin(5), await begin(5), await begin(5)];
  for (const id of ids)
    expect(await call(`/${id}`)).toMatchObject({
      processing_status: "ended",
      request_counts: { succeeded: 3, errored: 0, expired: 2 },
    });
  const { data } = (await call("")) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(ids.slice(1).toReversed());
});
