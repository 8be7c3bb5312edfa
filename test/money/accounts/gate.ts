// The accounts' endpoints over a real ledger in a temporary folder, called without a transport.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PostedLeg } from "../../../src/core/account-rows.ts";
import type { Answer } from "../../../src/core/endpoint.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { nano, ZERO } from "../../../src/core/money.ts";
import { matchEndpoint } from "../../../src/edge/http/match-endpoint.ts";
import { envelopeErrors } from "../../../src/models/formats/envelope/errors.ts";
import { accountEndpoints } from "../../../src/money/accounts/account-endpoints.ts";
import { adminEndpoints, type Readiness } from "../../../src/money/accounts/admin-endpoints.ts";
import { adminCheck } from "../../../src/money/accounts/admin-token.ts";
import { type AddressMisses, Authenticator } from "../../../src/money/accounts/authenticate.ts";
import type { Books } from "../../../src/money/accounts/books.ts";
import { rulesOf } from "../../../src/money/accounts/rules.ts";
import { underRules } from "../../../src/money/accounts/under-rules.ts";
import type { Ledger } from "../../../src/money/ledger/model/ledger.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../../src/money/ledger/sqlite/ledger.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import { type ManualClock, manualClock } from "../../support/manual-clock.ts";
import { removeFolder } from "../../support/remove-folder.ts";

export const ADMIN_TOKEN = "admin-token-of-the-tests";

/** An answer, or the error's status and body, in a form for tests. */
export interface Seen {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies are what the test is about.
  readonly body: any;
}

export interface Gate {
  readonly ledger: Ledger;
  readonly clock: ManualClock;
  readonly folder: string;
  readiness: Readiness;
  call(key: string | null, method: string, path: string, body?: unknown): Promise<Seen>;
  admin(method: string, path: string, body?: unknown): Promise<Seen>;
  /** Charges a key: a hold and its posting. Returns the transaction id. */
  charge(accountId: string, keyId: string, cents: number): Promise<string>;
  close(): Promise<void>;
}

/** A leg of a charge: `acme/small`, which answered in 120 ms. */
function leg(more: Partial<PostedLeg>): PostedLeg {
  return {
    vendor: "acme",
    model: "acme/small",
    upstreamNano: ZERO,
    ok: true,
    ms: 120,
    reason: null,
    count: 1,
    ...more,
  };
}

/** No address is limited in its misses. */
export function noMisses(): AddressMisses {
  return { take: () => ({ allowed: true, limit: 1, windowSeconds: 60, resetSeconds: 1 }), giveBack() {} };
}

export async function openGate(options: { sandbox?: boolean } = {}): Promise<Gate> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-accounts-"));
  const clock = manualClock(Date.UTC(2026, 4, 6, 12));
  const thread = await openSqliteThread({
    file: join(folder, "ledger.sqlite"),
    units: { ledger: LEDGER_UNIT, records: RECORDS_UNIT },
    sharing: "readers",
    clock,
    onFatal: (error) => {
      throw error;
    },
  });
  const ledger = sqliteLedger(thread);
  const books: Books = ledger;
  const rules = sqliteRecords(thread);
  const sandbox = options.sandbox ?? true;
  const authenticator = new Authenticator({
    ...{ books, clock, sandbox, misses: noMisses() },
    rules: async (key, account) =>
      underRules(key, account, await rulesOf(rules, account.accountId), (of, asked) => ledger.periodSums(of, asked)),
  });
  const forget = (accountId: string | null) => authenticator.forget(accountId);
  const isAdmin = adminCheck(ADMIN_TOKEN);
  const limits = { inferenceCapNano: nano(10_000_000_000), requestsPerMinute: 600, inFlightMax: 64 };
  // There is no catalog here: every name counts as sold.
  const unsold = () => null;
  const failedCalls = { find: async () => ({ rows: [], next: null }) };
  const gate = { readiness: { ready: true } as Readiness };
  const specs = [
    ...accountEndpoints({ books, rules, clock, unsold, failedCalls, forget, inferenceScope: "inference" }),
    ...adminEndpoints({
      books,
      rules,
      clock,
      unsold,
      inferenceScope: "inference",
      forget,
      limits,
      sandbox,
      unpaid: { scope: "unpaid", marginScope: "margin", maxNano: nano(2_000_000_000) },
      readiness: () => gate.readiness,
      metricsText: async () => "up 1\n",
      failedCalls,
      metricsContentType: "text/plain; version=0.0.4",
      metricsOpen: true,
      proofs: [],
    }),
  ];
  const match = matchEndpoint(specs.map((spec) => ({ ...spec, errors: envelopeErrors })));
  let holds = 0;

  async function answer(authorization: string | undefined, method: string, target: string, body?: unknown) {
    const [path = "", query = ""] = target.split("?");
    const found = match(method, path);
    if ("error" in found) return found.error;
    const { endpoint, params } = found;
    if (!("answer" in endpoint)) throw new Error("not a free endpoint");
    let caller = null;
    if (endpoint.auth === "admin" && !isAdmin(authorization)) return new GatewayError("invalid_token");
    if (endpoint.auth === "key") {
      const known = await authenticator.authenticate(authorization, { address: "127.0.0.1" });
      if (known instanceof GatewayError) return known;
      caller = known;
    }
    const text = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body);
    const bytes = body instanceof Buffer ? body : Buffer.from(text);
    const request = {
      id: "req_test",
      method,
      path,
      query: new URLSearchParams(query),
      params,
      headers: new Map<string, string>(),
      body: bytes,
      address: "127.0.0.1",
      startedMs: 0,
    };
    try {
      return await endpoint.answer({ request, caller });
    } catch (error) {
      // As the door renders an endpoint's exceptions.
      if (error instanceof GatewayError && error.status < 500) return error;
      throw error;
    }
  }

  function seen(result: Answer | GatewayError): Seen {
    if (!(result instanceof GatewayError)) return { status: result.status, body: result.body };
    const { code, status, message, options } = result;
    return { status, body: { error: code, message, param: options.param, data: options.data } };
  }

  return Object.assign(gate, {
    ledger,
    clock,
    folder,
    call: async (key: string | null, method: string, path: string, body?: unknown) =>
      seen(await answer(key === null ? undefined : `Bearer ${key}`, method, path, body)),
    admin: async (method: string, path: string, body?: unknown) =>
      seen(await answer(`Bearer ${ADMIN_TOKEN}`, method, path, body)),
    async charge(accountId: string, keyId: string, cents: number) {
      holds += 1;
      const hold = { accountId, holdId: `tx_test_${holds}` };
      const amountNano = nano(cents * 10_000_000);
      const reserved = await ledger.reserve({
        ...hold,
        keyId,
        parentId: null,
        amountNano,
        slots: [],
        inference: true,
        windows: [],
        owner: "test",
        leaseMs: 60_000,
        onExpire: "void",
        requestId: `req_${holds}`,
        operation: "chat",
        asked: "core/cheap",
        effect: "read",
        idempotency: null,
        nowMs: clock.epochMs(),
      });
      if (reserved.outcome !== "held") throw new Error(`not held: ${reserved.outcome}`);
      await ledger.post({
        ...hold,
        amountNano,
        upstreamNano: nano(1),
        absorbReason: "over_hold",
        provider: "acme",
        served: "acme/small",
        usage: { inputTokens: 10, cacheReadTokens: 2, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 1 },
        estimated: false,
        priceVersion: "acme/small@2026-01-01",
        legs: [
          leg({ vendor: "brand", upstreamNano: ZERO, ok: false, ms: 40, reason: "provider" }),
          leg({ vendor: "acme", upstreamNano: nano(1) }),
        ],
      });
      return hold.holdId;
    },
    async close() {
      await ledger.close();
      removeFolder(folder);
    },
  });
}
