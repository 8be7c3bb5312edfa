// The pace of vendors: how many requests can leave in any stretch of time, who waits how long, and what a rest does.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { manualClock } from "../../src/clock.ts";
import { createVendorPace, type NoTurn, type Turn } from "../../src/upstream/vendor-pace.ts";

const TEN_A_SECOND = { requests: 10, perMs: 1_000 };
const PATIENT = { waitMsMax: 60_000 };

function startPace() {
  const clock = manualClock(0);
  return { clock, pace: createVendorPace(clock) };
}

function given(turn: Turn | NoTurn): Turn {
  if (turn.holds === null) throw new Error(`no turn for ${turn.waitMs} ms`);
  return turn;
}

describe("turns", () => {
  it("are spaced evenly and given in order", () => {
    const { clock, pace } = startPace();
    const waits = () => pace.take("a", TEN_A_SECOND, PATIENT).waitMs;
    expect([waits(), waits(), waits()]).toEqual([0, 100, 200]);
    clock.advance(150);
    expect([waits(), waits()]).toEqual([150, 250]);
    clock.advance(1_000);
    expect([waits(), waits()]).toEqual([0, 100]);
  });

  it("of one vendor keep nobody from another, and a vendor without a rate always has one", () => {
    const { pace } = startPace();
    expect(pace.take("a", TEN_A_SECOND, PATIENT).waitMs).toBe(0);
    expect(pace.take("b", TEN_A_SECOND, PATIENT).waitMs).toBe(0);
    for (let n = 0; n < 3; n++) expect(pace.take("c", undefined, { waitMsMax: 0 }).waitMs).toBe(0);
  });

  it("that would come too late are not given, and take nobody's place", () => {
    const { pace } = startPace();
    pace.take("a", TEN_A_SECOND, PATIENT);
    pace.take("a", TEN_A_SECOND, PATIENT);
    expect(pace.take("a", TEN_A_SECOND, { waitMsMax: 199 })).toEqual({ waitMs: 200, holds: null });
    expect(given(pace.take("a", TEN_A_SECOND, { waitMsMax: 200 })).waitMs).toBe(200);
  });

  it("may be wanted for later: who wants one sooner goes between", () => {
    const { pace } = startPace();
    expect(pace.take("a", TEN_A_SECOND, { ...PATIENT, afterMs: 250 }).waitMs).toBe(250);
    expect(pace.take("a", TEN_A_SECOND, PATIENT).waitMs).toBe(0);
    expect(pace.take("a", TEN_A_SECOND, PATIENT).waitMs).toBe(100);
    expect(pace.take("a", TEN_A_SECOND, PATIENT).waitMs).toBe(350);
  });

  it("that are given back go to whoever asks next", () => {
    const { pace } = startPace();
    given(pace.take("a", TEN_A_SECOND, PATIENT));
    const second = given(pace.take("a", TEN_A_SECOND, PATIENT));
    given(pace.take("a", TEN_A_SECOND, PATIENT));
    second.giveBack();
    expect(pace.take("a", TEN_A_SECOND, PATIENT).waitMs).toBe(100);
  });

  it("that are given back after their time have been used", () => {
    const { clock, pace } = startPace();
    const first = given(pace.take("a", TEN_A_SECOND, PATIENT));
    clock.advance(1);
    first.giveBack();
    expect(pace.take("a", TEN_A_SECOND, PATIENT).waitMs).toBe(99);
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
        const { clock, pace } = startPace();
        let waiting: { turn: Turn; atMs: number }[] = [];
        const sent: number[] = [];
        for (const { advanceMs, afterMs, waitMsMax, leaves } of steps) {
          clock.advance(advanceMs);
          const nowMs = clock.elapsedMs();
          sent.push(...waiting.filter(({ atMs }) => atMs <= nowMs).map(({ atMs }) => atMs));
          waiting = waiting.filter(({ atMs }) => atMs > nowMs);
          const turn = pace.take("a", vendorRate, { waitMsMax, afterMs });
          if (turn.holds !== null) {
            expect(turn.waitMs).toBeLessThanOrEqual(waitMsMax);
            expect(turn.waitMs).toBeGreaterThanOrEqual(afterMs);
            waiting.push({ turn, atMs: nowMs + turn.waitMs });
          }
          if (leaves) waiting.shift()?.turn.giveBack();
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
    const { clock, pace } = startPace();
    pace.rest("a", 600_000);
    expect(pace.take("a", TEN_A_SECOND, PATIENT)).toEqual({ waitMs: 600_000, holds: null });
    expect(pace.take("a", undefined, PATIENT)).toEqual({ waitMs: 600_000, holds: null });
    expect(pace.resting("a")).toBe(600_000);
    expect(pace.resting("b")).toBe(0);
    clock.advance(599_000);
    expect(given(pace.take("a", TEN_A_SECOND, PATIENT)).waitMs).toBe(1_000);
    expect(given(pace.take("a", TEN_A_SECOND, PATIENT)).waitMs).toBe(1_100);
    clock.advance(1_000);
    expect(pace.resting("a")).toBe(0);
  });

  it("ends the turns that were given before it, even those that come after its end", () => {
    const { clock, pace } = startPace();
    pace.take("a", TEN_A_SECOND, PATIENT);
    const waiting = given(pace.take("a", TEN_A_SECOND, PATIENT));
    expect(waiting.holds()).toBe(true);
    pace.rest("a", 50);
    clock.advance(100);
    expect(waiting.holds()).toBe(false);
    const again = given(pace.take("a", TEN_A_SECOND, PATIENT));
    expect([again.waitMs, again.holds()]).toEqual([0, true]);
  });

  it("is never shortened by another", () => {
    const { clock, pace } = startPace();
    pace.rest("a", 1_000);
    clock.advance(100);
    pace.rest("a", 10);
    expect(pace.resting("a")).toBe(900);
  });
});
