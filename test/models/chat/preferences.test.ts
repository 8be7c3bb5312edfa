// OpenRouter's fields beyond OpenAI's: usage in streams, and which providers may serve, in which order.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callChat } from "../../support/chat-call.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";

const OPEN = "openai/gpt-oss-120b";
let gateway: TestGateway;
let account: TestAccount;
let sellers: string[];

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account();
  const { error } = await ask(OPEN, { only: ["nobody"] });
  sellers = [...((error?.metadata?.providers as string[] | undefined) ?? [])];
});

afterAll(() => gateway.stop());

async function ask(model: string | string[], provider: unknown, more: object = {}) {
  const asked = Array.isArray(model) ? { models: model } : { model };
  const messages = [{ role: "user", content: "Hi" }];
  const seen = await callChat({ ...asked, messages, provider, ...more }, { url: gateway.url, key: account.key });
  const { status, error, headers } = seen;
  const record = status === 200 ? await gateway.record(seen.requestId) : {};
  return {
    seen,
    status,
    error,
    provider: record.provider,
    served: record.served,
    dropped: headers.get("x-tollgate-dropped"),
  };
}

describe("usage", () => {
  it("brings usage at the end of a stream, with what the call cost", async () => {
    const { seen, dropped } = await ask("openai/gpt-5.4-nano", undefined, { stream: true, usage: { include: true } });
    expect(seen.acknowledged).toBe(true);
    expect(seen.usage).toMatchObject({ completion_tokens: expect.any(Number), cost: expect.any(Number) });
    expect(dropped).toBeNull();
  });

  it("brings none where it does not ask for any", async () => {
    for (const usage of [{ include: false }, {}, null, "yes"]) {
      const { seen } = await ask("openai/gpt-5.4-nano", undefined, { stream: true, usage });
      expect([seen.status, seen.usage]).toEqual([200, null]);
    }
  });
});

describe("provider", () => {
  it("says who is tried first, by any name it goes by", async () => {
    expect(sellers.length).toBeGreaterThan(2);
    for (const wanted of sellers) {
      const { provider, dropped } = await ask(OPEN, { order: ["nobody-we-know", wanted.toUpperCase()] });
      expect([provider, dropped]).toEqual([wanted, null]);
    }
    for (const name of ["gemini", "google", "Google Gemini", "google-ai-studio", "google-ai-studio/flex"]) {
      expect((await ask("core/cheap", { order: [name], only: [name] })).provider).toBe("gemini");
    }
  });

  it("orders the candidates of a tier, and never models named one by one", async () => {
    expect((await ask("core/cheap", { order: ["openai"] })).provider).toBe("openai");
    const listed = await ask(["openai/gpt-5.4-nano", "anthropic/claude-haiku-4.5"], { order: ["anthropic"] });
    expect(listed.provider).toBe("openai");
  });

  it("says who alone may serve, and who may not", async () => {
    const [first = "", second = ""] = sellers;
    expect((await ask(OPEN, { only: [second] })).provider).toBe(second);
    expect((await ask(OPEN, { ignore: [first] })).provider).toBe(second);
    const { status, error } = await ask(OPEN, { ignore: sellers });
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: "bad_request", param: "provider", metadata: { providers: sellers } });
  });

  it("can forbid fallbacks: whoever is named fails alone", async () => {
    const models = ["sandbox/503", "openai/gpt-5.4-nano"];
    expect((await ask(models, { allow_fallbacks: true })).provider).toBe("openai");
    expect((await ask(models, { allow_fallbacks: false })).status).toBe(502);
    expect((await ask(models, { order: ["sandbox"], allow_fallbacks: false })).status).toBe(502);
    expect((await ask(models, { order: ["openai"], allow_fallbacks: false })).provider).toBe("openai");
  });

  it("can ask for the cheapest of a tier, and for none above a price", async () => {
    const { data } = (await (
      await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${account.key}` } })
    ).json()) as { data: { id: string; candidates?: string[]; pricing: { prompt: string; completion: string } }[] };
    const best = data.find(({ id }) => id === "core/best")?.candidates ?? [];
    const prices = best.map((slug) => {
      const { prompt = "", completion = "" } = data.find(({ id }) => id === slug)?.pricing ?? {};
      return { slug, blend: 3 * Number(prompt) + Number(completion), completion: Number(completion) * 1e6 };
    });
    const [cheapest] = [...prices].sort((a, b) => a.blend - b.blend);
    expect((await ask("core/best", { sort: "price" })).served).toBe(cheapest?.slug);
    const most = Math.min(...prices.map(({ completion }) => completion));
    const bounded = await ask("core/best", { max_price: { completion: most } });
    expect(prices.find(({ slug }) => slug === bounded.served)?.completion).toBe(most);
    expect((await ask("core/best", { max_price: { completion: "0.000001" } })).status).toBe(400);
  });

  it.each([{ zdr: true }, { data_collection: "deny" }])(
    "%j leaves no vendor of whom we do not know that",
    async (provider) => {
      const { status, error } = await ask("openai/gpt-5.4-nano", provider);
      expect([status, error]).toMatchObject([400, { code: "bad_request", param: "provider" }]);
    },
  );

  it("is never refused for what we cannot promise: that is named as dropped", async () => {
    for (const [provider, dropped] of [
      [{ sort: "fastest" }, "provider.sort"],
      [{ sort: "throughput" }, null],
      [{ quantizations: ["fp8"], max_price: { image: 1 } }, "provider.quantizations,provider.max_price"],
      [{ zdr: false, data_collection: "allow", require_parameters: false, allow_fallbacks: true }, null],
      [{ order: "openai" }, "provider.order"],
      ["openai", "provider"],
      [[], "provider"],
      [{ "x\r\ny": 1, __proto__: null }, "provider.x??y"],
      [null, null],
      [{}, null],
    ] as const) {
      const answer = await ask("openai/gpt-5.4-nano", provider);
      expect([answer.status, answer.dropped]).toEqual([200, dropped]);
    }
  });

  it("holds for the dearest of those that it allows", async () => {
    const messages = [{ role: "user", content: "Hi" }];
    const held = async (provider: unknown) => {
      const { requestId } = await callChat(
        { model: "core/cheap", messages, provider },
        { url: gateway.url, key: account.key },
      );
      return Number((await gateway.record(requestId)).held_nano_usd);
    };
    expect(await held({ only: ["google"] })).toBeLessThan(await held(undefined));
  });
});
