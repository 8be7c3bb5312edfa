// The vendors' rate limiter: how many requests can leave in any period, which wait and how long, and the effect of a rest.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createVendorRateLimiter, type NoPermit, type Permit } from "../../src/upstream/vendor-rate-limiter.ts";
import { manualClock } from "../support/manual-clock.ts";

const TEN_A_SECOND = { requests: 10, perMs: 1_000 };
const PATIENT = { waitMsMax: 60_000 };

function startLimiter() {
  const clock = manualClock(0);
  return { clock, limiter: createVendorRateLimiter(clock) };
}

function given(permit: Permit | NoPermit): Permit {
  if (permit.valid === null) throw new Error(`no permit for ${permit.waitMs} ms`);
  return permit;
}

describe("permits", () => {
  it("are spaced evenly and given in order", () => {
    const { clock, limiter } = startLimiter();
    const waits = () => limiter.acquire("a", TEN_A_SECOND, PATIENT).waitMs;
    expect([waits(), waits(), waits()]).toEqual([0, 100, 200]);
    clock.advance(150);
    expect([waits(), waits()]).toEqual([150, 250]);
    clock.advance(1_000);
    expect([waits(), waits()]).toEqual([0, 100]);
  });

  it("of one vendor keep nobody from another, and a vendor without a rate always has one", () => {
    const { limiter } = startLimiter();
    expect(limiter.acquire("a", TEN_A_SECOND, PATIENT).waitMs).toBe(0);
    expect(limiter.acquire("b", TEN_A_SECOND, PATIENT).waitMs).toBe(0);
    for (let n = 0; n < 3; n++) expect(limiter.acquire("c", undefined, { waitMsMax: 0 }).waitMs).toBe(0);
  });

  it("that would come too late are not given, and take nobody's place", () => {
    const { limiter } = startLimiter();
    limiter.acquire("a", TEN_A_SECOND, PATIENT);
    limiter.acquire("a", TEN_A_SECOND, PATIENT);
    expect(limiter.acquire("a", TEN_A_SECOND, { waitMsMax: 199 })).toEqual({ waitMs: 200, valid: null });
    expect(given(limiter.acquire("a", TEN_A_SECOND, { waitMsMax: 200 })).waitMs).toBe(200);
  });

  it("may be wanted for later: who wants one sooner goes between", () => {
    const { limiter } = startLimiter();
    expect(limiter.acquire("a", TEN_A_SECOND, { ...PATIENT, afterMs: 250 }).waitMs).toBe(250);
    expect(limiter.acquire("a", TEN_A_SECOND, PATIENT).waitMs).toBe(0);
    expect(limiter.acquire("a", TEN_A_SECOND, PATIENT).waitMs).toBe(100);
    expect(limiter.acquire("a", TEN_A_SECOND, PATIENT).waitMs).toBe(350);
  });

  it("that are cancelled go to whoever asks next", () => {
    const { limiter } = startLimiter();
    given(limiter.acquire("a", TEN_A_SECOND, PATIENT));
    const second = given(limiter.acquire("a", TEN_A_SECOND, PATIENT));
    given(limiter.acquire("a", TEN_A_SECOND, PATIENT));
    second.cancel();
    expect(limiter.acquire("a", TEN_A_SECOND, PATIENT).waitMs).toBe(100);
  });

  it("that are cancelled after their time have been used", () => {
    const { clock, limiter } = startLimiter();
    const first = given(limiter.acquire("a", TEN_A_SECOND, PATIENT));
    clock.advance(1);
    first.cancel();
    expect(limiter.acquire("a", TEN_A_SECOND, PATIENT).waitMs).toBe(99);
  });

  it("never let more out than the rate, whoever waits, leaves, or wants to go later", () => {
    const step = fc.record({
      advanceMs: fc.nat(400),
      afterMs: fc.nat(500),
      waitMsMax: fc.nat(2_000),
      leaves: fc.boolean(),
    });
    const rate = fc.record({ requests: fc.integer({ min: 1, max: 12 }), perMs: fc.integer({ min: 50, max: 3_000 }) });
    fc.assert(
      fc.property(rate, fc.array(step, { maxLength: 60 }), (vendorRate, steps) => {
        const { clock, limiter } = startLimiter();
        let waiting: { permit: Permit; atMs: number }[] = [];
        const sent: number[] = [];
        for (const { advanceMs, afterMs, waitMsMax, leaves } of steps) {
          clock.advance(advanceMs);
          const nowMs = clock.elapsedMs();
          sent.push(...waiting.filter(({ atMs }) => atMs <= nowMs).map(({ atMs }) => atMs));
          waiting = waiting.filter(({ atMs }) => atMs > nowMs);
          const permit = limiter.acquire("a", vendorRate, { waitMsMax, afterMs });
          if (permit.valid !== null) {
            expect(permit.waitMs).toBeLessThanOrEqual(waitMsMax);
            expect(permit.waitMs).toBeGreaterThanOrEqual(afterMs);
            waiting.push({ permit, atMs: nowMs + permit.waitMs });
          }
          if (leaves) waiting.shift()?.permit.cancel();
        }
        sent.push(...waiting.map(({ atMs }) => atMs));
        sent.sort((a, b) => a - b);
        const gapMs = vendorRate.perMs / vendorRate.requests;
        for (let n = 1; n < sent.length; n++) {
          expect((sent[n] ?? 0) - (sent[n - 1] ?? 0)).toBeGreaterThan(gapMs - 1e-6);
        }
      }),
    );
  });
});

describe("a rest", () => {
  it("keeps everybody away, with or without a rate, and says for how long", () => {
    const { clock, limiter } = startLimiter();
    limiter.rest("a", 600_000);
    expect(limiter.acquire("a", TEN_A_SECOND, PATIENT)).toEqual({ waitMs: 600_000, valid: null });
    expect(limiter.acquire("a", undefined, PATIENT)).toEqual({ waitMs: 600_000, valid: null });
    expect(limiter.resting("a")).toBe(600_000);
    expect(limiter.resting("b")).toBe(0);
    clock.advance(599_000);
    expect(given(limiter.acquire("a", TEN_A_SECOND, PATIENT)).waitMs).toBe(1_000);
    expect(given(limiter.acquire("a", TEN_A_SECOND, PATIENT)).waitMs).toBe(1_100);
    clock.advance(1_000);
    expect(limiter.resting("a")).toBe(0);
  });

  it("ends the permits that were given before it, even those that come after its end", () => {
    const { clock, limiter } = startLimiter();
    limiter.acquire("a", TEN_A_SECOND, PATIENT);
    const waiting = given(limiter.acquire("a", TEN_A_SECOND, PATIENT));
    expect(waiting.valid()).toBe(true);
    limiter.rest("a", 50);
    clock.advance(100);
    expect(waiting.valid()).toBe(false);
    const again = given(limiter.acquire("a", TEN_A_SECOND, PATIENT));
    expect([again.waitMs, again.valid()]).toEqual([0, true]);
  });

  it("is never shortened by another", () => {
    const { clock, limiter } = startLimiter();
    limiter.rest("a", 1_000);
    clock.advance(100);
    limiter.rest("a", 10);
    expect(limiter.resting("a")).toBe(900);
  });
});
