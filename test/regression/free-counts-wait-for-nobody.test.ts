// Unpaid counts queued together with those that a call waits for, and one account's with all others': a flood blocked every call.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PromptOrder, PromptRead } from "../../src/models/chat/read-prompt.ts";
import { createTokenCounter, PROMPTS_WAITING_MAX } from "../../src/models/chat/token-counter.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

describe("the counter", () => {
  const counter = createTokenCounter(["secret"]);
  afterAll(() => counter.close());

  const order = (payer: string, words: number): PromptOrder => {
    const body = { model: "m", messages: [{ role: "user", content: "light road house ".repeat(words / 3) }] };
    const bytes = Buffer.from(JSON.stringify(body));
    return { path: "/api/llm/v1/messages/count_tokens", params: {}, bytes, payer, earlier: null, named: null };
  };

  it("counts for a call, and for another account, in the middle of one account's flood", async () => {
    const ended: string[] = [];
    const noted = (name: string, answer: Promise<number | PromptRead> | null) =>
      Promise.resolve(answer).then(() => void ended.push(name));
    const flood = Array.from({ length: 40 }, (_, at) => noted(`flood ${at}`, counter.prompt(order("a", 30_000))));
    const others = [
      noted("other", counter.prompt(order("b", 30))),
      noted("paid", counter.of("c").countMax("some words", "o200k")),
    ];
    await Promise.all([...flood, ...others]);
    expect(Math.max(ended.indexOf("other"), ended.indexOf("paid"))).toBeLessThan(6);
  });

  it("lets only so many of one account's wait, and none of them make another's fail", async () => {
    const flood = Array.from({ length: PROMPTS_WAITING_MAX + 2 }, () => counter.prompt(order("a", 30)));
    expect(flood.filter((answer) => answer === null)).toHaveLength(1);
    expect(await counter.prompt(order("b", 30))).toMatchObject({ tokens: 31 });
    await Promise.all(flood);
  });

  it("says what is wrong with one prompt, and goes on with the next", async () => {
    const broken = { ...order("a", 3), bytes: Buffer.from("{") };
    expect(await counter.prompt(broken)).toMatchObject({ refused: { code: "bad_request" } });
    expect(await counter.prompt(order("a", 3))).toMatchObject({ model: "m", shape: { messages: 1 } });
  });
});

describe("an account without credit", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.stop());

  it.each(["messages/count_tokens", "responses/input_tokens"])("has no long prompt read at %s", async (path) => {
    const { key } = await gateway.account({ creditCents: 0 });
    const count = async (words: number) => {
      const text = "word ".repeat(words);
      const fields = path.startsWith("messages") ? { messages: [{ role: "user", content: text }] } : { input: text };
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const body = JSON.stringify({ model: "sandbox/ok", ...fields });
      return (await fetch(`${gateway.url}/v1/${path}`, { method: "POST", headers, body })).status;
    };
    expect(await count(10)).toBe(200);
    expect(await count(500_000)).toBe(402);
  });
});
