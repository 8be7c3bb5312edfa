// Fourteen provider failures, with the timeouts that users get: what the caller sees, and how often we called. Two scenarios that take
// minutes are in failover-outages.test.ts.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postingOf } from "../models/chat/own-sums.ts";
import {
  asked,
  askedOf,
  callIn,
  closeStage,
  expectHonest,
  expectWhole,
  openStage,
  routesOf,
  type Stage,
  WAYS,
  WORDS,
  words,
} from "../support/failover-stage.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(() => closeStage(stage));

const MODES = [
  ["streamed", true],
  ["whole", false],
] as const;

describe.concurrent.each(WAYS)("%s, asked in the wire of %s", (vendor, wire) => {
  const { fallback, alone, routes, waitsLong } = routesOf(vendor, wire);
  const long = it.runIf(waitsLong);
  const call = (models: readonly string[], stream: boolean, text?: string) =>
    callIn(stage, wire, { models, stream, text });

  describe.each(MODES)("%s", (_, stream) => {
    it("S01: a 429 with Retry-After 2 is waited out, not hammered", async () => {
      const [primary] = routes("429-once", stream);
      for (const models of [[primary], [primary, fallback]]) {
        const seen = await call(models, stream);
        expectWhole(seen, primary);
        const times = await askedOf(stage, seen, primary);
        expect(times).toHaveLength(2);
        expect(times[1]).toBeGreaterThanOrEqual(1_800);
        expect(times.filter((ms) => ms < 1_500)).toHaveLength(1);
      }
    });

    it("S02: a lasting 429 is left for the fallback after few attempts", async () => {
      for (const fault of ["429", "429-after-2", "429-after-30"]) {
        const [primary] = routes(fault, stream);
        const seen = await call([primary, fallback], stream);
        expectWhole(seen, fallback);
        const times = await askedOf(stage, seen, primary);
        expect(times.filter((ms) => ms < 3_000).length).toBeLessThanOrEqual(4);
        expect(times.length).toBeLessThanOrEqual(6);
        expect(times.length).toBeGreaterThanOrEqual(1);
      }
    });

    it("S02: a lasting 429 with nothing behind it ends in an error after few attempts", async () => {
      const [primary] = routes("429-after-1", stream);
      const seen = await call([primary], stream);
      expect(seen.error).toBe("429 upstream_error");
      const times = await askedOf(stage, seen, primary);
      expect(times.filter((ms) => ms < 3_000).length).toBeLessThanOrEqual(4);
      expect(times.length).toBeLessThanOrEqual(6);
    });

    it("S03: a single 500 is asked again at once, and the caller sees nothing of it", async () => {
      const [primary] = routes("500-once", stream);
      const seen = await call([primary, fallback], stream);
      expectWhole(seen, primary);
      const [first = 0, second = 0, ...more] = await askedOf(stage, seen, primary);
      expect(more).toEqual([]);
      expect(second - first).toBeGreaterThan(0);
      expect(second - first).toBeLessThan(8_000);
    });

    it("S04: a lasting 503 goes to the fallback", async () => {
      const [primary] = routes("503", stream);
      const seen = await call([primary, fallback], stream);
      expectWhole(seen, fallback);
      expect((await asked(stage, seen)).length).toBeLessThanOrEqual(6);
      expect(await askedOf(stage, seen, primary)).toHaveLength(1);
    });

    it("S05: a connection that is reset once is opened again", async () => {
      const [primary] = routes("reset-once", stream);
      for (const models of [[primary], [primary, fallback]]) {
        const seen = await call(models, stream);
        expectWhole(seen, primary);
        expect(await askedOf(stage, seen, primary)).toHaveLength(2);
      }
    });

    it("S12: a prompt that is too long for one model is asked of another, once", async () => {
      const [primary] = routes("400-context", stream);
      const seen = await call([primary, fallback], stream);
      expectWhole(seen, fallback);
      expect((await asked(stage, seen)).map(({ model }) => model)).toEqual([primary, fallback]);
    });

    it("S13: a refusal by policy is passed on and asked of nobody else", async () => {
      const [primary] = routes("400-policy", stream);
      const seen = await call([primary, fallback], stream);
      expect(seen.error).toBe("400 content_policy_violation");
      expect(seen.message).toMatch(/content policy|filtering policy|PROHIBITED_CONTENT/);
      expect((await asked(stage, seen)).map(({ model }) => model)).toEqual([primary]);
    });

    it("S16: after a failover the answer's model and usage are the fallback's, and only it is charged", async () => {
      const [primary] = routes("529", stream);
      const text = `compare [[id: ${randomUUID()}]]`;
      const direct = await call([fallback], stream, text);
      const seen = await call([primary, fallback], stream, text);
      expectWhole(seen, fallback);
      expect(seen.usage).toEqual(direct.usage);
      const posting = await postingOf(stage.gateway, stage.account, seen.requestId);
      expect(posting?.model).toBe(fallback);
      const before = await postingOf(stage.gateway, stage.account, direct.requestId);
      expect(posting?.charged_nano_usd).toEqual(before?.charged_nano_usd);
    });
  });

  it("S06: a provider that never answers is asked once, and the fallback answers", async () => {
    const [primary] = routes("silent", true);
    const seen = await call([primary, fallback], true);
    expectWhole(seen, fallback);
    expect(await askedOf(stage, seen, primary)).toHaveLength(1);
    expect(seen.ms).toBeLessThan(15_000);
  });

  long("S07: a first token after 20 seconds is not waited for while another can answer, else it is", async () => {
    const [primary] = routes("first-after-20", true);
    const [seen, waited] = await Promise.all([call([primary, fallback], true), call([alone("first-after-20")], true)]);
    expectWhole(seen, fallback);
    expect(seen.ms).toBeLessThan(15_000);
    expectWhole(waited, alone("first-after-20"));
  });

  it("S08: a stream cut in the middle ends in an honest error, and a whole answer comes from the fallback", async () => {
    const [primary] = routes("cut-after-40", true);
    await expectHonest(stage, await call([primary, fallback], true), 40);
    const [clean] = routes("cut-clean-after-40", true);
    await expectHonest(stage, await call([clean, fallback], true), 40);
    const [whole] = routes("cut-after-40", false);
    expectWhole(await call([whole, fallback], false), fallback);
  });

  long("S09: a stream that stalls is given up within 45 seconds, and the gateway goes on", async () => {
    const seen = await call([alone("stall-after-20"), fallback], true);
    await expectHonest(stage, seen, 20);
    expect(seen.ms).toBeLessThan(45_000);
    expectWhole(await call([fallback], true), fallback);
  });

  it("S10: one broken event is skipped, counted, and the stream goes on", async () => {
    const seen = await call([alone("malformed")], true);
    expect([seen.error, words(seen.text), seen.finish]).toEqual([null, WORDS - 1, "stop"]);
    const record = await stage.gateway.record(seen.requestId);
    expect([record.skipped_events, record.outcome]).toEqual([1, "success"]);
    expectWhole(await call([...routes("malformed", false)], false), fallback);
  });

  it("S11: a stream without its goodbye is finished within 8 seconds, with usage", async () => {
    for (const fault of ["no-done", "no-done-open-30"]) {
      const seen = await call([alone(fault)], true);
      expectWhole(seen, alone(fault));
      expect(seen.ms).toBeLessThan(8_000);
    }
  });

  it("S14: nothing is ever continued elsewhere, so no refusal of a prefill reaches the caller", async () => {
    const [primary] = routes("cut-after-40-at-50", true);
    const seen = await call([primary, alone("400-prefill")], true);
    await expectHonest(stage, seen, 40);
    expect(seen.message).not.toMatch(/prefill/);
    expect((await asked(stage, seen)).map(({ model }) => model)).toEqual([primary]);
  });
});
