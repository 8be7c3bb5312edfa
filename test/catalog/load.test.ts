import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LoadOptions, loadCatalog } from "../../src/catalog/load.ts";
import { actionsNamedBy } from "../../src/catalog/tier.ts";
import { CatalogError } from "../../src/catalog/validate.ts";
import { manualClock } from "../support/manual-clock.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { LIVE, PLAY, TODAY_MS } from "./catalog-of.ts";

/** A complete OpenAI-compatible provider: nothing else needs to be written. */
const ACME = `// Acme: one model.
import { bearer, defineAdapter } from "#adapter";

export default defineAdapter({
  name: "Acme",
  docs: "https://acme.example/docs",
  origin: "https://api.acme.example/v1",
  auth: bearer,
  maker: "acme",
  chat: {
    dialect: "chat-completions",
    models: {
      "one-2": { contextTokens: 32_000, prices: [{ since: "2026-08-01", input: "0.5", output: "1.5" }] },
    },
  },
});
`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "overlay-"));
});

afterEach(() => {
  removeFolder(folder);
});

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
}

function load(options: Partial<LoadOptions> = {}) {
  return loadCatalog({
    env: {},
    clock: manualClock(TODAY_MS),
    sandboxOrigin: "http://sandbox.test",
    contact: null,
    markupPercent: 0,
    allowLoss: false,
    overlayDir: folder,
    ...options,
  });
}

async function problemsOf(loading: Promise<unknown>): Promise<readonly string[]> {
  const error = await loading.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CatalogError);
  return error instanceof CatalogError ? error.problems : [];
}

describe("an overlay", () => {
  test("adds a provider with one small file", async () => {
    write("adapters/acme.ts", ACME);
    const catalog = await load({ env: { ACME_API_KEY: "k" } });
    expect(catalog.model("acme/one-2", LIVE)).toMatchObject({
      contextTokens: 32_000,
      sale: { input: 500_000, output: 1_500_000, version: "acme/one-2@2026-08-01" },
      offers: [{ upstreamModel: "one-2", adapter: { id: "acme", keys: ["k"], origin: "https://api.acme.example/v1" } }],
    });
    expect(catalog.model("openai/gpt-5.4-mini", LIVE)).not.toBeNull();
  });

  test("adds several providers with one file, and replaces single rows of a shipped one", async () => {
    const row = (name: string, origin: string) =>
      `{ name: "${name}", docs: "https://${name}.example", origin: "${origin}", auth: bearer, chat: { dialect: "chat-completions",
         models: { "small-1": { slug: "${name}/small-1", contextTokens: 32_000, prices: [{ since: "2026-08-01", input: "1", output: "2" }] } } } }`;
    write(
      "adapters/others.ts",
      `import { bearer, defineAdapters } from "#adapter";
       export default defineAdapters({ one: ${row("one", "https://one.example/v1")}, moonshot: ${row("moon", "https://moon.example/v1")} });`,
    );
    const catalog = await load({ env: { ONE_API_KEY: "k", MOONSHOT_API_KEY: "k", NOVITA_API_KEY: "k" } });
    const origin = (slug: string) => catalog.model(slug, LIVE)?.offers.map(({ adapter }) => adapter.origin);
    expect(origin("one/small-1")).toEqual(["https://one.example/v1"]);
    expect(origin("moon/small-1")).toEqual(["https://moon.example/v1"]);
    expect(origin("mistralai/mistral-nemo")).toEqual(["https://api.novita.ai/openai/v1"]);
    expect(catalog.model("moonshotai/kimi-k3", LIVE)?.offers).toEqual([]);
  });

  test("says which of ZDR_PROVIDERS is the id of no provider", async () => {
    const problems = await problemsOf(load({ overlayDir: null, zdrProviders: ["openai", "open-ai"] }));
    expect(problems).toEqual(['ZDR_PROVIDERS has "open-ai", which is the id of no provider']);
  });

  test("says of a row what is wrong with it, and of an id that two files have it twice", async () => {
    const row = `{ name: "One", docs: "https://one.example", origin: "https://{place}.example/v1", auth: bearer }`;
    const table = (rows: string) =>
      `import { bearer, defineAdapters } from "#adapter"; export default defineAdapters(${rows});`;
    write("adapters/a.ts", table(`{ one: ${row} }`));
    write("adapters/b.ts", table(`{ two: { ...${row}, origin: "nowhere" } }`));
    expect(await problemsOf(load())).toEqual([
      `${folder}/adapters/a.ts: adapters.one.origin has {place}, which is none of settings`,
      `${folder}/adapters/b.ts: adapters.two.origin is not an http address`,
    ]);
    write("adapters/a.ts", table(`{ one: ${row.replace("{place}", "a")} }`));
    write("adapters/b.ts", table(`{ one: ${row.replace("{place}", "b")} }`));
    expect(await problemsOf(load())).toEqual([`${folder}/adapters/b.ts: one is another file's too`]);
  });

  test("names no header that is the connection's", async () => {
    write(
      "adapters/acme.ts",
      ACME.replace("auth: bearer,", 'auth: bearer,\n  headers: { te: "trailers", "x-version": "1" },'),
    );
    expect(await problemsOf(load())).toEqual([
      `${folder}/adapters/acme.ts: headers may have none of connection, http2-settings, keep-alive, proxy-connection, te, transfer-encoding, upgrade`,
    ]);
  });

  test("replaces a shipped file of the same name", async () => {
    const before = await load({ overlayDir: null });
    const [named] = before.tiers.get("cheap")?.models ?? [];
    write("adapters/acme.ts", ACME);
    write(
      "tiers/cheap.ts",
      `import { defineTier } from "#tier";
       export default defineTier({ purpose: "Ours.", firstTokenMsMax: 5, candidates: [{ model: "acme/one-2" }] });`,
    );
    const catalog = await load();
    expect(named).not.toBe("acme/one-2");
    expect(catalog.tiers.get("cheap")).toEqual({
      id: "cheap",
      purpose: "Ours.",
      models: ["acme/one-2"],
      lower: null,
      standsInFor: [],
      firstTokenMsMax: 5,
    });
    expect(catalog.tiers.get("mid")?.models).toEqual(before.tiers.get("mid")?.models);
  });

  const ladder = (action: string) =>
    `import { definePageLadder } from "#tier";
     export default definePageLadder({
       rungs: [{ tag: "direct", cents: 1 }, {
         tag: "ours", cents: 1,
         html: { action: "${action}", params: ({ urls }) => ({ url: urls[0] ?? "" }), answer: { contentAt: "/html", holds: "html" } },
       }],
       map: { action: "firecrawl/map", cents: 1, linksAt: "/links", urlAt: "/url" },
       socialDomains: [], documentEndings: [], documentTypes: [],
     });`;

  test("replaces what a composite of ours goes by", async () => {
    const before = await load({ overlayDir: null });
    expect(before.compositeTiers.get("onescrape")?.kind).toBe("page-ladder");
    write("tiers/onescrape.ts", ladder("firecrawl/scrape"));
    const after = (await load()).compositeTiers.get("onescrape");
    expect(after?.kind === "page-ladder" && after.rungs.map(({ tag }) => tag)).toEqual(["direct", "ours"]);
  });

  test("may name no action in it that is not there, nor a kind of tier that there is none of", async () => {
    write("tiers/onescrape.ts", ladder("firecrawl/nothing"));
    expect(await problemsOf(load())).toEqual([
      "tiers/onescrape.ts: rungs.1.html.action names firecrawl/nothing, which no adapter has",
    ]);
    write("tiers/onescrape.ts", 'export default { kind: "stairs" };');
    expect(String(await problemsOf(load()))).toContain("onescrape.ts: kind is not a kind of tier");
  });

  test("may give an action a param called `action`", () => {
    const begin = { action: "browserbase/create_session", params: { action: "start", at: { action: 1 } } };
    expect([...actionsNamedBy({ browser: { begin } })]).toEqual([["browser.begin.action", begin.action]]);
  });

  test("sells at the door for those without a key what it sells by key, and nothing else", async () => {
    const draw = `action({
      description: "Draws a card.", category: "open-data", effect: "read", params: z.strictObject({}),
      price: { mode: "fixed", cents: 1 }, upstreamCents: 1, request: { method: "GET", path: "/draw" },
      example: { params: {}, answers: [{ card: 1 }] },
    })`;
    write(
      "adapters/cards.ts",
      `import { action, bearer, defineAdapter, z } from "#adapter";
       export default defineAdapter({
         name: "Cards", docs: "https://cards.example", origin: "https://cards.example/v1", auth: bearer,
         keylessDoor: { mpp: "https://mpp.cards.example", actions: { peek: ${draw} } },
         actions: { draw: ${draw} },
       });`,
    );
    expect(await problemsOf(load())).toEqual(
      ["draw", "peek"].map((name) => `adapters/cards.ts: keylessDoor.actions and actions do not both have ${name}`),
    );
  });

  test("names the action whose script uses what scripts no longer have, and what replaces it", async () => {
    write(
      "adapters/faxes.ts",
      `import { action, defineAdapter, noAuth, z } from "#adapter";
       export default defineAdapter({
         name: "Faxes", docs: "https://faxes.example", origin: "https://faxes.example", auth: noAuth,
         actions: { send: action({
           description: "Sends a fax somewhere.", category: "search", effect: "read", params: z.strictObject({ url: z.string() }),
           price: { mode: "fixed", cents: 1 }, upstreamCents: 0,
           run: async ({ pdfPages }) => ({ pages: await pdfPages("url", 10) }),
           example: { params: { url: "https://a.example" }, answers: [{}] },
         }) },
       });`,
    );
    expect(await problemsOf(load())).toEqual([
      `${path.join(folder, "adapters/faxes.ts")}: actions.send.run uses \`pdfPages\`, which scripts no longer have: take the number of pages as a param, and price the call by it`,
    ]);
  });

  test("names the row of a table whose host its adapter has not", async () => {
    write(
      "adapters/rows.ts",
      `import { action, defineAdapter, noAuth, z } from "#adapter";
       export default defineAdapter({
         name: "Rows", docs: "https://rows.example", origin: "https://a.example", origins: { b: "https://b.example" }, auth: noAuth,
         actions: { fetch: action({
           description: "Reads rows of a table.", category: "search", effect: "read", params: z.looseObject({ endpoint: z.string() }),
           price: { mode: "fixed", cents: 1 }, upstreamCents: 0, table: { param: "endpoint" }, request: { method: "GET", path: "" },
           example: { params: { endpoint: "one" }, answers: [{}] },
         }) },
       });`,
    );
    const row = { method: "GET", path: "/one", summary: "One", params: {} };
    write(
      "adapters/rows.json",
      JSON.stringify({ one: row, two: { ...row, origin: "b" }, three: { ...row, origin: "c" } }),
    );
    expect(await problemsOf(load())).toEqual([
      "adapters/rows.json: three.origin names c, which is none of the adapter's origins",
    ]);
  });

  test("is read again as it is then", async () => {
    write("adapters/acme.ts", ACME);
    const before = await load();
    write("adapters/acme.ts", ACME.replace('"0.5"', '"0.75"'));
    const after = await load();
    expect(before.model("acme/one-2", PLAY)?.sale.input).toBe(500_000);
    expect(after.model("acme/one-2", PLAY)?.sale.input).toBe(750_000);
    rmSync(path.join(folder, "adapters/acme.ts"));
    write("adapters/other.ts", ACME.replace('maker: "acme"', 'maker: "other"'));
    const later = await load();
    expect(later.model("acme/one-2", PLAY)).toBeNull();
    expect(later.model("other/one-2", PLAY)).not.toBeNull();
  });
});

describe("a broken file stops the loading, and says where", () => {
  const broken: readonly (readonly [string, string, string, string])[] = [
    [
      "a price that is none",
      'input: "0.5"',
      'input: "half"',
      'chat.models.one-2.prices.0.input is not a decimal in USD per million tokens with at most six places: "half"',
    ],
    [
      "a price finer than a pico-dollar a token",
      'input: "0.5"',
      'input: "0.0000005"',
      "chat.models.one-2.prices.0.input is not a decimal",
    ],
    ["a price as a number", 'input: "0.5"', "input: 0.5", "chat.models.one-2.prices.0.input"],
    [
      "a model without a price",
      'prices: [{ since: "2026-08-01", input: "0.5", output: "1.5" }]',
      "prices: []",
      "chat.models.one-2.prices has no price",
    ],
    ["a day that is none", "2026-08-01", "2026-13-01", "chat.models.one-2.prices.0.since is not a day as YYYY-MM-DD"],
    [
      "days out of order",
      'prices: [{ since: "2026-08-01"',
      'prices: [{ since: "2026-09-01", input: "1", output: "1" }, { since: "2026-08-01"',
      "chat.models.one-2.prices must be in order of `since`, newest last",
    ],
    [
      "steps out of order",
      'output: "1.5"',
      'output: "1.5", steps: [{ promptTokens: 9, input: "1", output: "1" }, { promptTokens: 5, input: "2", output: "2" }]',
      "chat.models.one-2.prices must have its steps in order of `promptTokens`",
    ],
    [
      "embeddings that cost more than their tokens",
      'chat: {\n    dialect: "chat-completions",\n    models: {\n      "one-2": { contextTokens: 32_000, prices: [{',
      'embeddings: {\n    models: {\n      "one-2": { contextTokens: 32_000, prices: [{ thousandCalls: "5",',
      "embeddings.models.one-2.prices has `steps` or `thousandCalls`",
    ],
    ["an address with a slash at the end", "acme.example/v1", "acme.example/v1/", "origin must not end in a slash"],
    ["an address that is none", "https://api.acme.example/v1", "api.acme.example", "origin is not an http address"],
    ["a field that is mistyped", "contextTokens: 32_000", "contextToken: 32_000", "chat.models.one-2.contextTokens"],
    ["a dialect that is not spoken", '"chat-completions"', '"telegraph"', "chat.dialect"],
    [
      "a pointer that is none",
      'dialect: "chat-completions"',
      'dialect: "chat-completions", usageAt: ["usage"]',
      "chat.usageAt.0 is not a JSON pointer",
    ],
    [
      "a slug that is none",
      "contextTokens: 32_000",
      'slug: "One", contextTokens: 32_000',
      "chat.models.one-2.slug is not a slug as <maker>/<model>",
    ],
  ];

  test.each(broken)("%s", async (_, right, wrong, complaint) => {
    expect(ACME).toContain(right);
    write("adapters/acme.ts", ACME.replace(right, wrong));
    const problems = await problemsOf(load());
    const file = path.join(folder, "adapters/acme.ts");
    expect(problems.filter((problem) => problem.startsWith(`${file}: ${complaint}`))).toHaveLength(1);
  });

  test("a file that is no module, or exports nothing", async () => {
    write("adapters/acme.ts", "export default {");
    write("adapters/none.ts", "export const adapter = 1;");
    write("tiers/thrown.ts", 'throw new Error("no tier today");');
    const problems = await problemsOf(load());
    expect(problems).toHaveLength(3);
    expect(problems[0]).toContain("adapters/acme.ts cannot be loaded: ");
    expect(problems[1]).toContain("adapters/none.ts has no default export");
    expect(problems[2]).toContain("tiers/thrown.ts cannot be loaded: no tier today");
  });

  test("a tier without candidates, and one that names a model nobody sells", async () => {
    const text = (candidates: string) => `import { defineTier } from "#tier";
      export default defineTier({ purpose: "p", firstTokenMsMax: 1, candidates: ${candidates} });`;
    write("tiers/empty.ts", text("[]"));
    expect(await problemsOf(load())).toEqual([`${path.join(folder, "tiers/empty.ts")}: candidates has no candidate`]);
    write("tiers/empty.ts", text('[{ model: "acme/none" }]'));
    expect(await problemsOf(load())).toEqual([
      "tiers/empty.ts: candidates.0.model names acme/none, which no adapter sells",
    ]);
  });

  test("every problem of every file is told at once", async () => {
    write("adapters/acme.ts", ACME.replace('"0.5"', '"x"').replace('"1.5"', '"y"'));
    write("adapters/zeta.ts", ACME.replace("auth: bearer", "auth: 7"));
    const problems = await problemsOf(load());
    expect(problems.map((problem) => path.basename(problem.split(": ")[0] ?? ""))).toEqual([
      "acme.ts",
      "acme.ts",
      "zeta.ts",
    ]);
  });

  test("a file that is not named in kebab-case, and a folder with nothing in it", async () => {
    expect(await problemsOf(load())).toEqual([`${folder} has no file in adapters/ or tiers/, and no models.json`]);
    write("adapters/Acme_One.ts", ACME);
    expect(await problemsOf(load())).toEqual([
      `${path.join(folder, "adapters/Acme_One.ts")} is not named in-this-way.ts`,
    ]);
  });
});
