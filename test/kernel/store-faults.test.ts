// A store that fails in the middle of a paid call: the caller's error, and what happens to the money.
import { beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { Endpoint, GatewayRequest } from "../../src/core/endpoint.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { ZERO } from "../../src/core/money.ts";
import type { AnswerSink, Candidate } from "../../src/core/route.ts";
import type { ServeDeps } from "../../src/edge/serve/deps.ts";
import { serve } from "../../src/edge/serve/serve.ts";
import { openStores } from "../../src/gateway/stores.ts";
import { chatErrors } from "../../src/models/formats/chat-completions/wire.ts";
import type { Ledger } from "../../src/money/ledger/model/ledger.ts";
import { readConfig } from "../../src/platform/config.ts";
import type { Records } from "../../src/platform/records/records.ts";
import { newAccount } from "../money/ledger/requests.ts";
import { folderForFile, forFile } from "../support/for-file.ts";
import { createMemoryReply, type MemoryReply } from "../support/memory-reply.ts";
import { COST, planOver, READING, scriptedDeps } from "../support/scripted-plan.ts";

const AWAY = new GatewayError("ledger_unavailable", { retryAfterSeconds: 5 });
let broken: unknown[];
let lines: Record<string, unknown>[];
let opened: number;
let number = 0;

const folder = folderForFile("tollgate-faults-");
const stores = forFile(
  await openStores(readConfig({ DATA_DIR: folder }), {
    onFatal(error) {
      throw error;
    },
  }),
);
await stores.ledger.openAccount(newAccount("ada", 100));

beforeEach(() => {
  broken = [];
  lines = [];
  opened = 0;
});

function depsWith(faults: { ledger?: Partial<Ledger>; records?: Partial<Records> }): ServeDeps {
  return {
    ...scriptedDeps({ stores, lines, broken }),
    ledger: { ...stores.ledger, ...faults.ledger },
    records: { ...stores.records, ...faults.records },
  };
}

type Play = (sink: AnswerSink) => void;

const streamed: Play = (sink) => {
  sink.content(Buffer.from("data: hi\n\n"));
  setImmediate(() => sink.done({ kind: "stream", tail: Buffer.from("data: finish\n\n") }));
};
const whole: Play = (sink) => sink.done({ kind: "body", body: { text: "hi" } });
const failing: Play = (sink) =>
  sink.failed({ kind: "provider_overloaded", status: 503, message: "", retryAfterMs: null });

function endpointPlaying(play: Play, idempotencyKey: string | null = null): Endpoint {
  const route: Candidate = {
    provider: "acme",
    model: "acme/small",
    healthKey: "acme",
    firstTokenMsMax: 1_000,
    lastFirstTokenMsMax: 1_000,
    readOnMsMax: 0,
    pointlessAfter: () => false,
    open(sink) {
      opened++;
      setImmediate(() => play(sink));
      return { pause() {}, resume() {}, abort() {}, reading: () => READING, accepted: () => false };
    },
  };
  const plan = planOver([route], {
    streamed: play === streamed,
    idempotency: idempotencyKey === null ? null : { key: idempotencyKey, fingerprint: "same" },
    attemptsMax: 1,
    keepAliveMs: null,
    frame: {
      head() {},
      last: (final, _cost, charge) =>
        final.kind === "body" ? JSON.stringify({ ...final.body, charged: charge.chargedNano }) : "data: [DONE]\n\n",
      broken: (error) => `data: ${error.code}\n\n`,
      keepAlive: null,
    },
  });
  return { method: "POST", path: "/paid", auth: "key", bodyBytesMax: 1_000, errors: chatErrors, plan: () => plan };
}

function request(): GatewayRequest {
  return {
    id: `req_${++number}`,
    method: "POST",
    path: "/paid",
    query: new URLSearchParams(),
    params: {},
    headers: new Map(),
    body: Buffer.from("{}"),
    address: "127.0.0.1",
    startedMs: systemClock.elapsedMs(),
  };
}

async function send(endpoint: Endpoint, deps: ServeDeps): Promise<MemoryReply> {
  const reply = createMemoryReply();
  await serve(request(), endpoint, reply, deps);
  return reply;
}

function told(reply: MemoryReply): unknown[] {
  const { error } = JSON.parse(reply.text()) as { error?: { code: string } };
  return [reply.status, error?.code, reply.headers.get("retry-after")];
}

async function spentNano(): Promise<number> {
  return (await stores.ledger.account("ada"))?.spentNano ?? -1;
}

/** Ends all of this process's holds, as after its death. */
async function holdsLeft(): Promise<readonly string[]> {
  return stores.ledger.sweep(100, "another process");
}

describe("a ledger that fails", () => {
  it("at the hold: 503, nothing goes upstream, and a hold that was placed all the same is released", async () => {
    const before = await spentNano();
    const reserve: Ledger["reserve"] = async (request) => {
      await stores.ledger.reserve(request);
      throw AWAY;
    };
    expect(told(await send(endpointPlaying(whole), depsWith({ ledger: { reserve } })))).toEqual([
      503,
      "ledger_unavailable",
      "5",
    ]);
    expect(opened).toBe(0);
    expect(await holdsLeft()).toEqual([]);
    expect(await spentNano()).toBe(before);
  });

  it("at the hold, saying that one of its name is open already: 500, and that one stays whose it is", async () => {
    const before = await spentNano();
    const reserve: Ledger["reserve"] = async (request) => {
      await stores.ledger.reserve(request);
      return stores.ledger.reserve(request);
    };
    expect(told(await send(endpointPlaying(whole), depsWith({ ledger: { reserve } })))).toEqual([
      500,
      "internal_error",
      undefined,
    ]);
    expect(opened).toBe(0);
    expect(await holdsLeft()).toHaveLength(1);
    expect(await spentNano()).toBe(before);
  });

  it("at the charge of a whole answer: 503 instead of the answer, and the hold stays for its lease to end", async () => {
    const before = await spentNano();
    const deps = depsWith({ ledger: { post: () => Promise.reject(AWAY) } });
    expect(told(await send(endpointPlaying(whole), deps))).toEqual([503, "ledger_unavailable", "5"]);
    expect(broken).toEqual([AWAY]);
    expect(await holdsLeft()).toHaveLength(1);
    expect(await spentNano()).toBe(before);
  });

  it("at the charge, behind a spool that has it: the answer is sent, with the charge that will be made", async () => {
    const charge = { chargedNano: COST, chargedCents: 1, absorbedNano: ZERO, balanceNano: null };
    const post: Ledger["post"] = () => Promise.resolve({ outcome: "spooled", ...charge });
    const reply = await send(endpointPlaying(whole), depsWith({ ledger: { post } }));
    expect([reply.status, reply.text()]).toEqual([200, JSON.stringify({ text: "hi", charged: COST })]);
    expect(lines.at(-1)).toMatchObject({ status: 200, outcome: "success", charged_nano_usd: COST });
    expect(lines.at(-1)?.transaction_id).toMatch(/^tx_/);
    expect(await holdsLeft()).toHaveLength(1);
  });

  it("at the charge of a stream: the stream ends with the error and without its goodbye", async () => {
    const deps = depsWith({ ledger: { post: () => Promise.reject(AWAY) } });
    const reply = await send(endpointPlaying(streamed), deps);
    expect([reply.status, reply.text()]).toEqual([200, "data: hi\n\ndata: ledger_unavailable\n\n"]);
    expect(await holdsLeft()).toHaveLength(1);
  });

  it("at the release: the caller is told what went wrong upstream", async () => {
    const deps = depsWith({ ledger: { void: () => Promise.reject(AWAY) } });
    expect(told(await send(endpointPlaying(failing), deps)).slice(0, 2)).toEqual([502, "upstream_error"]);
    expect(broken).toEqual([AWAY]);
    expect(await holdsLeft()).toHaveLength(1);
  });
});

describe("records that fail or are slow", () => {
  it("cost the caller nothing: an answer that was charged is sent, and is not charged again", async () => {
    const before = await spentNano();
    const deps = depsWith({ records: { put: () => Promise.reject(AWAY) } });
    const reply = await send(endpointPlaying(whole, "order-1"), deps);
    expect([reply.status, reply.text()]).toEqual([200, JSON.stringify({ text: "hi", charged: COST })]);
    expect(broken).toEqual([AWAY]);
    expect(told(await send(endpointPlaying(whole, "order-1"), deps)).slice(0, 2)).toEqual([409, "replay_unavailable"]);
    expect([await spentNano(), opened]).toEqual([before + COST, 1]);
  });

  it("keep the answer before the charge, so that there is no charge without one", async () => {
    const before = await spentNano();
    const keeping = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const put: Records["put"] = async (record) => {
      begun.resolve();
      await keeping.promise;
      return stores.records.put(record);
    };
    const deps = depsWith({ records: { put } });
    const first = send(endpointPlaying(whole, "order-2"), deps);
    await begun.promise;
    expect(await spentNano()).toBe(before);
    expect(told(await send(endpointPlaying(whole, "order-2"), deps))).toEqual([409, "idempotency_in_progress", "5"]);
    keeping.resolve();
    const answer = (await first).text();
    const again = await send(endpointPlaying(whole, "order-2"), deps);
    expect([again.status, again.text(), again.headers.get("idempotent-replayed")]).toEqual([200, answer, "true"]);
    expect(lines.at(-1)).toMatchObject({ outcome: "replayed", status: 200, charged_nano_usd: 0 });
    expect([await spentNano(), opened]).toEqual([before + COST, 1]);
  });

  it("hold no answer of a call whose charge failed: it runs again", async () => {
    const before = await spentNano();
    const away = depsWith({ ledger: { post: () => Promise.reject(AWAY) } });
    expect(told(await send(endpointPlaying(whole, "order-3"), away))).toEqual([503, "ledger_unavailable", "5"]);
    expect(await holdsLeft()).toHaveLength(1);
    const again = await send(endpointPlaying(whole, "order-3"), depsWith({}));
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, undefined]);
    expect([await spentNano(), opened]).toEqual([before + COST, 2]);
  });
});
