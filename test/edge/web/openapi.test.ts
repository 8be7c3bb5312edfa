import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { get_encoding } from "tiktoken";
import { describe, expect, test } from "vitest";
import { type CatalogAction, openActionCatalog } from "../../../src/actions/run/action-catalog.ts";
import { descriptorOf, rowDescriptor } from "../../../src/actions/run/descriptor.ts";
import { OWN_ENDPOINTS } from "../../../src/actions/run/own-endpoints.ts";
import { type JsonSchema, tableOf } from "../../../src/actions/run/params-schema.ts";
import { ERRORS } from "../../../src/core/errors.ts";
import { atOnce } from "../../../src/core/slices.ts";
import { bodySchema, openApiDocument } from "../../../src/edge/web/openapi.ts";
import { LIVE } from "../../catalog/catalog-of.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";

interface Operation {
  operationId: string;
  security: object[];
  requestBody?: { content: { "application/json": { schema: JsonSchema; example?: unknown } } };
  responses: Record<string, { $ref?: string }>;
  "x-payment-info"?: { price: { mode: string; currency: string; amount: string }; protocols?: object[] };
}

interface Document {
  openapi: string;
  info: { version: string; "x-guidance": string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, { headers?: Record<string, { schema: { type: string } }> }> };
}

type SpecData = Record<string, unknown>;

const STATUSES = ["200", "400", "401", "402", "403", "404", "409", "413", "415", "422", "429", "500", "503"];

const gateway = forFile(await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000" }));
const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document;
const catalog = await shippedCatalog({ sandboxOrigin: null });
const actions = openActionCatalog(() => catalog, []).all(LIVE);

function shownBy(action: CatalogAction): Operation | undefined {
  return document.paths[`/api/run/${action.id}`]?.post;
}

describe("openapi.json", () => {
  test("stands alone where no payments are taken: there is not a list of what is paid for on chain", async () => {
    expect((await fetch(`${gateway.url}/.well-known/x402`)).status).toBe(404);
  });

  test("is valid OpenAPI 3.1 by somebody else's validator", async () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.info.version).toBe("1.0.0");
    expect(document.info["x-guidance"]).toContain("/api/run/core/discover");
    expect(document.servers).toEqual([{ url: gateway.url }]);
    const { valid, errors } = await new Validator().validate(document as unknown as SpecData);
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  test("has every action with one fixed price, at the descriptor's price, and no other", () => {
    for (const action of actions) {
      const shown = shownBy(action);
      const { price } = descriptorOf(action);
      if (price.mode !== "fixed") {
        expect(shown, action.id).toBeUndefined();
        continue;
      }
      const told = shown?.["x-payment-info"];
      expect(told?.price, action.id).toMatchObject({ mode: "fixed", currency: "USD" });
      expect(told?.price.amount, action.id).toMatch(/^\d+(\.\d+)?$/);
      expect(Number(told?.price.amount) * 100).toBeCloseTo(price.cents ?? Number.NaN, 9);
      expect(told?.protocols, action.id).toBeUndefined();
      expect(shown?.security).toEqual([{ bearer: [] }]);
      expect(Object.keys(shown?.responses ?? {})).toEqual(STATUSES);
    }
    expect(actions.length).toBeGreaterThan(30);
    expect(document.components.responses.TooManyRequests?.headers?.["Retry-After"]?.schema.type).toBe("integer");
  });

  test("names each operation once", () => {
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("says which protocol pays without a key once there is an address to pay to, and only for what costs something", async () => {
    const paid = atOnce(openApiDocument(actions, "https://gate.example", "0x1234"));
    const { errors } = await new Validator().validate(paid as unknown as SpecData);
    expect(errors ?? []).toEqual([]);
    const paths: Document["paths"] = JSON.parse(JSON.stringify(paid.paths));
    for (const action of actions.filter(({ facts }) => facts.price.mode === "fixed")) {
      const shown = paths[`/api/run/${action.id}`]?.post;
      const isFree = action.facts.price.cents === 0;
      expect(shown?.["x-payment-info"]?.protocols, action.id).toEqual(isFree ? undefined : [{ x402: {} }]);
      expect(shown?.security, action.id).toEqual(isFree ? [{ bearer: [] }] : [{ bearer: [] }, {}]);
    }
  });

  test("describes endpoints that there are", async () => {
    const missing: string[] = [];
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const method of Object.keys(methods)) {
        const url = `${gateway.url}${path.replaceAll(/\{\w+\}/g, "x")}`;
        const response = await fetch(url, {
          method: method.toUpperCase(),
          ...(method === "post" ? { body: "{}" } : {}),
        });
        if (response.status === 405 || (await response.text()).includes("There is nothing at")) missing.push(path);
      }
    }
    expect(missing).toEqual([]);
  });
});

describe("an error is what the document says that it is", () => {
  const CHAT = "/api/llm/v1/chat/completions";
  const HI = { model: "core/cheap", messages: [{ role: "user", content: "hi" }] };

  /** A validator for the schema that a path declares for a status. */
  function errorOf(path: string, status: string): ValidateFunction {
    const { components, paths } = document as unknown as {
      components: { responses: Record<string, { content: { "application/json": { schema: { $ref: string } } } }> };
      paths: Record<string, { post: { responses: Record<string, { $ref: string }> } }>;
    };
    const name = paths[path]?.post.responses[status]?.$ref.split("/").at(-1) ?? "";
    const schema = components.responses[name]?.content["application/json"].schema.$ref.split("/").at(-1) ?? "";
    const { schemas } = components as unknown as { schemas: Record<string, object> };
    expect(schemas[schema], `${path} ${status}`).toBeDefined();
    return new Ajv2020({ strict: false }).compile(schemas[schema] ?? {});
  }

  test.each([
    [CHAT, { ...HI, messages: [] }, 400, "ChatError"],
    [CHAT, { ...HI, max_cost_cents: 0 }, 402, "ChatError"],
    [CHAT, { ...HI, model: "core/none" }, 404, "ChatError"],
    ["/api/run/brave/search", {}, 400, "Error"],
    ["/api/run/brave/search", { q: "tides", max_cost_cents: 0 }, 402, "Error"],
  ])("%s with %j is %d", async (path, body, status, schema) => {
    const account = await gateway.account();
    const response = await postAs(account.key, `${gateway.url}${path}`, body);
    const error = await response.json();
    expect(response.status, JSON.stringify(error)).toBe(status);
    expect(errorOf(path, String(status))(error), JSON.stringify(error)).toBe(true);
    // Each wire has its own schema, and rejects the other's.
    const [own, other] = schema === "Error" ? [path, CHAT] : [CHAT, "/api/run/brave/search"];
    expect([own, errorOf(other, "400")(error)]).toEqual([path, false]);
  });

  test("names the codes, those of payments without a key too, and every status of a language model", () => {
    const { schemas } = document.components as unknown as {
      schemas: Record<string, { properties: { error: { examples?: string[] } } }>;
    };
    const codes = schemas.Error?.properties.error.examples ?? [];
    expect(codes).toEqual(
      expect.arrayContaining([...Object.keys(ERRORS), "insufficient_balance", "x402_not_sellable"]),
    );
    expect(Object.keys(document.paths[CHAT]?.post?.responses ?? {})).toEqual(
      [...STATUSES, "502", "504"].sort((a, b) => Number(a) - Number(b)),
    );
  });

  test.each<[cents: unknown, status: number]>([
    [null, 200],
    [900_000_000, 200],
    [900_000_001, 400],
    [-1, 400],
    [1.5, 400],
    ["5", 400],
  ])("a max_cost_cents of %j is published as it is taken, of language models and of actions", async (cents, status) => {
    const account = await gateway.account({ creditCents: 1_000 });
    const isPublished = (path: string, body: object) => {
      const schema = document.paths[path]?.post?.requestBody?.content["application/json"].schema ?? {};
      return new Ajv2020({ strict: false }).compile(schema)(body);
    };
    const calls = [
      [CHAT, { ...HI, max_cost_cents: cents }],
      ["/api/llm/v1/embeddings", { model: "sandbox/embedding", input: "a", max_cost_cents: cents }],
      ["/api/run/brave/search", { q: "tides", max_cost_cents: cents }],
    ] as const;
    for (const [path, body] of calls) {
      expect(isPublished(path, body), `${path} ${cents}`).toBe(status === 200);
      if (path.endsWith("embeddings")) continue;
      const response = await postAs(account.key, `${gateway.url}${path}`, body);
      expect(response.status, `${path} ${await response.text()}`).toBe(status);
    }
  });
});

const ajv = new Ajv2020({ strict: false, allErrors: false });
formats.default(ajv);

// test/actions/run/published-schemas.test.ts compares the descriptor's schema with what a call accepts.
describe("the schemas of openapi.json", () => {
  test("are the descriptor's, with max_cost_cents", () => {
    for (const action of actions) {
      const published = shownBy(action)?.requestBody?.content["application/json"].schema;
      const schema = JSON.parse(JSON.stringify(bodySchema(descriptorOf(action).params))) as JsonSchema;
      if (published !== undefined) expect(published, action.id).toEqual(schema);
    }
  });

  test("stand alone: none refers to another place", () => {
    for (const action of actions)
      expect(JSON.stringify(descriptorOf(action).params), action.id).not.toContain('"$ref"');
  });

  test("take the example of every row of every table", () => {
    let count = 0;
    for (const action of actions) {
      for (const name of Object.keys(tableOf(action)?.rows ?? {})) {
        const row = rowDescriptor(action, name);
        if (row === null) throw new Error(`${action.id} lacks ${name}`);
        const valid = ajv.validate(row.params, row.example);
        expect(valid, `${action.id} ${name} ${JSON.stringify(row.example)} ${ajv.errorsText()}`).toBe(true);
        count += 1;
      }
    }
    expect(count).toBeGreaterThan(500);
  });
});

describe("llms.txt", () => {
  test("is short, and its addresses are there", async () => {
    const response = await fetch(`${gateway.url}/llms.txt`);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    const text = await response.text();
    expect(get_encoding("o200k_base").encode(text).length).toBeLessThan(1_500);
    for (const said of ["max_cost_cents", "Idempotency-Key", "core/discover", "charged_cents"])
      expect(text).toContain(said);
    const links = [...text.matchAll(/\]\((\S+)\)/g)].map(([, link]) => link ?? "");
    expect(links.length).toBeGreaterThan(3);
    for (const link of links) expect((await fetch(link)).status, link).toBe(200);
    for (const { service } of actions) expect(text).toContain(service);
  });
});

describe("everything can be found from llms.txt", () => {
  test.each([
    ...["core/onesearch", "core/onescrape", "core/onescrape-deep", "core/onefind", "core/onefind-deep"],
    ...["core/consult", "core/discover", "core/result", "core/cancel", "job_id", "files"],
    ...["/api/v1/account", "/api/v1/usage", "/api/v1/transactions", "/api/v1/agents", "/api/v1/groups"],
    ...["/api/v1/budgets", "/api/v1/events", "/api/v1/webhooks", "/api/v1/jobs"],
    ...["/chat/completions", "/messages", "/responses", "/embeddings", "/images/generations", "/audio/transcriptions"],
    ...["/audio/speech", "/rerank", "/moderations"],
  ])("%s", async (name) => {
    expect(await (await fetch(`${gateway.url}/llms.txt`)).text()).toContain(name);
  });

  test.each(OWN_ENDPOINTS.map((one) => [`${one.method} ${one.path}`, one] as const))("%s is served", async (_, one) => {
    const { key } = await gateway.account();
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const body = one.method === "POST" ? { body: "{}" } : {};
    const { status } = await fetch(`${gateway.url}${one.path}`, { method: one.method, headers, ...body });
    // The body is neither a valid request nor a form.
    expect(one.method === "POST" ? [400, 415] : [200]).toContain(status);
  });
});

describe("GET /api/catalog", () => {
  test("has services with their actions, models and tiers", async () => {
    const shown = (await (await fetch(`${gateway.url}/api/catalog`)).json()) as {
      services: {
        service: string;
        name: string;
        available: boolean;
        actions: { action: string; price_cents: number }[];
      }[];
      models: { model: string; prompt_usd_per_million: number }[];
      unit_models: { model: string; usd: Record<string, string> }[];
      tiers: Record<string, string[]>;
    };
    const listed = shown.services.flatMap(({ service, actions: own }) =>
      own.map(({ action }) => `${service}/${action}`),
    );
    expect(listed).toEqual(expect.arrayContaining(actions.map(({ id }) => id)));
    expect(listed).toContain("core/discover");
    const pricing = (await (await fetch(`${gateway.url}/api/llm/v1/pricing`)).json()) as object;
    const { services: _, ...prices } = shown;
    expect(prices).toEqual(pricing);
  });
});
