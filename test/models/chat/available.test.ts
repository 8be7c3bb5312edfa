// Availability in the lists: for the caller's key; without one for a live account; and whether the sandbox would answer.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway({ OPENAI_API_KEY: "k", ADDRESS_REQUESTS_PER_MINUTE: "100000" }));
const sandboxKey = (await gateway.account()).key;
const liveKey = (await gateway.account({ kind: "personal" })).key;

interface Rates {
  readonly prompt: string;
  readonly completion: string;
}

interface ModelRow {
  readonly id: string;
  readonly kind: string;
  readonly available: boolean;
  readonly sandbox: boolean;
  readonly candidates?: readonly string[];
  readonly context_length: number;
  readonly price_max?: Rates;
  readonly pricing: Rates & { readonly hours_utc?: readonly Rates[] };
}

interface ActionRow {
  readonly endpoint: string;
  readonly status: string;
  readonly sandbox: boolean;
}

async function get<Body>(path: string, key?: string): Promise<Body> {
  const response = await fetch(`${gateway.url}${path}`, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });
  expect([path, response.status]).toEqual([path, 200]);
  expect(response.headers.get("vary")).toContain("authorization");
  return (await response.json()) as Body;
}

const models = async (key?: string) => (await get<{ data: ModelRow[] }>("/api/llm/v1/models", key)).data;
const actions = async (key?: string) => (await get<{ data: ActionRow[] }>("/api/run", key)).data;

describe("a sandbox key", () => {
  it("is told that every model, tier and action can be had, as it is", async () => {
    for (const { id, available } of await models(sandboxKey)) {
      if (!/^(ollama|vllm|custom)\//.test(id)) expect([id, available]).toEqual([id, true]);
    }
    for (const row of await actions(sandboxKey)) {
      expect([row.endpoint, row.status]).toEqual([row.endpoint, "available"]);
    }
    const { data } = await get<{ data: ActionRow }>("/api/run/brave/news", sandboxKey);
    expect(data).toMatchObject({ status: "available", sandbox: true });
    const catalog = await get<{ services: { service: string; available: boolean }[] }>("/api/catalog", sandboxKey);
    for (const { service, available } of catalog.services) expect([service, available]).toEqual([service, true]);
    const pricing = await get<{ models: { available: boolean }[] }>("/api/llm/v1/pricing", sandboxKey);
    expect(pricing.models.every(({ available }) => available)).toBe(true);
  });
});

describe("a live key, and nobody's", () => {
  it("are told what a live account can have, and that the sandbox would answer", async () => {
    for (const key of [undefined, liveKey]) {
      const rows = await models(key);
      const row = (id: string) => rows.find((one) => one.id === id);
      expect(row("openai/gpt-5.4-nano")).toMatchObject({ available: true, sandbox: true });
      expect(row("anthropic/claude-haiku-4.5")).toMatchObject({ available: false, sandbox: true });
      const index = await actions(key);
      const brave = index.find(({ endpoint }) => endpoint === "/api/run/brave/news");
      expect(brave).toMatchObject({ status: "not_configured", sandbox: true });
      const { data } = await get<{ data: ActionRow }>("/api/run/brave/news", key);
      expect(data).toMatchObject({ status: "not_configured", sandbox: true });
    }
  });

  it("are told that there is no sandbox where there is none", async () => {
    const without = await startTestGateway({ SANDBOX: "0" });
    const list = (await (await fetch(`${without.url}/api/llm/v1/models`)).json()) as { data: ModelRow[] };
    const index = (await (await fetch(`${without.url}/api/run`)).json()) as { data: ActionRow[] };
    expect(list.data.some(({ sandbox }) => sandbox)).toBe(false);
    expect(index.data.find(({ endpoint }) => endpoint === "/api/run/brave/news")?.sandbox).toBe(false);
    await without.stop();
  });

  it("a bad key is as good as none on a page that needs none", async () => {
    const bad = `tg_sk_test_${"x".repeat(43)}`;
    expect(await models(bad)).toEqual(await models());
  });
});

describe("a request to a page that needs no key", () => {
  it("counts against the account of a good key, and else against the address", async () => {
    const limits = async (key?: string) => {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
      return (await fetch(`${gateway.url}/api/llm/v1/models`, { headers })).headers.get("ratelimit-limit");
    };
    expect([await limits(sandboxKey), await limits()]).toEqual(["1000000", "100000"]);
  });
});

describe("what a model takes", () => {
  interface Facts {
    readonly id: string;
    readonly kind: string;
    readonly name: string;
    readonly architecture: { modality: string; input_modalities: string[]; output_modalities: string[] };
    readonly supported_parameters: string[];
  }
  const factsOf = async (id: string) => {
    const rows = (await get<{ data: Facts[] }>("/api/llm/v1/models", sandboxKey)).data;
    const found = rows.find((row) => row.id === id);
    if (found === undefined) throw new Error(`no ${id}`);
    return found;
  };

  it("is listed for every row, in the words of other lists", async () => {
    for (const row of (await get<{ data: Facts[] }>("/api/llm/v1/models")).data) {
      expect(row, row.id).toMatchObject({
        name: expect.stringContaining(": "),
        architecture: { input_modalities: expect.any(Array), output_modalities: [expect.any(String)] },
        supported_parameters: expect.any(Array),
      });
    }
  });

  it("follows from the wires of those who sell it", async () => {
    const opus = await factsOf("anthropic/claude-haiku-4.5");
    expect(opus.architecture.input_modalities).toContain("image");
    expect(opus.supported_parameters).toEqual(expect.arrayContaining(["tools", "max_tokens", "reasoning"]));
    const nano = await factsOf("openai/gpt-5.4-nano");
    expect(nano.architecture).toMatchObject({
      output_modalities: ["text"],
      modality: expect.stringMatching(/^text\+.*->text$/),
    });
    expect((await factsOf("openai/gpt-5.6-terra")).supported_parameters).not.toContain("temperature");
    expect((await factsOf("openai/text-embedding-3-small")).architecture.output_modalities).toEqual(["embeddings"]);
    expect((await factsOf("openai/whisper-1")).architecture).toMatchObject({ modality: "audio->text" });
    const cheap = await factsOf("core/cheap");
    expect(cheap.supported_parameters).toContain("max_tokens");
    expect(cheap.architecture.input_modalities).toContain("text");
  });

  it("is said where it does not take a kind of content, with who does", async () => {
    const rows = (await get<{ data: Facts[] }>("/api/llm/v1/models", sandboxKey)).data;
    const blind = rows.find(({ kind, architecture }) => kind === "chat" && architecture.modality === "text->text");
    const url = "data:image/png;base64,iVBORw0KGgo=";
    const content = [
      { type: "text", text: "What is shown?" },
      { type: "image_url", image_url: { url } },
    ];
    const response = await postAs(sandboxKey, `${gateway.url}/api/llm/v1/chat/completions`, {
      model: blind?.id,
      messages: [{ role: "user", content }],
    });
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    expect([response.status, error.param]).toEqual([400, "messages"]);
    const said = /does not take content of kind image in messages\. Who takes it: ([^,]*[^,.])/.exec(error.message);
    const named = said?.[1] ?? error.message;
    if (!named.startsWith("core/")) expect((await factsOf(named)).architecture.input_modalities).toContain("image");
  });
});

describe("tiers", () => {
  it("are listed as models, cheapest first, with what they try, the price of the first and the most that a call can cost", async () => {
    const rows = await models(sandboxKey);
    expect(rows.slice(0, 3).map(({ id }) => id)).toEqual(["core/cheap", "core/mid", "core/best"]);
    for (const tier of rows.slice(0, 3)) {
      expect(tier).toMatchObject({ object: "model", owned_by: "core", kind: "tier", available: true });
      const candidates = (tier.candidates ?? []).map((slug) => rows.find(({ id }) => id === slug));
      expect(candidates.length).toBeGreaterThan(2);
      expect([tier.pricing, tier.context_length]).toEqual([candidates[0]?.pricing, candidates[0]?.context_length]);
      for (const field of ["prompt", "completion"] as const) {
        // The most expensive hour counts.
        const each = candidates.flatMap((one) =>
          one === undefined ? [] : [one.pricing, ...(one.pricing.hours_utc ?? [])].map((price) => Number(price[field])),
        );
        expect(Number(tier.price_max?.[field])).toBe(Math.max(...each));
      }
    }
    for (const name of ["core/cheap", "cheap"]) {
      expect(await get(`/api/llm/v1/models/${name}`, sandboxKey)).toEqual(rows[0]);
    }
  });

  it("name those alone that the asking key can have, at the price of the first of those", async () => {
    const [cheap] = await models(liveKey);
    const nano = (await models(liveKey)).find(({ id }) => id === "openai/gpt-6-luna");
    expect(cheap).toMatchObject({ id: "core/cheap", available: true, candidates: ["openai/gpt-6-luna"] });
    expect(cheap?.pricing).toEqual(nano?.pricing);
  });
});
