// One of our functions calls a vendor's models like any action: paid from its budget, as a leg of its posting.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type LocalCall, localAction } from "../../../src/catalog/local-action.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";

const messages = [{ role: "user", content: "Hi" }];
const CHAT = { action: "openai/chat", params: { model: "gpt-5.4-mini", max_tokens: 50, messages } };
const OTHER = { action: "gemini/generate", params: { model: "gemini-3.5-flash", max_tokens: 50, messages } };

let play: (call: LocalCall) => Promise<unknown> = async () => null;

const composed = localAction({
  service: "core",
  action: "composed",
  description: "Does what a test tells it to, by calling actions.",
  category: "core",
  effect: "read",
  params: z.strictObject({}),
  price: { mode: "fixed", cents: 3 },
  upstreamCentsMax: () => 10,
  run: (_, call) => play(call),
  example: { params: {} },
});

const gateway = forFile(await startTestGateway({}, { actions: [composed] }));
const key = (await gateway.account({ kind: "sandbox", creditCents: 10_000, inferenceCapCents: 0 })).key;

async function run() {
  const answer = await fetch(`${gateway.url}/api/run/core/composed`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
  });
  return (await answer.json()) as { ok: boolean; charged_cents: number; data: Record<string, unknown> };
}

describe("a vendor's models within a call", () => {
  it("answer in their wire, under the name of the action", async () => {
    play = ({ call }) => call(CHAT);
    const { data } = await run();
    expect(data).toMatchObject({ ok: true, action: "openai/chat", provider: "openai" });
    expect(data).toMatchObject({ data: { object: "chat.completion", usage: { cost: expect.any(Number) } } });
  });

  it("are paid by the outer call, and are not counted toward the cap again", async () => {
    play = async ({ call, spend }) => {
      const answer = await call(CHAT);
      return { ok: answer.ok, isPaid: spend.spentNano > 0 };
    };
    expect(await run()).toMatchObject({ charged_cents: 3, data: { ok: true, isPaid: true } });
  });

  it("race with each other, and the one that answers is named", async () => {
    play = ({ race }) => race([CHAT, OTHER]);
    expect(["openai/chat", "gemini/generate"]).toContain((await run()).data.action);
  });

  it("say what is wrong with a body, and cost nothing then", async () => {
    play = async ({ call, spend }) => {
      const answer = await call({ action: "openai/chat", params: { model: "gpt-5.4-mini" } });
      return { code: answer.ok ? null : answer.error.code, spentNano: spend.spentNano };
    };
    expect((await run()).data).toEqual({ code: "bad_request", spentNano: 0 });
  });
});
