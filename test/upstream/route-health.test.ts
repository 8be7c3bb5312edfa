// Which routes rest, for how long, and how they come back.
import { describe, expect, it } from "vitest";
import type { FailureKind } from "../../src/core/failures.ts";
import type { AttemptFailure, Candidate } from "../../src/core/route.ts";
import { retrying } from "../../src/kernel/routes/retrying.ts";
import { retryAfterMs } from "../../src/upstream/classify.ts";
import { createKeyRing } from "../../src/upstream/key-ring.ts";
import { createRouteFailures } from "../../src/upstream/route-failures.ts";
import { RouteHealth } from "../../src/upstream/route-health.ts";
import { manualClock } from "../support/manual-clock.ts";

function candidate(name: string): Candidate {
  return {
    provider: name,
    model: name,
    healthKey: name,
    firstTokenMsMax: 1,
    lastFirstTokenMsMax: 1,
    readOnMsMax: 0,
    pointlessAfter: () => false,
    open: () => ({ pause() {}, resume() {}, abort() {}, reading: () => ({}) as never, accepted: () => false }),
  };
}

function failure(kind: FailureKind, retryAfterMs: number | null = null): AttemptFailure {
  return { kind, status: 0, message: "", retryAfterMs };
}

const a = candidate("a");
const b = candidate("b");
const ROUTES = [a, b].map(retrying);

/** A provider's failure with this message. */
function said(message: string, kind: FailureKind = "provider_overloaded"): AttemptFailure {
  return { ...failure(kind), status: 503, message };
}

function setUp() {
  const clock = manualClock(0);
  clock.advance(1);
  const failures = createRouteFailures(clock);
  const health = new RouteHealth(clock, failures);
  const order = () => health.order(ROUTES).map((one) => one.candidate?.provider);
  return { clock, health, failures, order };
}

describe("route health", () => {
  it("rests a route after three failures in a row, behind the others but never removed", () => {
    const { clock, health, order } = setUp();
    for (let n = 0; n < 2; n++) health.bad(a, failure("provider_server_error"));
    expect(order()).toEqual(["a", "b"]);
    health.bad(a, failure("provider_server_error"));
    expect(order()).toEqual(["b", "a"]);
    expect(health.resting()).toEqual([{ provider: "a", model: "a" }]);
    clock.advance(5_001);
    expect(order()).toEqual(["a", "b"]);
  });

  it("rests a route that fails again and again, however short a wait its vendor asks for", () => {
    const { health, order } = setUp();
    for (let n = 0; n < 3; n++) health.bad(a, failure("provider_overloaded", 0));
    expect(order()).toEqual(["b", "a"]);
  });

  it("keeps what callers' own keys do apart: it drives out nothing of the operator's, is bounded, and is told to no other process", () => {
    const { health } = setUp();
    for (let n = 0; n < 2; n++) health.bad(a, failure("provider_server_error"));
    const own = (account: number, n: number) => candidate(`own acct_${account} route ${n}`);
    for (let n = 0; n < 2_100; n++) health.bad(own(n % 3, n), failure("provider_auth_failed"));
    expect([health.news(), health.known(), health.resting()]).toEqual([[], [], []]);
    // The newest hundred of each account.
    expect([health.rests(own(0, 2_097)), health.rests(own(0, 0))]).toEqual([true, false]);
    health.bad(own(1, 1), failure("provider_auth_failed"));
    expect(health.rests(own(0, 2_097))).toBe(true);
    health.bad(a, failure("provider_server_error"));
    expect(health.rests(a)).toBe(true);
  });

  it("forgets the oldest routes where too many rest", () => {
    const { health } = setUp();
    for (let n = 0; n < 2_100; n++) health.bad(candidate(`route ${n}`), failure("provider_auth_failed"));
    expect(health.known()).toHaveLength(2_000);
    expect(health.rests(candidate("route 2099"))).toBe(true);
  });

  it("lets one probe through, and brings the route back when it answers", () => {
    const { clock, health, order } = setUp();
    for (let n = 0; n < 3; n++) health.bad(a, failure("provider_overloaded"));
    clock.advance(5_001);
    health.trying(a);
    expect(order()).toEqual(["b", "a"]);
    health.good(a);
    expect(order()).toEqual(["a", "b"]);
    health.bad(a, failure("provider_overloaded"));
    expect(order()).toEqual(["a", "b"]);
  });

  it("rests it again, longer but at most twenty seconds, when the probe fails", () => {
    const { clock, health, order } = setUp();
    for (let n = 0; n < 3; n++) health.bad(a, failure("provider_overloaded"));
    for (const restMs of [10_000, 20_000, 20_000]) {
      clock.advance(20_001);
      health.trying(a);
      health.bad(a, failure("provider_overloaded"));
      clock.advance(restMs - 1);
      expect(order()).toEqual(["b", "a"]);
      clock.advance(2);
      expect(order()).toEqual(["a", "b"]);
    }
  });

  it("a probe that the caller left says nothing", () => {
    const { clock, health, order } = setUp();
    for (let n = 0; n < 3; n++) health.bad(a, failure("provider_overloaded"));
    clock.advance(5_001);
    health.trying(a);
    health.unknown(a);
    expect(order()).toEqual(["a", "b"]);
  });

  it("honours Retry-After at once, up to a minute", () => {
    const { clock, health, order } = setUp();
    health.bad(a, failure("provider_rate_limited", 7_000));
    expect(order()).toEqual(["b", "a"]);
    clock.advance(7_001);
    expect(order()).toEqual(["a", "b"]);
    health.bad(b, failure("provider_rate_limited", 3_600_000));
    clock.advance(60_001);
    expect(health.resting()).toEqual([]);
  });

  it("rests a route that fails half the time", () => {
    const { health } = setUp();
    health.bad(a, failure("provider_cut"));
    for (let n = 0; n < 5; n++) {
      health.good(a);
      health.bad(a, failure("provider_cut"));
    }
    expect(health.resting()).toEqual([{ provider: "a", model: "a" }]);
  });

  it("does not hold the caller's mistakes against a route, nor a bad key where another is fit", () => {
    const { health } = setUp();
    for (let n = 0; n < 9; n++) health.bad(a, failure("caller_invalid"));
    health.bad(b, { ...failure("provider_auth_failed"), spareKey: true });
    expect(health.resting()).toEqual([]);
    health.bad(b, failure("provider_auth_failed"));
    expect(health.resting()).toEqual([{ provider: "b", model: "b" }]);
  });
});

describe("a ring of keys", () => {
  it("takes keys in turn and leaves out those that rest", () => {
    const clock = manualClock(0);
    const ring = createKeyRing(["k1", "k2", "k3"], clock);
    expect([ring.take(), ring.take(), ring.take(), ring.take()]).toEqual(["k1", "k2", "k3", "k1"]);
    expect(ring.rest("k2", 1_000)).toBe(true);
    expect([ring.take(), ring.take()]).toEqual(["k3", "k1"]);
    ring.rest("k1", 500);
    expect(ring.rest("k3", 2_000)).toBe(false);
    expect(ring.take()).toBe("k1");
    clock.advance(1_000);
    expect(new Set([ring.take(), ring.take()])).toEqual(new Set(["k1", "k2"]));
  });
});

describe("Retry-After", () => {
  it("is read as seconds, milliseconds or a date, and ignored where it is neither", () => {
    expect(retryAfterMs({ "retry-after": "2" }, 0)).toBe(2_000);
    expect(retryAfterMs({ "retry-after": "0.5" }, 0)).toBe(500);
    expect(retryAfterMs({ "retry-after-ms": "1500", "retry-after": "9" }, 0)).toBe(1_500);
    expect(retryAfterMs({ "retry-after": "Thu, 01 Jan 1970 00:01:00 GMT" }, 10_000)).toBe(50_000);
    expect(retryAfterMs({ "retry-after": "soon" }, 0)).toBe(null);
    expect(retryAfterMs({}, 0)).toBe(null);
    expect(retryAfterMs({ "retry-after": "9".repeat(400) }, 0)).toBe(86_400_000);
    expect(retryAfterMs({ "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }, 0)).toBe(86_400_000);
  });
});

describe("what routes fail with", () => {
  it("is kept in the provider's last words, once for each way in which it fails, as one line", () => {
    const { clock, health, failures } = setUp();
    health.bad(a, said("busy"));
    clock.advance(1_000);
    health.bad(a, said("busy,\n\u202e again "));
    const row = {
      provider: "a",
      model: "a",
      reason: "provider_overloaded",
      status: 503,
      words: "busy, again",
      count: 2,
    };
    expect(failures.all()).toEqual([{ ...row, firstAtMs: 1, lastAtMs: 1_001 }]);
    health.bad(a, said("x".repeat(10_000), "provider_timeout"));
    expect(failures.all()[0]?.words).toHaveLength(300);
  });

  it("is bounded for each provider, so that a flood at one drives out nothing of another", () => {
    const { health, failures } = setUp();
    health.bad(b, said("down"));
    for (let n = 0; n < 1_000; n++) health.bad({ ...a, model: `made up ${n}` }, said("no such model"));
    expect(failures.all().filter(({ provider }) => provider === "a")).toHaveLength(20);
    expect(failures.all().some(({ provider }) => provider === "b")).toBe(true);
    expect(failures.news().length).toBeLessThanOrEqual(200);
  });

  it("is neither what callers are at fault for, nor what came by a key of their own", () => {
    const { health, failures } = setUp();
    health.bad(a, said("your prompt: my secret", "caller_invalid"));
    health.bad(a, said("blocked", "policy_content"));
    health.bad(candidate("own acct_1 route"), said("bad key", "provider_auth_failed"));
    expect(failures.all()).toEqual([]);
  });

  it("is told to other processes once, and added to what they have seen", () => {
    const [one, other] = [setUp(), setUp()];
    one.health.bad(a, said("busy"));
    other.health.bad(a, said("busy"));
    for (const failure of one.failures.news()) other.failures.hear(failure);
    expect(other.failures.all()).toMatchObject([{ words: "busy", count: 2 }]);
    expect([one.failures.news(), other.failures.news()]).toMatchObject([[], [{ count: 1 }]]);
  });
});
