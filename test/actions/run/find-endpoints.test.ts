import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";

const gateway = forFile(await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000" }));

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${gateway.url}${path}`, { headers });

async function dataOf<T>(path: string): Promise<T> {
  const response = await get(path);
  expect(response.status).toBe(200);
  const { ok, data, charged_cents } = (await response.json()) as { ok: boolean; data: T; charged_cents: number };
  expect({ ok, charged_cents }).toEqual({ ok: true, charged_cents: 0 });
  return data;
}

interface IndexRow {
  service: string;
  action: string;
  endpoint: string;
  price_cents: number;
  price_min_cents: number;
  required_params: string[];
  status: string;
}

describe("GET /api/run", () => {
  test("lists every action with its price and required params, and needs no key", async () => {
    const rows = await dataOf<IndexRow[]>("/api/run");
    expect(rows.length).toBeGreaterThan(20);
    for (const row of rows) {
      expect(row.endpoint).toBe(`/api/run/${row.service}/${row.action}`);
      expect(row.price_cents).toBeGreaterThanOrEqual(0);
      expect(["available", "not_configured"]).toContain(row.status);
    }
    expect(rows).toContainEqual(
      expect.objectContaining({ endpoint: "/api/run/core/discover", price_cents: 0, required_params: ["query"] }),
    );
  });

  test("shows of a price that varies the least and the most, as the catalog does", async () => {
    const rows = await dataOf<(IndexRow & { price_mode: string })[]>("/api/run");
    const varying = rows.filter(({ price_mode }) => price_mode !== "fixed");
    expect(varying.length).toBeGreaterThan(5);
    for (const { endpoint, price_cents, price_min_cents } of varying) {
      expect(price_min_cents, endpoint).toBeLessThan(price_cents);
    }
    const { services } = (await (await get("/api/catalog")).json()) as { services: { actions: IndexRow[] }[] };
    const listed = services.flatMap(({ actions }) => actions);
    for (const { endpoint, price_cents, price_min_cents } of rows) {
      expect(listed).toContainEqual(expect.objectContaining({ endpoint, price_cents, price_min_cents }));
    }
  });

  test("names an endpoint that describes itself, for every row", async () => {
    for (const row of await dataOf<IndexRow[]>("/api/run")) {
      const { endpoint, required_params, price_cents, price_min_cents } = row;
      const { params, price } = await dataOf<{
        params: { required?: string[] };
        price: { cents?: number; min_cents?: number; max_cents?: number };
      }>(endpoint);
      expect(params.required ?? []).toEqual(required_params);
      expect(price.cents ?? price.max_cents).toBe(price_cents);
      expect(price.cents ?? price.min_cents).toBe(price_min_cents);
    }
  });
});

describe("GET /api/run/{service}/{action}", () => {
  test("of an unknown action names the nearest ones", async () => {
    const response = await get("/api/run/core/discovery");
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      ok: false,
      error: "not_found",
      message: expect.stringContaining("core/discover"),
      data: { nearest: expect.arrayContaining(["core/discover"]) },
    });
  });

  test("tells whoever calls an unknown action the same", async () => {
    const { key } = await gateway.account();
    const response = await fetch(`${gateway.url}/api/run/core/discovery`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ data: { nearest: expect.arrayContaining(["core/discover"]) } });
  });

  test("with the name of a row describes the row; a wrong name gets the nearest", async () => {
    const rows = await dataOf<IndexRow[]>("/api/run");
    const described = await Promise.all(
      rows.map(async ({ endpoint }) => ({
        endpoint,
        table: (await dataOf<{ table?: { param: string; count: number } }>(endpoint)).table,
        example: (await dataOf<{ example: Record<string, string> }>(endpoint)).example,
      })),
    );
    const tables = described.filter(({ table }) => table !== undefined);
    expect(tables.length).toBeGreaterThan(0);
    for (const { endpoint, table, example } of tables) {
      const param = table?.param ?? "";
      const name = example[param] ?? "";
      const row = await dataOf<{ params: { properties: Record<string, { const?: string }> } }>(
        `${endpoint}?${new URLSearchParams({ [param]: name })}`,
      );
      expect(row.params.properties[param]?.const).toBe(name);
      // A call may omit the beginning of a name if the rest is unambiguous; so may a lookup.
      const short = await dataOf(`${endpoint}?${new URLSearchParams({ [param]: name.replace(/^\/api\/v1/, "") })}`);
      expect(short).toEqual(row);
      const wrong = await get(`${endpoint}?${new URLSearchParams({ [param]: `${name}x` })}`);
      expect(wrong.status).toBe(404);
      expect(((await wrong.json()) as { data: { nearest: string[] } }).data.nearest).toContain(name);
    }
  });
});

/** The head and body of an answer, without any changes by an HTTP client. */
function raw(path: string, headers: Record<string, string>, method = "GET") {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
    const call = httpRequest(`${gateway.url}${path}`, { method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts).toString() }),
      );
    });
    call.on("error", reject).end();
  });
}

describe.each(["/api/run", "/api/run/core/discover", "/api/catalog", "/catalog", "/openapi.json", "/llms.txt"])(
  "%s",
  (path) => {
    test("may be kept, and is 304 without a body for who has it", async () => {
      const whole = await raw(path, {});
      const etag = String(whole.headers.etag);
      expect(whole.status).toBe(200);
      expect(etag).toMatch(/^"[\w-]{22}"$/);
      expect(whole.headers["cache-control"]).toBe("max-age=300");
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await raw(path, { "if-none-match": known });
        expect(again.status, known).toBe(304);
        expect(again.body).toBe("");
        expect(again.headers.etag).toBe(etag);
        expect(again.headers["content-type"]).toBeUndefined();
      }
      const other = await raw(path, { "if-none-match": '"other"' });
      expect(other.status).toBe(200);
      expect(other.body).toBe(whole.body);
    });

    test("answers HEAD with the head alone, and has the headers of every reply", async () => {
      const head = await raw(path, {}, "HEAD");
      expect(head.status).toBe(200);
      expect(head.body).toBe("");
      expect(Number(head.headers["content-length"])).toBeGreaterThan(100);
      expect(head.headers["ratelimit-limit"]).toBeDefined();
      expect(head.headers["x-request-id"]).toBeDefined();
    });
  },
);
