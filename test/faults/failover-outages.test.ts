// Providers that are silent or unavailable for more than a minute: what the caller sees, and how often we called them. Nearly all of it is
// waiting, so unlike failover-scenarios.test.ts it does not need a machine to itself.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  askedOf,
  callIn,
  closeStage,
  expectWhole,
  openStage,
  routesOf,
  type Stage,
  WAYS,
} from "../support/failover-stage.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(() => closeStage(stage));

describe.concurrent.each(WAYS)("%s, asked in the wire of %s", (vendor, wire) => {
  const { fallback, alone, waitsLong } = routesOf(vendor, wire);
  const long = it.runIf(waitsLong);
  const call = (models: readonly string[], stream: boolean, text?: string) =>
    callIn(stage, wire, { models, stream, text });

  long("S06: with nobody behind it the caller hears within 100 seconds", async () => {
    const primary = alone("silent");
    const seen = await call([primary], true);
    expect(seen.error).toBe("504 upstream_error");
    expect(await askedOf(stage, seen, primary)).toHaveLength(1);
    expect(seen.ms).toBeLessThan(100_000);
  });

  long(
    "S15: an outage of a minute is served by the fallback, and the primary is back within 30 seconds of its end",
    async () => {
      const primary = alone("flap-60");
      // One conversation for the sandbox, and many for us: a conversation that has moved stays where its prompt is cached.
      const id = randomUUID();
      // The outage starts with the first call, and a gateway's first call takes longest: make it before the outage.
      expectWhole(await call([fallback], true), fallback);
      const startedMs = performance.now();
      const served: { atMs: number; model: string | null }[] = [];
      for (let at = 0; at < 24; at++) {
        const waitMs = startedMs + at * 4_000 - performance.now();
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
        const atMs = performance.now() - startedMs;
        const seen = await call([primary, fallback], true, `flap ${at} [[id: ${id}]]`);
        expectWhole(seen, seen.model ?? "");
        served.push({ atMs, model: seen.model });
      }
      const during = served.filter(({ atMs }) => atMs < 59_000);
      expect(during.length).toBeGreaterThanOrEqual(14);
      expect(during.filter(({ model }) => model !== fallback)).toEqual([]);
      const back = served.filter(({ atMs }) => atMs >= 90_000);
      expect(back.length).toBeGreaterThan(0);
      expect(back.filter(({ model }) => model !== primary)).toEqual([]);
      const { requests } = await stage.gateway.books();
      const [adapter, model] = primary.split("/");
      const own = requests.filter((row) => row.adapter === adapter && row.model === model);
      // The provider rests instead of being called every time.
      expect(own.filter(({ status }) => status === 503).length).toBeLessThanOrEqual(10);
    },
  );
});
