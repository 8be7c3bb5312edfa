// Stop sequences that end an answer before its first word: still an answer, not a failed provider.
import type { ChatCompletionChunk } from "openai/resources";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

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

describe("a probe of one token at a model that was asked to think, of", () => {
  it.each(["sandbox", "sandbox-messages", "sandbox-gemini", "sandbox-converse"])("%s", async (vendor) => {
    const body = {
      model: `${vendor}/ok`,
      messages: [{ role: "user" as const, content: "quota" }],
      max_tokens: 1,
      reasoning_effort: "low" as const,
    };
    const { choices, usage } = await account.client.chat.completions.create(body);
    expect([choices[0]?.finish_reason, usage?.completion_tokens]).toEqual(["length", 1]);
    const chunks: ChatCompletionChunk[] = [];
    for await (const chunk of await account.client.chat.completions.create({ ...body, stream: true }))
      chunks.push(chunk);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("length");
  });

  // Its vendor rejects fewer than sixteen tokens, and more would be charged than the caller asked for.
  it("sandbox-responses is refused with the reason, and served by whoever is next", async () => {
    const body = { messages: [{ role: "user" as const, content: "quota" }], max_tokens: 1 };
    const create = account.client.chat.completions.create.bind(account.client.chat.completions);
    await expect(create({ ...body, model: "sandbox-responses/ok" })).rejects.toMatchObject({ status: 400 });
    const both = { ...body, model: "sandbox-responses/ok", models: ["sandbox-responses/ok", "sandbox/ok"] };
    expect((await create(both)).model).toBe("sandbox/ok");
  });
});
