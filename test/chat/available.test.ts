// What the lists say can be had: for the key that asks; without one for a live account, and whether the sandbox would answer.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let sandboxKey: string;
let liveKey: string;

beforeAll(async () => {
  gateway = await startTestGateway({ OPENAI_API_KEY: "k", ADDRESS_REQUESTS_PER_MINUTE: "100000" });
  sandboxKey = (await gateway.account()).key;
  liveKey = (await gateway.account({ kind: "personal" })).key;
});

afterAll(() => gateway.stop());

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

describe("tiers", () => {
  it("are listed as models, cheapest first, with what they try and the price of the dearest of it", async () => {
    const rows = await models(sandboxKey);
    expect(rows.slice(0, 3).map(({ id }) => id)).toEqual(["core/cheap", "core/mid", "core/best"]);
    for (const tier of rows.slice(0, 3)) {
      expect(tier).toMatchObject({ object: "model", owned_by: "core", kind: "tier", available: true });
      const candidates = (tier.candidates ?? []).map((slug) => rows.find(({ id }) => id === slug));
      expect(candidates.length).toBeGreaterThan(2);
      for (const field of ["prompt", "completion"] as const) {
        // The hour at which it is dearest counts.
        const each = candidates.flatMap((one) =>
          one === undefined ? [] : [one.pricing, ...(one.pricing.hours_utc ?? [])].map((price) => Number(price[field])),
        );
        expect(Number(tier.pricing[field])).toBe(Math.max(...each));
      }
    }
    for (const name of ["core/cheap", "cheap"]) {
      expect(await get(`/api/llm/v1/models/${name}`, sandboxKey)).toEqual(rows[0]);
    }
  });

  it("name those alone that the asking key can have, at the price of the dearest of those", async () => {
    const [cheap] = await models(liveKey);
    const nano = (await models(liveKey)).find(({ id }) => id === "openai/gpt-6-luna");
    expect(cheap).toMatchObject({ id: "core/cheap", available: true, candidates: ["openai/gpt-6-luna"] });
    expect(cheap?.pricing).toEqual(nano?.pricing);
  });
});
