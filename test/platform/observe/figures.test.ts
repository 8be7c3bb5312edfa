import { describe, expect, it } from "vitest";
import { nano } from "../../../src/core/money.ts";
import type { Leg } from "../../../src/core/route.ts";
import { firstTokenMs, noSums, openFigures } from "../../../src/platform/observe/figures.ts";
import { RequestRecord } from "../../../src/platform/observe/record.ts";
import type { PutRecord, StoredRecord } from "../../../src/platform/records/records.ts";

/** A store of records in memory. `isAway` makes it fail. */
function memory() {
  const rows = new Map<string, StoredRecord>();
  const state = { isAway: false, othersFirst: 0 };
  const records = {
    get: async (_kind: string, id: string) => rows.get(id) ?? null,
    async put({ ifVersion, ttlMs: _, ...put }: PutRecord) {
      if (state.isAway) throw new Error("the disk is away");
      const version = rows.get(put.id)?.version ?? 0;
      if (ifVersion !== version || state.othersFirst-- > 0) return null;
      rows.set(put.id, { ...put, version: version + 1, createdAtMs: 0, expiresAtMs: null });
      return version + 1;
    },
    list: async () => ({ rows: [...rows.values()], next: null }),
  };
  return { records, state };
}

const leg = (more: Partial<Leg>): Leg => ({
  ...{ provider: "openai", model: "openai/gpt-5.4", status: 200, failure: null },
  ...{ ms: 1_200, firstTokenMs: 200, upstreamNano: nano(0) },
  ...more,
});

const ended = (more: Partial<RequestRecord> = {}): RequestRecord => ({
  ...new RequestRecord({ requestId: "req_1", method: "POST", startedMs: 0 }),
  ...{ outcome: "success", served: "openai/gpt-5.4", provider: "openai", durationMs: 1_300, firstTokenMs: 250 },
  usage: { inputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 100, reasoningTokens: 0 },
  attempts: [leg({})],
  ...more,
});

function opened(store = memory()) {
  const clock = { now: Date.parse("2026-11-29T13:59:00Z"), epochMs: () => clock.now };
  const broken: unknown[] = [];
  const figures = openFigures(store.records, clock, (error) => broken.push(error));
  return { figures, clock, broken, ...store };
}

describe("the figures of a day", () => {
  it("count calls by the hour, and attempts by route, with failures, fallbacks and speed", async () => {
    const { figures } = opened();
    const failure = "provider_overloaded" as const;
    figures.note(ended({ attempts: [leg({ provider: "azure", failure, status: 503 }), leg({})] }));
    figures.note(ended({ outcome: "failed", served: null, attempts: [leg({ failure })] }));
    figures.note(ended({ attempts: [leg({ failure: "caller_invalid" })], outcome: "failed", served: null }));
    const [day] = await figures.days();
    await figures.close();
    expect(day?.day).toBe("2026-11-29");
    expect(day?.hours.get("13")).toMatchObject({ calls: 3, failed: 2, fallbacks: 1 });
    expect(day?.routes.get("openai/gpt-5.4 *")).toMatchObject({ calls: 1, failed: 0, ms: 1_300 });
    expect(day?.routes.get("openai/gpt-5.4 azure")).toMatchObject({ calls: 1, failed: 1, tokens: 0 });
    // A request that the caller got wrong says nothing of the provider.
    expect(day?.routes.get("openai/gpt-5.4 openai")).toMatchObject({
      calls: 2,
      failed: 1,
      tokens: 100,
      tokensMs: 1_000,
    });
  });

  it("leave out play money, refusals, and requests that cost nothing", async () => {
    const { figures } = opened();
    for (const more of [{ sandbox: true }, { outcome: "refused" as const }, { outcome: null }])
      figures.note(ended(more));
    expect((await figures.days()).flatMap(({ routes }) => [...routes])).toEqual([]);
    await figures.close();
  });

  it("of several processes are added up, and those of yesterday stay apart", async () => {
    const [one, other] = [opened(), opened()];
    const both = opened(one);
    for (const { figures } of [one, both]) figures.note(ended());
    one.clock.now += 24 * 3_600_000;
    one.figures.note(ended());
    await Promise.all([one.figures.close(), both.figures.close(), other.figures.close()]);
    const days = await opened(one).figures.days();
    expect(days.map(({ day, hours }) => [day, hours.get("13")?.calls])).toEqual([
      ["2026-11-30", 1],
      ["2026-11-29", 2],
    ]);
  });

  it("are kept however often another process comes first", async () => {
    const { figures, state } = opened();
    state.othersFirst = 30;
    figures.note(ended());
    const [day] = await figures.days();
    await figures.close();
    expect(day?.routes.get("openai/gpt-5.4 *")?.calls).toBe(1);
  });

  it("wait while the store is away", async () => {
    const { figures, state, clock, broken } = opened();
    state.isAway = true;
    figures.note(ended());
    await figures.days();
    expect(broken).toHaveLength(1);
    state.isAway = false;
    clock.now += 60_000;
    figures.note(ended());
    const [day] = await figures.days();
    await figures.close();
    expect(day?.routes.get("openai/gpt-5.4 *")?.calls).toBe(2);
  });
});

it("the time to the first token is told between the bounds that it lies in", () => {
  const first = [0, 0, 0, 0, 10, 80, 10];
  expect(firstTokenMs({ ...noSums(), first }, 0.5)).toBe(175);
  expect(firstTokenMs({ ...noSums(), first }, 0.99)).toBeCloseTo(290);
  expect(firstTokenMs(noSums(), 0.5)).toBeNull();
});
