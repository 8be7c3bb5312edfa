import { describe, expect, test } from "vitest";
import { findUnitModel } from "../../src/catalog/find-model.ts";
import { usdPerMillionText } from "../../src/core/money.ts";
import { manualClock } from "../support/manual-clock.ts";
import { anyServer, catalogOf, LIVE, PLAY, priced, tier, vendor } from "./catalog-of.ts";

const KEYS = { MAKER_API_KEY: "k1", ROUTER_API_KEY: "k2", OTHER_API_KEY: "k3" };

function providersOf(model: { readonly offers: readonly { readonly adapter: { readonly id: string } }[] } | null) {
  return model?.offers.map((offer) => offer.adapter.id);
}

describe("a vendor that has no price list", () => {
  const adapters = {
    unlisted: vendor(
      {},
      { chat: { dialect: "chat-completions", models: {}, anyModel: { contextTokens: 8_192, prices: [] } } },
    ),
  };
  const prices = { UNLISTED_PROMPT_USD_PER_MILLION: "1", UNLISTED_COMPLETION_USD_PER_MILLION: "3" };

  test("sells the model that the operator names and prices, and no other", () => {
    const catalog = catalogOf({ adapters }, { env: { UNLISTED_API_KEY: "k", UNLISTED_MODEL: "big-1", ...prices } });
    expect(catalog.model("unlisted/big-1", LIVE)).toMatchObject({
      sale: { input: 1_000_000, output: 3_000_000, version: "unlisted:big-1@1/3" },
      offers: [{ upstreamModel: "big-1" }],
    });
    expect(catalog.models(LIVE).map(({ slug }) => slug)).toEqual(["unlisted/big-1"]);
    expect(catalog.model("unlisted/dear-1", LIVE)).toBeNull();
    expect(
      catalogOf({ adapters }, { env: { UNLISTED_API_KEY: "k", ...prices } }).model("unlisted/big-1", LIVE),
    ).toBeNull();
  });

  test("is not sold at half a price", () => {
    const half = { UNLISTED_MODEL: "big-1", UNLISTED_PROMPT_USD_PER_MILLION: "1" };
    expect(() => catalogOf({ adapters }, { env: half })).toThrow(
      /UNLISTED_MODEL needs .*what is not priced is not sold/,
    );
  });
});

describe("an address with parts that the operator sets", () => {
  const adapters = {
    placed: vendor(
      { "one-1": { ...priced("1", "2"), slug: "placed/one-1" } },
      {
        origin: "https://{region}.example/{account}/v1",
        settings: { account: { env: ["PLACED_ACCOUNT_ID"] }, region: { env: ["PLACED_REGION"], fallback: "eu" } },
      },
    ),
  };
  const of = (env: Record<string, string>) => catalogOf({ adapters }, { env }).adapters(LIVE).get("placed");

  test("is complete, or the vendor is not configured", () => {
    expect(of({ PLACED_API_KEY: "k" })).toMatchObject({ configured: false });
    expect(of({ PLACED_API_KEY: "k", PLACED_ACCOUNT_ID: "a1" })).toMatchObject({
      configured: true,
      origin: "https://eu.example/a1/v1",
    });
    expect(of({ PLACED_API_KEY: "k", PLACED_ACCOUNT_ID: "a1", PLACED_REGION: "us" })?.origin).toBe(
      "https://us.example/a1/v1",
    );
    expect(of({ PLACED_API_KEY: "k", PLACED_BASE_URL: "http://127.0.0.1:1/v1" })).toMatchObject({ configured: true });
  });

  test("has nothing in it that leads elsewhere", () => {
    expect(() => of({ PLACED_ACCOUNT_ID: "a/../b" })).toThrow(/PLACED_ACCOUNT_ID cannot stand in an address/);
  });
});

describe("the sale price of a slug", () => {
  const maker = vendor({ one: priced("2", "8") }, { maker: "maker" });

  test("is the maker's list price, whoever serves it", () => {
    const router = vendor({ "maker/one": priced("1", "4") });
    for (const env of [KEYS, { ROUTER_API_KEY: "k" }, { MAKER_API_KEY: "k" }]) {
      const model = catalogOf({ adapters: { maker, router } }, { env }).model("maker/one", LIVE);
      expect(model?.sale).toMatchObject({ input: 2_000_000, output: 8_000_000, version: "maker/one@2026-01-01" });
    }
  });

  test("without a maker is the dearest of those who are configured, bucket by bucket", () => {
    const router = vendor({ "lab/open": priced("1", "4", { cacheRead: "0.1" }) });
    const other = vendor({ open: { ...priced("2", "3", { cacheRead: "0.2" }), slug: "lab/open" } });
    const third = vendor({ open: { ...priced("9", "9"), slug: "lab/open" } });
    const model = catalogOf({ adapters: { router, other, third } }, { env: KEYS }).model("lab/open", LIVE);
    expect(model?.sale).toMatchObject({ input: 2_000_000, output: 4_000_000, cacheRead: 200_000 });
    expect(model?.sale.version).toBe("lab/open(router+other)@2026-01-01");
    expect(providersOf(model)).toEqual(["router", "other"]);
  });

  test("is the same for play accounts", () => {
    const router = vendor({ "lab/open": priced("1", "4") });
    const other = vendor({ open: { ...priced("9", "9"), slug: "lab/open" } });
    const catalog = catalogOf({ adapters: { router, other } }, { env: { ROUTER_API_KEY: "k" } });
    expect(catalog.model("lab/open", PLAY)?.sale).toEqual(catalog.model("lab/open", LIVE)?.sale);
  });

  test("carries the markup", () => {
    const model = catalogOf({ adapters: { maker } }, { env: KEYS, markupPercent: 12.5 }).model("maker/one", LIVE);
    expect(usdPerMillionText(model?.sale.input ?? (0 as never))).toBe("2.25");
    expect(model?.offers[0]?.cost.input).toBe(2_000_000);
  });
});

describe("the offers of a model", () => {
  test("begin with the maker's own, then the cheapest", () => {
    const maker = vendor({ one: priced("2", "8") }, { maker: "maker" });
    const router = vendor({ "maker/one": priced("1.9", "8") });
    const other = vendor({ "maker/one": priced("1", "4") });
    const model = catalogOf({ adapters: { router, other, maker } }, { env: KEYS }).model("maker/one", LIVE);
    expect(providersOf(model)).toEqual(["maker", "other", "router"]);
  });

  test("leave out who is dearer than the sale price, unless losses are allowed or the markup covers them", () => {
    const maker = vendor({ one: priced("2", "8") }, { maker: "maker" });
    const router = vendor({ "maker/one": priced("2", "8.4") });
    const parts = { adapters: { maker, router } };
    const serving = (options: object) => providersOf(catalogOf(parts, options).model("maker/one", LIVE));
    expect(serving({ env: KEYS })).toEqual(["maker"]);
    expect(serving({ env: KEYS, allowLoss: true })).toEqual(["maker", "router"]);
    expect(serving({ env: KEYS, markupPercent: 5 })).toEqual(["maker", "router"]);
  });

  test("carry the vendor's wire with the model's own laid over it", () => {
    const one = { ...priced("1", "1"), maxTokensField: "max_tokens", dropFields: ["seed"] } as const;
    const spec = vendor({}, { maker: "maker" });
    const chat = {
      dialect: "chat-completions",
      maxTokensField: "max_completion_tokens",
      extraFields: { x: 1 },
      streamUsage: "always",
      models: { one, two: priced("1", "1") },
    } as const;
    const catalog = catalogOf({ adapters: { maker: { ...spec, chat } } }, { env: KEYS });
    const [offer] = catalog.model("maker/one", LIVE)?.offers ?? [];
    expect(offer?.wire).toEqual({ maxTokensField: "max_tokens", dropFields: ["seed"], extraFields: { x: 1 } });
    expect(catalog.model("maker/two", LIVE)?.offers[0]?.wire.maxTokensField).toBe("max_completion_tokens");
    expect(offer?.chat.streamUsage).toBe("always");
    expect(offer?.upstreamModel).toBe("one");
  });

  test("bound a model by the largest of them", () => {
    const sized = (contextTokens: number, outputTokensMax: number, imageTokensMax: number) => ({
      ...priced("1", "1"),
      contextTokens,
      outputTokensMax,
      parts: { imageTokensMax },
    });
    const router = vendor({ "lab/open": sized(32_000, 8_000, 100) });
    const other = vendor({ "lab/open": { ...sized(64_000, 4_000, 50), parts: { fileTokensMax: 7 } } });
    const parts = { adapters: { router, other } };
    expect(catalogOf(parts, { env: KEYS }).model("lab/open", LIVE)).toMatchObject({
      contextTokens: 64_000,
      outputTokensMax: 8_000,
      parts: { imageTokensMax: 100, fileTokensMax: 7 },
    });
    expect(catalogOf(parts, { env: { ROUTER_API_KEY: "k" } }).model("lab/open", LIVE)?.contextTokens).toBe(32_000);
  });
});

describe("what is configured", () => {
  const maker = vendor({ one: priced("1", "1") }, { maker: "maker", keyEnv: ["MAKER_API_KEY", "MAKER_OLD_KEY"] });
  const adapterOf = (env: Record<string, string>) =>
    catalogOf({ adapters: { maker } }, { env }).adapters(LIVE).get("maker");

  test("needs a key; several are a list, and the first name that is set wins", () => {
    expect(adapterOf({})).toMatchObject({ configured: false, keys: [] });
    expect(adapterOf({ MAKER_API_KEY: " a, b ,,c " })).toMatchObject({ configured: true, keys: ["a", "b", "c"] });
    expect(adapterOf({ MAKER_OLD_KEY: "old" })?.keys).toEqual(["old"]);
    expect(adapterOf({ MAKER_API_KEY: "new", MAKER_OLD_KEY: "old" })?.keys).toEqual(["new"]);
  });

  test("can be at another address, which loses its slash at the end", () => {
    expect(adapterOf({ MAKER_BASE_URL: "http://127.0.0.1:9/v1/" })).toMatchObject({
      origin: "http://127.0.0.1:9/v1",
      configured: false,
    });
  });

  test("has variables that a shell can set: a digit that a name would begin with is spelled out", () => {
    const parts = { adapters: { "2maker": vendor({ one: priced("1", "1") }, { maker: "2maker" }) } };
    const of = (env: Record<string, string>) => catalogOf(parts, { env }).adapters(LIVE).get("2maker");
    const url = "http://127.0.0.1:9/v1";
    expect(of({ TWOMAKER_API_KEY: "k", TWOMAKER_BASE_URL: url })).toMatchObject({ configured: true, origin: url });
    expect(of({ "2MAKER_BASE_URL": url })?.origin).toBe(url);
    expect(() => of({ "2MAKER_BASE_URL": "nowhere" })).toThrow(/2MAKER_BASE_URL is not an http address/);
  });

  test("tells a known model that nobody serves from an unknown one", () => {
    const catalog = catalogOf({ adapters: { maker } });
    expect(catalog.model("maker/one", LIVE)?.offers).toEqual([]);
    expect(catalog.model("maker/none", LIVE)).toBeNull();
    expect(catalog.model("nobody", LIVE)).toBeNull();
  });

  test("wrong variables are named, their values are not", () => {
    const any = anyServer();
    const load = (env: Record<string, string>) => () => catalogOf({ adapters: { maker, any } }, { env });
    expect(load({ MAKER_BASE_URL: "secret-host" })).toThrow(/MAKER_BASE_URL is not an http address/);
    expect(load({ MAKER_BASE_URL: "secret-host" })).not.toThrow(/secret-host/);
    expect(load({ ANY_PROMPT_USD_PER_MILLION: "cheap" })).toThrow(/ANY_PROMPT_USD_PER_MILLION is not a price/);
    expect(load({ MAKER_PROMPT_USD_PER_MILLION: "1" })).toThrow(/MAKER_PROMPT_USD_PER_MILLION has no meaning/);
  });
});

describe("play accounts", () => {
  const maker = vendor({ one: priced("1", "1") }, { maker: "maker" });
  const faults = anyServer({ sandboxOnly: true });
  const catalog = catalogOf({ adapters: { maker, faults } }, { env: {} });

  test("see every vendor as configured, and all of them at the sandbox", () => {
    const [offer] = catalog.model("maker/one", PLAY)?.offers ?? [];
    expect(offer?.adapter).toMatchObject({ configured: true, keys: ["sandbox"], origin: "http://sandbox.test/maker" });
    expect(catalog.model("maker/one", LIVE)?.offers).toEqual([]);
  });

  test("alone see the sandbox's own models", () => {
    expect(catalog.model("faults/429-once", PLAY)?.offers[0]?.upstreamModel).toBe("429-once");
    expect(catalog.model("faults/429-once", LIVE)).toBeNull();
    expect(catalog.adapters(LIVE).has("faults")).toBe(false);
    const configured = catalogOf({ adapters: { maker, faults } }, { env: { FAULTS_BASE_URL: "http://h/v1" } });
    expect(configured.model("faults/ok", LIVE)).toBeNull();
  });

  test("share no route's health with live ones", () => {
    const both = catalogOf({ adapters: { maker } }, { env: KEYS });
    const keyOf = (audience: { sandbox: boolean }) => both.model("maker/one", audience)?.offers[0]?.healthKey;
    expect(keyOf(LIVE)).toBe("maker/one");
    expect(keyOf(PLAY)).toBe("sandbox:maker/one");
  });

  test("have nothing where there is no sandbox, and never a vendor's address", () => {
    const none = catalogOf({ adapters: { maker } }, { env: KEYS, sandboxOrigin: null });
    expect(none.model("maker/one", PLAY)?.offers).toEqual([]);
    expect(none.adapters(PLAY).get("maker")?.origin).not.toContain("vendor.example");
  });
});

describe("servers of the operator's own", () => {
  const parts = { adapters: { any: anyServer() }, tiers: { cheap: tier("any/*") } };
  const BASE = { ANY_BASE_URL: "http://127.0.0.1:11434/v1" };

  test("are configured by their address alone, and serve any model for nothing", () => {
    expect(catalogOf(parts).model("any/llama3.2:3b", LIVE)?.offers).toEqual([]);
    const model = catalogOf(parts, { env: BASE }).model("any/llama3.2:3b", LIVE);
    expect(model).toMatchObject({ slug: "any/llama3.2:3b", sale: { input: 0, output: 0 } });
    expect(model?.offers[0]).toMatchObject({ upstreamModel: "llama3.2:3b", adapter: { keys: [] } });
    for (const name of ["", "two words", "line\nbreak", "x".repeat(201), "caf\u00e9"]) {
      expect(catalogOf(parts, { env: BASE }).model(`any/${name}`, LIVE)).toBeNull();
    }
  });

  test("keep slashes in the names of models", () => {
    const model = catalogOf(parts, { env: BASE }).model("any/meta-llama/Llama-3.3", LIVE);
    expect(model?.offers[0]?.upstreamModel).toBe("meta-llama/Llama-3.3");
  });

  test("cost what the environment says, with its own price version", () => {
    const env = { ...BASE, ANY_PROMPT_USD_PER_MILLION: "0.1", ANY_COMPLETION_USD_PER_MILLION: "0.4" };
    const sale = catalogOf(parts, { env, markupPercent: 50 }).model("any/m", LIVE)?.sale;
    expect(sale).toMatchObject({ input: 150_000, output: 600_000, version: "any:m@0.1/0.4+50%" });
  });

  test("stand in a tier for the model that the operator names, and for none while he names none", () => {
    expect(catalogOf(parts, { env: BASE }).model("any/*", LIVE)?.offers).toEqual([]);
    expect(catalogOf(parts, { env: BASE }).models(LIVE)).toEqual([]);
    const named = catalogOf(parts, { env: { ...BASE, ANY_MODEL: "llama3.2" } });
    expect(named.model("any/*", LIVE)).toMatchObject({ slug: "any/llama3.2", offers: [{ upstreamModel: "llama3.2" }] });
    expect(named.models(LIVE).map((model) => model.slug)).toEqual(["any/llama3.2"]);
  });
});

describe("embeddings", () => {
  const maker = vendor({}, { maker: "maker", embeddings: { models: { embed: priced("0.02", "0") } } });

  test("are sold beside chat models and never mistaken for them", () => {
    const catalog = catalogOf({ adapters: { maker } }, { env: KEYS });
    expect(catalog.embedding("maker/embed", LIVE)).toMatchObject({
      kind: "embeddings",
      offers: [{ upstreamModel: "embed" }],
    });
    expect(catalog.model("maker/embed", LIVE)).toBeNull();
    expect(catalog.embeddings(LIVE)).toHaveLength(1);
    expect(catalog.models(LIVE)).toEqual([]);
  });

  test("are called by their units, at the price of the hour", () => {
    const hours = [{ from: "08:00", until: "09:00", input: "0.04", output: "0" }];
    const busy = { models: { embed: priced("0.02", "0", { hours }) } };
    const catalog = catalogOf({ adapters: { maker: { ...maker, embeddings: busy } } }, { env: KEYS });
    const rateAt = (time: string) => {
      const atMs = Date.parse(`2026-11-21T${time}Z`);
      const found = findUnitModel("embeddings", "embed", { catalog, audience: LIVE, atMs });
      return found.sale.rates.get("textIn");
    };
    expect(rateAt("07:59:59")).toBe(20_000);
    expect(rateAt("08:00:00")).toBe(40_000);
  });
});

describe("the day", () => {
  test("changes prices at midnight UTC without a restart", () => {
    const clock = manualClock(Date.parse("2026-11-21T23:59:59.999Z"));
    const prices = [
      { since: "2026-01-01", input: "2", output: "10" },
      { since: "2026-11-22", input: "3", output: "15" },
    ];
    const maker = vendor({ one: { contextTokens: 8_192, prices } }, { maker: "maker" });
    const catalog = catalogOf({ adapters: { maker } }, { env: KEYS, clock });
    const before = catalog.model("maker/one", LIVE);
    expect(before?.sale).toMatchObject({ input: 2_000_000, version: "maker/one@2026-01-01" });
    expect(catalog.model("maker/one", LIVE)).toBe(before);
    clock.advance(1);
    expect(catalog.model("maker/one", LIVE)?.sale).toMatchObject({ input: 3_000_000, version: "maker/one@2026-11-22" });
    expect(catalog.model("maker/one", PLAY)?.sale.input).toBe(3_000_000);
    expect(before?.sale.input).toBe(2_000_000);
    expect(catalog.model("maker/one", LIVE)?.offers[0]?.adapter).toBe(before?.offers[0]?.adapter);
  });

  test("a model whose first price has not begun is not sold", () => {
    const maker = vendor(
      { soon: { contextTokens: 1, prices: [{ since: "2027-01-01", input: "1", output: "1" }] } },
      { maker: "maker" },
    );
    expect(catalogOf({ adapters: { maker } }, { env: KEYS }).model("maker/soon", LIVE)).toBeNull();
  });
});

describe("files that do not fit together", () => {
  const one = { one: priced("1", "1") };

  test.each([
    [
      "a slug sold first-hand by two",
      { a: vendor(one, { maker: "m" }), b: vendor(one, { maker: "m" }) },
      "adapters/b.ts: chat.models.one is sold as m/one, and so is adapters/a.ts: chat.models.one",
    ],
    [
      "a slug sold twice by one",
      { a: vendor({ "m/one": priced("1", "1"), two: { ...priced("1", "1"), slug: "m/one" } }) },
      "adapters/a.ts: chat.models.two is sold as m/one, and so is adapters/a.ts: chat.models.m/one",
    ],
    [
      "a slug without a maker",
      { a: vendor(one) },
      "adapters/a.ts: chat.models.one needs a slug as <maker>/<model>, not one",
    ],
    [
      "a slug of another maker",
      { a: vendor({ one: { ...priced("1", "1"), slug: "other/one" } }, { maker: "m" }) },
      "adapters/a.ts: chat.models.one is sold as other/one, which does not begin with the adapter's maker m",
    ],
    [
      "a slug that any model of a server could have",
      { a: vendor({ "any/one": priced("1", "1") }), any: anyServer() },
      "adapters/a.ts: chat.models.any/one is sold as any/one, which is also any model of any",
    ],
  ])("%s", (_, adapters, problem) => {
    expect(() => catalogOf({ adapters })).toThrow(problem);
  });

  test("a tier whose candidate nobody sells, or that names one twice", () => {
    const adapters = { a: vendor(one, { maker: "m" }), any: anyServer() };
    const load =
      (...models: readonly [string, ...string[]]) =>
      () =>
        catalogOf({ adapters, tiers: { cheap: tier(...models) } });
    expect(load("m/one", "any/*", "any/llama")).not.toThrow();
    expect(load("m/one", "m/two")).toThrow("tiers/cheap.ts: candidates.1.model names m/two, which no adapter sells");
    expect(load("m/one", "m/one")).toThrow("tiers/cheap.ts: candidates.1.model names m/one again");
  });
});
