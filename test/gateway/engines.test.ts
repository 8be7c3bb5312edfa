// Paid calls on both HTTP engines: whatever a client does with its connection, each charge has an answer or a client that left.
import { describe, expect, test } from "vitest";
import { ENGINES, post, type RawClient, rawClient } from "../edge/http/edge.ts";
import { forFile } from "../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../support/gateway.ts";
import { getAs } from "../support/keyed-fetch.ts";

const CHAT = "/api/llm/v1/chat/completions";

describe.each(ENGINES)("%s", async (name) => {
  const gateway = forFile(await startTestGateway({ HTTP_ENGINE: name }));
  const connect = (allowHalfOpen = false): Promise<RawClient> =>
    rawClient(Number(new URL(gateway.url).port), "127.0.0.1", allowHalfOpen);

  function chat(
    { key }: TestAccount,
    model = "sandbox/ok",
    more: object = {},
    headers: readonly string[] = [],
  ): string {
    const body = { model, messages: [{ role: "user", content: "hello" }], ...more };
    return post(CHAT, JSON.stringify(body), [`authorization: Bearer ${key}`, ...headers]);
  }

  /** The number of charges, once nothing is held. */
  async function charges({ key }: TestAccount): Promise<number> {
    const read = async (path: string) => (await (await getAs(key, `${gateway.url}${path}`)).json()) as never;
    await eventually(async () => {
      const { held_cents } = (await read("/api/v1/account")) as { held_cents: number };
      return held_cents === 0 ? true : undefined;
    }, "the end of all holds");
    const { transactions } = (await read("/api/v1/transactions?limit=200")) as { transactions: { kind: string }[] };
    return transactions.filter(({ kind }) => kind === "charge").length;
  }

  const answers = (client: RawClient): number => client.text().match(/HTTP\/1\.1 200 /g)?.length ?? 0;

  // uWebSockets.js closes the connection, before any of them has begun if they came together.
  test("a pipeline: as many answers as charges, and nothing is held", async () => {
    const account = await gateway.account();
    const client = await connect();
    const count = name === "node" ? 100 : 2;
    const calls = Array.from({ length: count - 1 }, () => chat(account));
    client.send([...calls, chat(account, "sandbox/ok", {}, ["connection: close"])].join(""));
    await client.closed;
    const answered = name === "node" ? count : 0;
    expect([answers(client), await charges(account)]).toEqual([answered, answered]);
  });

  test("a second request behind a stream", async () => {
    const account = await gateway.account();
    const client = await connect();
    client.send(chat(account, "sandbox/ok-at-50", { stream: true }));
    await client.sees(/"content":"/);
    client.send(chat(account, "sandbox/ok", {}, ["connection: close"]));
    await client.closed;
    const isWhole = name === "node";
    expect(client.text().includes("data: [DONE]")).toBe(isWhole);
    expect(await charges(account)).toBe(isWhole ? 2 : 1);
    const isOurs = ({ account_id, operation }: { account_id?: string; operation?: string }) =>
      account_id === account.accountId && operation === "chat";
    const first = await eventually(() => gateway.records().find(isOurs), "the record");
    expect(first.outcome).toBe(isWhole ? "success" : "left_after_content");
  });

  test.skipIf(name === "uws")("a client that half-closes after its request", async () => {
    const account = await gateway.account();
    for (const stream of [false, true]) {
      const client = await connect(true);
      client.socket.end(chat(account, "sandbox/ok-at-50", { stream }, ["connection: close"]));
      await client.closed;
      expect(client.text()).toMatch(/HTTP\/1\.1 200 [\s\S]*("usage"|\[DONE\])/);
    }
    expect(await charges(account)).toBe(2);
  });
});
