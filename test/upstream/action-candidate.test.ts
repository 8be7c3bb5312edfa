// What an action's routes share: the pace and the health of their vendor, of one action, or of one table row.
import { describe, expect, it } from "vitest";
import { type AdapterSpec, action, noAuth, z } from "../../src/catalog/adapter.ts";
import type { Json, Params } from "../../src/catalog/said.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { AttemptFailure } from "../../src/core/route.ts";
import { retrying } from "../../src/kernel/routes/retrying.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import type { ActionCandidate } from "../../src/upstream/action-candidate.ts";
import { createUpstream, type Upstream } from "../../src/upstream/upstream.ts";
import { catalogOf, LIVE } from "../catalog/catalog-of.ts";
import { forFile } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { startVendor } from "../support/vendor-server.ts";

const shared = {
  description: "Looks.",
  category: "open-data",
  effect: "read",
  params: z.looseObject({}),
  price: { mode: "fixed", cents: 1 },
  upstreamCents: 0,
  example: { params: {}, answers: [{ ok: 1 } as Json] },
} as const;
const request = { method: "GET", path: "/get" } as const;
const ONCE = { requests: 1, perMs: 3_600_000 };

const spec: AdapterSpec = {
  name: "Slow",
  docs: "docs/reference/catalog.md",
  origin: "https://slow.invalid",
  auth: noAuth,
  rate: ONCE,
  rules: [{ status: 430, means: "provider_rate_limited", restMs: 600_000 }],
  actions: {
    one: action({ ...shared, request }),
    other: action({ ...shared, request }),
    own: action({ ...shared, request, rate: ONCE }),
    path: action({ ...shared, request: { method: "GET", path: "/get/{id}" }, rate: { requests: 1, perMs: 30 } }),
    table: action({ ...shared, request: { method: "GET", path: "" }, table: { param: "endpoint" } }),
  },
};
const row = (path: string) => ({ method: "GET", path, summary: "A row.", params: {} }) as const;

let upstream: Upstream;
const vendor = forFile(await startVendor());

function routeTo(name: string, path: string | null = null, params: Params = {}): ActionCandidate {
  const env = { SLOW_BASE_URL: vendor.url };
  const offer = catalogOf({ adapters: { slow: spec }, tables: { slow: { a: row("/a") } } }, { env }).action(
    `slow/${name}`,
    LIVE,
  )?.offers[0];
  if (offer === undefined) throw new Error(`no slow/${name}`);
  return upstream.actionCandidate(offer, {
    soldId: offer.id,
    params,
    row: path === null ? null : row(path),
    requestId: "req_1",
    restore: (json) => json,
    preamble: null,
    sandbox: null,
  });
}

function ask(name: string, params: Params = {}): Promise<AttemptFailure | "served"> {
  return new Promise((resolve) => {
    routeTo(name, null, params).open({ content() {}, done: () => resolve("served"), failed: resolve }, 1_000);
  });
}

async function withUpstream(work: () => Promise<void>): Promise<void> {
  upstream = createUpstream(systemClock, { dialects: DIALECTS });
  await work().finally(() => upstream.close());
}

describe("the pace", () => {
  it("of a vendor is that of all its actions, but of those that have one of their own", () =>
    withUpstream(async () => {
      vendor.answers({ body: { ok: 1 } });
      expect(await ask("one")).toBe("served");
      expect(await ask("other")).toMatchObject({ kind: "provider_rate_limited", mayHaveRun: false });
      expect(await ask("own")).toBe("served");
      const refused = await ask("own");
      expect(refused).toMatchObject({ kind: "provider_rate_limited", mayHaveRun: false });
      // Another of our keys would have to wait as long.
      expect(refused).not.toHaveProperty("spareKey");
      expect(vendor.asked).toHaveLength(2);
    }));

  it("of an action that the vendor wants to have left alone keeps no other waiting", () =>
    withUpstream(async () => {
      vendor.answers({ status: 430, body: {} }, { body: { ok: 1 } });
      expect(await ask("own")).toMatchObject({ restMs: 600_000 });
      expect(await ask("one")).toBe("served");
      expect(await ask("own")).toMatchObject({ kind: "provider_rate_limited" });
    }));
});

describe("a param that cannot stand in a path", () => {
  it.each(["\ud800", "..", "", null])("as %j is the caller's fault, also where the turn has to be waited for", (id) =>
    withUpstream(async () => {
      vendor.answers({ body: { ok: 1 } });
      const answers = await Promise.all([ask("path", { id: "a" }), ask("path", { id }), ask("path", { id: "b" })]);
      expect(answers).toMatchObject(["served", { kind: "caller_invalid", mayHaveRun: false }, "served"]);
      expect(vendor.asked).toHaveLength(2);
    }),
  );
});

describe("what a sink throws", () => {
  it("ends nothing but its own call: no rejection is left to nobody", () =>
    withUpstream(async () => {
      const broken = () => {
        throw new Error("the sink is broken");
      };
      vendor.answers({ body: { ok: 1 } }, { body: "no JSON" }, { body: { ok: 1 } });
      const unheard: unknown[] = [];
      const hear = (error: unknown) => unheard.push(error);
      process.on("unhandledRejection", hear);
      routeTo("table", "/a").open({ content() {}, done: broken, failed: broken }, 1_000);
      await eventually(() => (vendor.asked.length === 1 ? true : undefined), "the first to be asked");
      routeTo("own").open({ content() {}, done: broken, failed: broken }, 1_000);
      await eventually(() => (vendor.asked.length === 2 ? true : undefined), "the second to be asked");
      expect(await ask("path", { id: "a" })).toBe("served");
      process.off("unhandledRejection", hear);
      expect(unheard).toEqual([]);
    }));
});

describe("the health", () => {
  it("of a row of a table is its own", () =>
    withUpstream(async () => {
      const [sick, well] = [routeTo("table", "/a"), routeTo("table", "/b")];
      upstream.health.bad(sick, { kind: "provider_server_error", status: 500, message: "", retryAfterMs: 60_000 });
      const order = upstream.health.order([sick, well].map(retrying)).map(({ candidate }) => candidate);
      expect(order).toEqual([well, sick]);
      expect(routeTo("table", "/a").healthKey).toBe(sick.healthKey);
    }));
});
