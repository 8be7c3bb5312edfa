// Stop sequences that end an answer before its first word: an answer all the same, not a provider that failed.
import type { ChatCompletionChunk } from "openai/resources";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account();
});

afterAll(() => gateway.stop());

describe.each(["sandbox", "sandbox-messages", "sandbox-gemini", "sandbox-converse"])(
  "a stop at the first word, of %s",
  (vendor) => {
    const body = {
      model: `${vendor}/ok`,
      messages: [{ role: "user" as const, content: "hello [[say: full stop]]" }],
      stop: ["full"],
    };

    it("gives an empty answer that ended well", async () => {
      const { choices, usage } = await account.client.chat.completions.create(body);
      expect([choices[0]?.message.content ?? "", choices[0]?.finish_reason]).toEqual(["", "stop"]);
      expect(usage?.completion_tokens).toBe(0);
    });

    it("gives an empty stream that ended well", async () => {
      const chunks: ChatCompletionChunk[] = [];
      for await (const chunk of await account.client.chat.completions.create({ ...body, stream: true }))
        chunks.push(chunk);
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("");
      expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("stop");
    });

    it("says nothing against the route", async () => {
      const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
      expect(metrics).not.toContain("provider_malformed");
    });
  },
);
