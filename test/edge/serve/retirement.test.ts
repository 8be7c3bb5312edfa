import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkRetirements, goneError, isGone, retirementHeaders } from "../../../src/catalog/retirement.ts";
import type { Endpoint, Retirement } from "../../../src/core/endpoint.ts";
import { envelopeErrors } from "../../../src/models/formats/envelope/errors.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const RETIRES: Retirement = { announced: "2026-09-01", sunset: "2026-12-31", successor: "/api/v2/things" };
const at = (text: string) => Date.parse(text);

describe("a retirement", () => {
  test("is told from its announcement on", () => {
    expect(retirementHeaders(RETIRES, at("2026-08-31T23:59:59Z"))).toEqual({});
    expect(retirementHeaders(RETIRES, at("2026-09-01T00:00:00Z"))).toEqual({
      deprecation: "true",
      sunset: "Thu, 31 Dec 2026 00:00:00 GMT",
      link: '</api/v2/things>; rel="successor-version"',
    });
  });

  test("has no link where nothing takes its place", () => {
    const { link } = retirementHeaders({ announced: "2026-09-01", sunset: "2026-12-31" }, at("2026-10-01"));
    expect(link).toBeUndefined();
  });

  test("ends with the first instant of its sunset", () => {
    expect(isGone(RETIRES, at("2026-12-30T23:59:59.999Z"))).toBe(false);
    expect(isGone(RETIRES, at("2026-12-31T00:00:00Z"))).toBe(true);
    expect(isGone(undefined, at("2026-12-31T00:00:00Z"))).toBe(false);
    expect(goneError(RETIRES)).toMatchObject({ code: "gone", status: 410, retry: false });
    expect(goneError(RETIRES).message).toContain("/api/v2/things");
  });

  test("of an endpoint leaves at least 90 days, or the gateway does not start", () => {
    const endpoint = (sunset: string): Endpoint => ({
      method: "GET",
      path: "/api/v1/things",
      auth: "none",
      bodyBytesMax: 0,
      errors: envelopeErrors,
      retires: { announced: "2026-09-01", sunset },
      answer: () => ({ status: 200, body: {} }),
    });
    expect(() => checkRetirements([endpoint("2026-11-30")])).not.toThrow();
    expect(() => checkRetirements([endpoint("2026-11-29")])).toThrow(
      "GET /api/v1/things: sunset must be at least 90 days",
    );
  });
});

/** The day that is `days` from today. */
function day(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

function actionOf(retires: Retirement | null): string {
  return `action({
    description: "Looks something up.", category: "search", effect: "read", params: z.strictObject({ q: z.string() }),
    price: { mode: "fixed", cents: 1 }, upstreamCents: 0, request: { method: "GET", path: "/q" },
    example: { params: { q: "x" }, answers: [{ found: true }] }, ${retires === null ? "" : `retires: ${JSON.stringify(retires)},`}
  })`;
}

describe("actions that retire", () => {
  let gateway: TestGateway;
  let overlay: string;

  beforeAll(async () => {
    overlay = mkdtempSync(join(tmpdir(), "tollgate-retiring-"));
    mkdirSync(join(overlay, "adapters"));
    const going = actionOf({ announced: day(-10), sunset: day(100), successor: "/api/run/elder/staying" });
    const gone = actionOf({ announced: day(-100), sunset: day(0), successor: "/api/run/elder/staying" });
    writeFileSync(
      join(overlay, "adapters", "elder.ts"),
      `import { action, bearer, defineAdapter, z } from "#adapter";
export default defineAdapter({
  name: "Elder", docs: "https://elder.example", origin: "https://api.elder.example", auth: bearer,
  actions: { staying: ${actionOf(null)}, going: ${going}, gone: ${gone} },
});
`,
    );
    gateway = await startTestGateway({ OVERLAY_DIR: overlay });
  });

  afterAll(async () => {
    await gateway.stop();
    removeFolder(overlay);
  });

  const post = (name: string, key: string | null) =>
    fetch(`${gateway.url}/api/run/elder/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ q: "x" }),
    });

  test("say so on every answer of theirs, good and bad", async () => {
    const { key } = await gateway.account();
    const wrongParams = fetch(`${gateway.url}/api/run/elder/going`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: "{}",
    });
    const statuses: number[] = [];
    for (const response of [await post("going", key), await post("going", null), await wrongParams]) {
      statuses.push(response.status);
      expect(response.headers.get("deprecation")).toBe("true");
      expect(response.headers.get("sunset")).toBe(new Date(`${day(100)}T00:00:00Z`).toUTCString());
      expect(response.headers.get("link")).toBe('</api/run/elder/staying>; rel="successor-version"');
    }
    expect(statuses.slice(1)).toEqual([401, 400]);
    expect((await post("staying", key)).headers.get("deprecation")).toBeNull();
  });

  test("are 410 after their sunset, free, and no longer listed", async () => {
    const { key } = await gateway.account();
    const response = await post("gone", key);
    expect(response.status).toBe(410);
    expect(response.headers.get("link")).toContain("/api/run/elder/staying");
    expect(await response.json()).toMatchObject({
      ok: false,
      error: "gone",
      data: { successor: "/api/run/elder/staying" },
    });
    expect((await fetch(`${gateway.url}/api/run/elder/gone`)).status).toBe(410);
    const index = (await (await fetch(`${gateway.url}/api/run`)).json()) as {
      data: { service: string; action: string }[];
    };
    const listed = index.data.filter(({ service }) => service === "elder").map(({ action }) => action);
    expect(listed).toEqual(["going", "staying"]);
  });
});
