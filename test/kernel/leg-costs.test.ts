// No vendor cost is ever forgotten: whatever a call's outcome, the legs given to its funds carry the cost of every attempt.
import { beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { nano, ZERO } from "../../src/core/money.ts";
import type { Ended, Funds, Plan } from "../../src/core/plan.ts";
import type { AnswerSink, Candidate, Leg } from "../../src/core/route.ts";
import type { KernelDeps } from "../../src/kernel/deps.ts";
import { execute } from "../../src/kernel/execute.ts";
import { race } from "../../src/kernel/routes/race.ts";
import { retrying } from "../../src/kernel/routes/retrying.ts";
import { planOver } from "../support/scripted-plan.ts";

/** How the call's money ended, with each leg's vendor and cost. */
let ends: (readonly [how: string, legs: readonly (readonly [string, number])[]])[] = [];
let broken: unknown[] = [];

const seen = (legs: readonly Leg[]) => legs.map(({ provider, upstreamNano }) => [provider, upstreamNano] as const);

const FUNDS: Funds = {
  reserve: async (plan, id) => ({ id, amountNano: plan.quote.nano }),
  async capture({ id }, { cost, legs }) {
    ends.push([`charged ${cost.chargeNano}`, seen(legs)]);
    const none = { absorbedNano: ZERO, absorbReason: null, balanceNano: null, chargedCents: 0 };
    return { ...none, transactionId: id, chargedNano: cost.chargeNano };
  },
  async release(_, { reason, legs }) {
    ends.push([reason, seen(legs)]);
  },
  balance: async () => null,
  charged: async () => null,
};

const DEPS: KernelDeps = {
  clock: systemClock,
  records: {} as KernelDeps["records"],
  keptBytesMax: 0,
  health: { order: (routes) => routes, trying() {}, good() {}, bad() {}, unknown() {} },
  keeper: {} as KernelDeps["keeper"],
  onBroken: (error) => broken.push(error),
};

/** A vendor that a test scripts. Each answered byte costs a nano, and the request 100. */
interface Vendor extends Candidate {
  said: number;
  sink(): AnswerSink;
}

function vendor(
  provider: string,
  more: { accepted?: boolean; readOnMsMax?: number; inner?: Promise<Leg[]> } = {},
): Vendor {
  const { accepted = true, readOnMsMax = 0, inner } = more;
  let opened: AnswerSink | null = null;
  const one: Vendor = {
    said: 0,
    provider,
    model: `${provider}/thing`,
    healthKey: provider,
    firstTokenMsMax: 1_000,
    lastFirstTokenMsMax: 1_000,
    readOnMsMax,
    pointlessAfter: () => false,
    sink() {
      if (opened === null) throw new Error(`${provider} was not asked`);
      return opened;
    },
    open(sink) {
      opened = sink;
      return {
        pause() {},
        resume() {},
        abort() {},
        accepted: () => accepted,
        reading: () => {
          const delivered = { text: "", bytes: one.said };
          return { usage: null, delivered, upstreamCostNano: null, skippedEvents: 0 };
        },
        ...(inner === undefined ? {} : { innerLegs: () => inner }),
      };
    },
  };
  return one;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const BODY = { kind: "body", body: {} } as const;
const NOT_TAKEN = { kind: "provider_overloaded", status: 529, message: "", retryAfterMs: null } as const;

function begin(candidates: readonly Candidate[], changes: Partial<Plan> = {}) {
  const { plan } = planOver(candidates, {
    cost: (_, { delivered: { bytes } }) => ({
      chargeNano: nano(2 * (100 + bytes)),
      upstreamNano: nano(100 + bytes),
      usage: null,
      estimated: true,
      priceVersion: "1",
    }),
    ...changes,
  });
  const stop = new AbortController();
  let leave = () => {};
  const reader = {
    closed: false,
    onGone(listener: () => void) {
      leave = listener;
    },
    onRoom() {},
    admitted() {},
    begin() {},
    write: () => true,
  };
  const payer = { id: "acct:ada", sandbox: false } as const;
  const call = { id: "tx_1", payer, funds: FUNDS, parent: null, signal: stop.signal, deadlineMs: null, reader };
  const over: Promise<Ended> = execute(plan, call, DEPS);
  return { over, leave: () => leave(), stop: () => stop.abort() };
}

beforeEach(() => {
  ends = [];
  broken = [];
});

describe("an answer that came and is not paid for", () => {
  it("because what must be kept of it cannot be: its cost is known all the same", async () => {
    const a = vendor("a");
    const { over } = begin([a], { prepare: () => Promise.reject(new Error("away")) });
    await turn();
    a.said = 7;
    a.sink().done(BODY);
    expect((await over).outcome).toBe("failed");
    expect(ends).toEqual([["its answer could not be kept", [["a", 107]]]]);
  });

  it("because it cannot be counted: it is the most that the call can cost us", async () => {
    const a = vendor("a");
    const { over } = begin([a], {
      cost: () => {
        throw new RangeError("no amount");
      },
    });
    await turn();
    a.sink().done(BODY);
    await over;
    expect(ends).toEqual([["its cost could not be counted", [["a", 1_000]]]]);
    expect(broken.length).toBeGreaterThan(0);
  });

  it("by a call that is free", async () => {
    const a = vendor("a");
    const { over } = begin([a], { hold: { kind: "none" } });
    await turn();
    a.sink().done(BODY);
    expect(seen((await over).legs)).toEqual([["a", 100]]);
  });
});

it("an answer whose caller is told something else is charged, and has not succeeded", async () => {
  const told = new GatewayError("content_policy_violation");
  const a = vendor("a");
  const { over } = begin([a], { prepare: async () => told });
  await turn();
  a.sink().done(BODY);
  expect(await over).toMatchObject({ outcome: "failed", error: told, final: null, charge: { chargedNano: 200 } });
  expect(ends).toEqual([["charged 200", [["a", 100]]]]);
});

describe("an attempt that failed", () => {
  it("costs what it had been asked and had said, where its vendor had taken it", async () => {
    const [a, b, c] = [vendor("a"), vendor("b", { accepted: false }), vendor("c")];
    const { over } = begin([a, b, c], { attemptsMax: 9 });
    await turn();
    a.said = 3;
    a.sink().failed(NOT_TAKEN);
    b.sink().failed(NOT_TAKEN);
    c.sink().done(BODY);
    await over;
    expect(ends).toEqual([
      [
        "charged 200",
        [
          ["a", 103],
          ["b", 0],
          ["c", 100],
        ],
      ],
    ]);
  });

  it("costs the same where no other served either", async () => {
    const [a, b] = [vendor("a"), vendor("b")];
    const { over } = begin([a, b]);
    await turn();
    a.sink().failed(NOT_TAKEN);
    b.said = 5;
    b.sink().failed(NOT_TAKEN);
    await over;
    expect(ends).toEqual([
      [
        "failed",
        [
          ["a", 100],
          ["b", 105],
        ],
      ],
    ]);
  });

  it("and cannot even be opened again, costs what the one before it did, once", async () => {
    const a = vendor("a");
    const { open } = a;
    let asked = 0;
    const twice: Candidate = {
      ...a,
      open(sink, ms) {
        if (++asked === 2) throw new Error("no more sockets");
        return open(sink, ms);
      },
    };
    const { over } = begin([twice]);
    await turn();
    a.sink().failed({ ...NOT_TAKEN, kind: "provider_cut", retryAfterMs: 0 });
    await over;
    expect(ends).toEqual([
      [
        "failed",
        [
          ["a", 100],
          ["a", 0],
        ],
      ],
    ]);
  });
});

it("a race's loser costs what it had said when it was stopped", async () => {
  const [a, b] = [vendor("a"), vendor("b")];
  const { over } = begin([], { route: race([a, b].map(retrying)) });
  await turn();
  a.said = 9;
  b.sink().done(BODY);
  await over;
  expect(ends).toEqual([
    [
      "charged 200",
      [
        ["b", 100],
        ["a", 109],
      ],
    ],
  ]);
});

it.each([
  ["that is stopped", "failed", (call: ReturnType<typeof begin>) => call.stop()],
  ["whose caller has left", "charged 208", (call: ReturnType<typeof begin>) => call.leave()],
])("a call %s before content costs what had been read by then", async (_, how, end) => {
  const a = vendor("a");
  const call = begin([a]);
  await turn();
  a.said = 4;
  end(call);
  await call.over;
  expect(ends).toEqual([[how, [["a", 104]]]]);
});

it("a call that takes too long costs what had been read by then", async () => {
  const a = vendor("a");
  const call = begin([a], { wholeMsMax: 5 });
  await turn();
  a.said = 4;
  await call.over;
  expect(ends).toEqual([["failed", [["a", 104]]]]);
});

it("what is read on after the caller has left costs us, and not the caller, who was not given it", async () => {
  const a = vendor("a", { readOnMsMax: 5 });
  const call = begin([a]);
  await turn();
  a.said = 10;
  a.sink().content(Buffer.from("x"));
  call.leave();
  a.said = 50;
  await call.over;
  expect(ends).toEqual([["charged 220", [["a", 150]]]]);
});

it("the legs of inner calls are waited for, and stand before the one that made them", async () => {
  const { promise, resolve } = Promise.withResolvers<Leg[]>();
  const a = vendor("a", { accepted: false, inner: promise });
  const call = begin([a]);
  await turn();
  call.stop();
  await turn();
  expect(ends).toEqual([]);
  const leg = { provider: "inner", model: "m", status: 0, failure: null, ms: 1, firstTokenMs: null } as const;
  resolve([{ ...leg, upstreamNano: nano(33) }]);
  await call.over;
  expect(ends).toEqual([
    [
      "failed",
      [
        ["inner", 33],
        ["a", 0],
      ],
    ],
  ]);
});
