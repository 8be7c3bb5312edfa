// Faults of a vendor: what the caller gets, how often the vendor is called, and that the ledger shows a void.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { CallLogRow } from "../../../src/sandbox/call-log.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../../support/gateway.ts";

const PRICE_CENTS = 3;
const CREDIT_CENTS = 1_000;
const LISTENING = "listening";

const visits: string[] = [];

const tls = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url));
const badCertificate = forFile(
  createServer({ key: tls("key.pem"), cert: tls("certificate.pem") }, (request, response) => {
    visits.push(String(request.url));
    response.setHeader("content-type", "application/json").end('{"results":["tea"]}');
  }).listen(0, "127.0.0.1"),
);
await new Promise((resolve) => badCertificate.once(LISTENING, resolve));
const gateway = forFile(
  await startTestGateway({
    OVERLAY_DIR: fileURLToPath(new URL("../../fixtures/fault-overlay", import.meta.url)),
    FICKLE_API_KEY: "k",
    FICKLE_BASE_URL: `https://127.0.0.1:${(badCertificate.address() as AddressInfo).port}/v1`,
  }),
);

interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly json: { readonly error?: string; readonly data?: Record<string, unknown> } & Record<string, unknown>;
}

/** A call with a simulated fault. */
async function call(account: TestAccount, action: string, fault: string): Promise<Told> {
  const response = await fetch(`${gateway.url}/api/run/fickle/${action}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${account.key}`,
      "content-type": "application/json",
      ...(fault === "" ? {} : { "x-tollgate-sandbox-fault": fault }),
    },
    body: '{"q":"tea"}',
  });
  return { status: response.status, headers: response.headers, json: (await response.json()) as Told["json"] };
}

async function get(account: TestAccount, path: string): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${account.key}` };
  return (await (await fetch(`${gateway.url}${path}`, { headers })).json()) as Record<string, unknown>;
}

/** Expects the hold to have ended without a posting: all credit is free again, and no transaction is listed. */
async function expectVoid(account: TestAccount): Promise<void> {
  const { balance_cents, held_cents } = await get(account, "/api/v1/account");
  expect({ balance_cents, held_cents }).toEqual({ balance_cents: CREDIT_CENTS, held_cents: 0 });
  const { transactions } = await get(account, "/api/v1/transactions");
  expect((transactions as { kind: string }[]).filter(({ kind }) => kind === "charge")).toEqual([]);
}

/** The requests of a call that reached the vendor's stand-in, by the stand-in's own count. */
async function asked(told: Told): Promise<CallLogRow[]> {
  const { requests } = (await gateway.books()) as unknown as { requests: CallLogRow[] };
  return requests.filter(({ requestId }) => requestId === told.headers.get("x-request-id"));
}

function attemptsOf({ json }: Told): { class: string; status: number }[] {
  return (json.data?.attempts ?? []) as { class: string; status: number }[];
}

interface Row {
  readonly fault: string;
  readonly status: number;
  readonly error: string;
  /** The failure class of every attempt. */
  readonly kind: string;
  /** How often the vendor is called for a read, and for a write. */
  readonly times: readonly [read: number, write: number];
}

const rejected = (fault: string, status = Number(fault)): Row => {
  return { fault, status, error: "upstream_rejected", kind: "caller_invalid", times: [1, 1] };
};
const ours = (fault: string, kind: string): Row => {
  return { fault, status: 503, error: "upstream_not_configured", kind, times: [1, 1] };
};
const failed = (fault: string, kind: string, times: Row["times"]): Row => {
  return { fault, status: 500, error: "upstream_error", kind, times };
};

/**
 * A read that may succeed the next time is sent three times. A write that may have happened is sent once; one that was refused is sent
 * again.
 */
const FAULTS: readonly Row[] = [
  rejected("400"),
  rejected("404"),
  rejected("409"),
  rejected("422"),
  ours("401", "provider_auth_failed"),
  ours("403", "provider_auth_failed"),
  ours("402", "provider_billing"),
  ours("means-provider_auth_failed", "provider_auth_failed"),
  ours("means-provider_billing", "provider_billing"),
  failed("429", "provider_rate_limited", [3, 3]),
  failed("means-provider_rate_limited", "provider_rate_limited", [3, 3]),
  failed("500", "provider_server_error", [3, 1]),
  failed("503", "provider_overloaded", [1, 1]),
  failed("error-200", "provider_server_error", [3, 1]),
  failed("html", "provider_malformed", [1, 1]),
  failed("empty", "provider_malformed", [1, 1]),
  failed("malformed", "provider_malformed", [1, 1]),
  failed("redirect", "provider_malformed", [1, 1]),
  failed("huge", "provider_malformed", [1, 1]),
  failed("large-40mb", "provider_malformed", [1, 1]),
  failed("reset", "provider_connection_failed", [3, 1]),
  failed("cut", "provider_connection_failed", [3, 1]),
  failed("short", "provider_connection_failed", [3, 1]),
  failed("stall", "provider_timeout", [1, 1]),
  failed("timeout", "provider_timeout", [1, 1]),
];

describe.each([
  ["a read", "look", 0],
  ["a write", "order", 1],
] as const)("%s", (_, action, column) => {
  it.concurrent.each(FAULTS)("$fault: $status $error, $kind", async ({ fault, status, error, kind, times }) => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    const told = await call(account, kind === "provider_timeout" ? `${action}-soon` : action, fault);
    expect([told.status, told.json.ok, told.json.error]).toEqual([status, false, error]);
    expect(told.json.charged_cents ?? 0).toBe(0);
    const requests = await asked(told);
    expect(requests).toHaveLength(times[column]);
    expect(attemptsOf(told).map((attempt) => attempt.class)).toEqual(requests.map(() => kind));
    await expectVoid(account);
  });

  it.concurrent.each(["400", "404", "409", "422"])("%s comes with the vendor's own body", async (fault) => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    const { json } = await call(account, action, fault);
    expect(json.data?.vendor).toMatchObject({ error: { type: expect.any(String), message: expect.any(String) } });
  });

  it.concurrent.each(["401", "402", "error-200"])("%s keeps the vendor's words about us to itself", async (fault) => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    expect(JSON.stringify(await call(account, action, fault))).not.toMatch(/API key|no credit|The sandbox plays/);
  });

  it.concurrent("404 for no results, and an empty list, are misses: ok, and free where the price says so", async () => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    const told = await call(account, action, "miss");
    expect(told).toMatchObject({ status: 200, json: { ok: true, data: { results: [] }, charged_cents: 0 } });
    expect(await asked(told)).toHaveLength(1);
    expect(await get(account, "/api/v1/account")).toMatchObject({ balance_cents: CREDIT_CENTS, held_cents: 0 });
  });

  it.concurrent.each([
    ["429-once", 2],
    ["slow-50", 1],
    ["large-5mb", 1],
    ["", 1],
  ])("after %s it succeeds, and is charged once", async (fault, times) => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    const told = await call(account, action, fault);
    expect(told).toMatchObject({ status: 200, json: { ok: true, charged_cents: PRICE_CENTS } });
    expect(await asked(told)).toHaveLength(times);
    const { transactions } = await get(account, "/api/v1/transactions");
    const charges = (transactions as Record<string, unknown>[]).filter(({ kind }) => kind === "charge");
    expect(charges).toMatchObject([{ charged_cents: PRICE_CENTS, transaction_id: told.json.transaction_id }]);
  });
});

describe("a reset", () => {
  it("on the first attempt is mended for a read, and not for a write, which may have happened", async () => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    expect((await call(account, "look", "reset-once")).status).toBe(200);
    expect((await call(account, "order", "reset-once")).status).toBe(500);
    expect(await get(account, "/api/v1/account")).toMatchObject({ balance_cents: CREDIT_CENTS - PRICE_CENTS });
  });
});

describe("an answer that is passed on as it comes", () => {
  it("is cut off at its bound where it is huge, and voided", async () => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    await expect(call(account, "dump", "huge")).rejects.toThrow();
    await eventually(
      async () => ((await get(account, "/api/v1/account")).held_cents === 0 ? true : undefined),
      "the void",
    );
    await expectVoid(account);
  });

  it.each(["html", "malformed", "empty", "cut", "short"])(
    "%s, while it is short, is told as an error",
    async (fault) => {
      const account = await gateway.account({ creditCents: CREDIT_CENTS });
      expect(await call(account, "dump", fault)).toMatchObject({ status: 500, json: { error: "upstream_error" } });
      await expectVoid(account);
    },
  );
});

describe("a call of several steps", () => {
  it.concurrent.each([
    ["400@1", 400, 2],
    ["401@1", 503, 2],
    ["500@2", 500, 3],
    ["html@1", 500, 2],
    ["malformed@2", 500, 3],
    ["cut@2", 500, 3],
    ["timeout@2", 500, 3],
    ["huge@2", 500, 3],
    ["redirect@2", 500, 3],
  ])("%s is %i, launches once and is voided", async (fault, status, times) => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    const told = await call(account, fault.startsWith("timeout") ? "job-soon" : "job", fault);
    expect(told.status).toBe(status);
    const requests = await asked(told);
    expect(requests).toHaveLength(times);
    expect(requests.filter(({ step }) => step === 0)).toHaveLength(1);
    await expectVoid(account);
  });

  it.concurrent("500@1 is asked again as polls are, and then voided", async () => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    const told = await call(account, "job", "500@1");
    expect(told.status).toBe(500);
    expect((await asked(told)).map(({ step }) => step)).toEqual([0, 1, 1, 1, 1]);
    await expectVoid(account);
  });

  it.concurrent("a job that is not done at once is polled until it is, and charged once", async () => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    const told = await call(account, "job", "poll-3");
    expect(told).toMatchObject({ status: 200, json: { data: { text: "tea" }, charged_cents: PRICE_CENTS } });
    expect((await asked(told)).map(({ step }) => step)).toEqual([0, 1, 1, 1, 1, 2]);
    expect(await get(account, "/api/v1/account")).toMatchObject({ balance_cents: CREDIT_CENTS - PRICE_CENTS });
  });
});

describe("a bad certificate", () => {
  it.each(["look", "order"])("is an error of the vendor's, and the call is voided: %s", async (action) => {
    const account = await gateway.account({ kind: "personal", creditCents: CREDIT_CENTS });
    const told = await call(account, action, "");
    expect([told.status, told.json.error]).toEqual([500, "upstream_error"]);
    expect(attemptsOf(told).every((attempt) => attempt.class === "provider_connection_failed")).toBe(true);
    expect(visits).toEqual([]);
    await expectVoid(account);
  });
});

describe("the fault's header", () => {
  it("of a live account is not looked at and goes nowhere", async () => {
    const account = await gateway.account({ kind: "personal", creditCents: CREDIT_CENTS });
    const before = (await gateway.books()).requests.length;
    await call(account, "look", "400");
    expect((await gateway.books()).requests).toHaveLength(before);
  });

  it("that names no fault is a 400 that lists them", async () => {
    const account = await gateway.account({ creditCents: CREDIT_CENTS });
    const told = await call(account, "look", "earthquake");
    expect(told).toMatchObject({ status: 400, json: { error: "upstream_rejected" } });
    expect(JSON.stringify(told.json.data)).toContain("slow-<ms>");
    await expectVoid(account);
  });
});

it("after all of it the books agree", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
