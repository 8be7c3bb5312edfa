// One exchange with a vendor: its result, what ends it early, and what is known about it until then.
import { Agent } from "undici";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AdapterSpec, action, noAuth, z } from "../../src/catalog/adapter.ts";
import type { Adapter } from "../../src/catalog/catalog.ts";
import { systemClock } from "../../src/core/clock.ts";
import { UnbuildableRequest, type WireRequest } from "../../src/upstream/build-request.ts";
import { type Question, VendorClient } from "../../src/upstream/vendor-client.ts";
import { VendorFailure } from "../../src/upstream/vendor-failure.ts";
import type { NoPermit, Permit } from "../../src/upstream/vendor-rate-limiter.ts";
import { catalogOf, LIVE } from "../catalog/catalog-of.ts";
import { eventually } from "../support/gateway.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

const spec: AdapterSpec = {
  name: "Asked",
  docs: "docs/reference/catalog.md",
  origin: "https://asked.invalid",
  auth: noAuth,
  actions: {
    get: action({
      description: "Gets.",
      category: "open-data",
      effect: "read",
      params: z.looseObject({}),
      price: { mode: "fixed", cents: 1 },
      upstreamCents: 0,
      request: { method: "GET", path: "/get" },
      example: { params: {}, answers: [{ ok: 1 }] },
    }),
  },
};

const NOW: Permit = { waitMs: 0, valid: () => true, cancel() {} };
let vendor: VendorServer;
let adapter: Adapter;
const dispatcher = new Agent();
beforeAll(async () => {
  vendor = await startVendor();
  const offer = catalogOf({ adapters: { asked: spec } }, { env: { ASKED_BASE_URL: vendor.url } }).action(
    "asked/get",
    LIVE,
  );
  const found = offer?.offers[0]?.adapter;
  if (found === undefined) throw new Error("no adapter");
  adapter = found;
});
beforeEach(() => vendor.answers({ body: { ok: 1 } }));
afterAll(async () => {
  await dispatcher.destroy();
  await vendor.close();
});

function client(acquire: () => Permit | NoPermit = () => NOW, msMax = 2_000): VendorClient {
  return new VendorClient({ adapter, acquire, msMax, dispatcher, clock: systemClock });
}

function question(more: Partial<WireRequest> = {}, rest: Partial<Question> = {}): Question {
  const request: WireRequest = { method: "GET", origin: vendor.url, path: "/get", headers: {}, body: null, ...more };
  return { build: () => request, redirectsMax: 0, afterMs: 0, splice: null, ...rest };
}

async function failureOf(asked: Promise<unknown>): Promise<unknown> {
  const error = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof VendorFailure)) throw new Error(`no failure but ${String(error)}`);
  return error.failure;
}

describe("an exchange", () => {
  it("comes back as a whole answer", async () => {
    vendor.answers({ status: 404, headers: { "x-a": "1" }, body: { no: 1 } });
    const answer = await client().ask(question());
    expect(answer).toMatchObject({ status: 404, json: { no: 1 }, text: '{"no":1}' });
    expect(answer.headers["x-a"]).toBe("1");
    expect(answer.bytes.toString()).toBe('{"no":1}');
  });

  it("follows as many redirects as each question allows, however many went before", async () => {
    const there = { status: 302, headers: { location: "/there" }, body: "" };
    const asking = client();
    for (let n = 0; n < 3; n++) {
      vendor.answers(there, { body: { n } });
      expect((await asking.ask(question({}, { redirectsMax: 1 }))).json).toEqual({ n });
    }
    vendor.answers(there, there, { body: {} });
    expect((await asking.ask(question({}, { redirectsMax: 1 }))).status).toBe(302);
  });

  it("that cannot be built is the caller's fault at first, and later the vendor's", async () => {
    const build = () => {
      throw new UnbuildableRequest("half of a character");
    };
    const asking = client();
    expect(await failureOf(asking.ask(question({}, { build })))).toMatchObject({
      kind: "caller_invalid",
      mayHaveRun: false,
    });
    await asking.ask(question());
    expect(await failureOf(asking.ask(question({}, { build })))).toMatchObject({
      kind: "provider_malformed",
      mayHaveRun: true,
    });
  });

  it("that fails after a good one may have run, though it was never sent itself", async () => {
    const nowhere = question({ origin: "http://127.0.0.1:1" });
    const asking = client();
    expect(await failureOf(asking.ask(nowhere))).toMatchObject({
      kind: "provider_connection_failed",
      mayHaveRun: false,
    });
    await asking.ask(question());
    expect(await failureOf(asking.ask(nowhere))).toMatchObject({
      kind: "provider_connection_failed",
      mayHaveRun: true,
    });
  });

  it("shares one deadline with all others of its call", async () => {
    vendor.answers(() => {});
    const asking = client(undefined, 60);
    expect(await failureOf(asking.ask(question()))).toMatchObject({ kind: "provider_timeout" });
    expect(await failureOf(asking.ask(question()))).toMatchObject({ kind: "provider_timeout" });
    expect(vendor.asked).toHaveLength(1);
  });
});

describe("a call that ends early", () => {
  it("cancels the permit that it waited for, and sends nothing", async () => {
    let given = 0;
    const asking = client(() => ({ waitMs: 1_000, valid: () => true, cancel: () => void given++ }));
    const failure = failureOf(asking.ask(question()));
    asking.abort();
    expect(await failure).toMatchObject({ kind: "caller_cancelled" });
    expect(given).toBe(1);
    expect(vendor.asked).toEqual([]);
  });

  it("closes what runs, and asks no more", async () => {
    const closed = Promise.withResolvers<void>();
    vendor.answers((response) => void response.on("close", closed.resolve));
    const asking = client();
    const failure = failureOf(asking.ask(question()));
    await eventually(() => vendor.asked[0], "the vendor to be asked");
    asking.abort();
    expect(await failure).toMatchObject({ kind: "caller_cancelled" });
    await closed.promise;
    const before = vendor.asked.length;
    expect(await failureOf(asking.ask(question()))).toMatchObject({ kind: "caller_cancelled" });
    expect(vendor.asked).toHaveLength(before);
  });
});

describe("a request", () => {
  async function whileAsked(asking: VendorClient, look: () => void): Promise<void> {
    let letGo = () => {};
    vendor.answers((response) => {
      letGo = () => void response.writeHead(429).end("{}");
    });
    const answer = asking.ask(question({ method: "POST", body: "{}" }));
    await eventually(() => (vendor.asked.length === 1 ? true : undefined), "the vendor to be asked");
    look();
    letGo();
    await answer.catch(() => {});
  }

  it("is accepted once it has been written whole, until a refusal comes", async () => {
    const asking = client();
    expect(asking.accepted).toBe(false);
    await whileAsked(asking, () => expect(asking.accepted).toBe(true));
    expect(asking.accepted).toBe(false);
    vendor.answers({ body: {} });
    await asking.ask(question());
    expect(asking.accepted).toBe(true);
  });

  it("stays accepted when we stop it", async () => {
    const asking = client();
    await whileAsked(asking, () => asking.abort());
    expect(asking.accepted).toBe(true);
  });

  it("is not accepted while it waits for its permit, or for a connection that is not made", async () => {
    const waiting = client(() => ({ waitMs: 1_000, valid: () => true, cancel() {} }));
    const waited = failureOf(waiting.ask(question()));
    expect(waiting.accepted).toBe(false);
    waiting.abort();
    await waited;
    expect(waiting.accepted).toBe(false);
    const nowhere = client();
    await failureOf(nowhere.ask(question({ origin: "http://127.0.0.1:1" })));
    expect(nowhere.accepted).toBe(false);
  });
});
