// Request windows: which callers pass, the headers they get, and the memory that a flood of keys takes.
import { describe, expect, test } from "vitest";
import { createRequestWindows, rateLimitHeaders } from "../../../src/platform/limits/request-windows.ts";
import { manualClock } from "../../support/manual-clock.ts";

const MINUTE = Date.UTC(2026, 10, 21, 12, 0, 0);

describe("a request window", () => {
  test("lets as many through as its limit, and says how many are left and for how long", () => {
    const clock = manualClock(MINUTE + 15_000);
    const windows = createRequestWindows({ clock });
    expect(windows.take("a", 2)).toEqual({
      allowed: true,
      limit: 2,
      remaining: 1,
      resetSeconds: 45,
      windowSeconds: 60,
    });
    expect(windows.take("a", 2)).toMatchObject({ allowed: true, remaining: 0 });
    expect(windows.take("a", 2)).toMatchObject({ allowed: false, remaining: 0, resetSeconds: 45 });
    expect(windows.take("b", 2)).toMatchObject({ allowed: true, remaining: 1 });
  });

  test("begins anew on the minute, so that Retry-After holds", () => {
    const clock = manualClock(MINUTE + 59_500);
    const windows = createRequestWindows({ clock });
    windows.take("a", 1);
    const refused = windows.take("a", 1);
    expect(refused).toMatchObject({ allowed: false, resetSeconds: 1 });
    clock.advance(refused.resetSeconds * 1_000);
    expect(windows.take("a", 1)).toMatchObject({ allowed: true, resetSeconds: 60 });
  });

  test("can be looked at without counting", () => {
    const windows = createRequestWindows({ clock: manualClock(MINUTE) });
    windows.take("a", 2);
    expect(windows.peek("a", 2)).toMatchObject({ allowed: true, remaining: 1 });
    expect(windows.peek("a", 2)).toMatchObject({ allowed: true, remaining: 1 });
    expect(windows.peek("a", 1)).toMatchObject({ allowed: false, remaining: 0 });
    expect(windows.peek("new", 2)).toMatchObject({ allowed: true, remaining: 2 });
  });

  test("follows a limit that changes within it", () => {
    const windows = createRequestWindows({ clock: manualClock(MINUTE) });
    windows.take("a", 600);
    windows.take("a", 600);
    expect(windows.take("a", 2)).toMatchObject({ allowed: false, limit: 2, remaining: 0 });
    expect(windows.take("a", 600)).toMatchObject({ allowed: true, remaining: 597 });
    expect(windows.take("none", 0)).toMatchObject({ allowed: false, limit: 0, remaining: 0 });
  });

  test("is not emptied by a clock that is set back", () => {
    const clock = manualClock(MINUTE);
    const windows = createRequestWindows({ clock });
    windows.take("a", 1);
    clock.setEpochMs(MINUTE - 3_600_000);
    expect(windows.take("a", 1)).toMatchObject({ allowed: false, resetSeconds: 60 });
  });

  test("may have another length", () => {
    const clock = manualClock(MINUTE);
    const windows = createRequestWindows({ clock, windowSeconds: 3_600 });
    expect(windows.take("a", 5)).toMatchObject({ resetSeconds: 3_600, windowSeconds: 3_600 });
    clock.advance(3_599_000);
    expect(windows.take("a", 5)).toMatchObject({ remaining: 3, resetSeconds: 1 });
    clock.advance(1_000);
    expect(windows.take("a", 5)).toMatchObject({ remaining: 4 });
  });
});

describe("a flood of keys", () => {
  test("is held to the limit together once there is no room for more, and forgotten with the window", () => {
    const clock = manualClock(MINUTE);
    const windows = createRequestWindows({ clock, keysMax: 1_000 });
    let allowed = 0;
    for (let i = 0; i < 200_000; i++) if (windows.take(`address ${i}`, 2).allowed) allowed += 1;
    // 1,000 keys of their own, and 16,384 shared counts of 2 each.
    expect(allowed).toBeLessThanOrEqual(1_000 + 2 * 16_384);
    expect(windows.take("address 5", 2)).toMatchObject({ allowed: true, remaining: 0 });
    expect(windows.take("address 199999", 2).allowed).toBe(false);
    clock.advance(60_000);
    expect(windows.take("address 199999", 2)).toMatchObject({ allowed: true, remaining: 1 });
  });

  test("costs bounded memory, however many they are", () => {
    const windows = createRequestWindows({ clock: manualClock(MINUTE), keysMax: 10_000 });
    const before = process.memoryUsage().heapUsed;
    // Keeping two million keys would take 200 MB.
    for (let i = 0; i < 2_000_000; i++) windows.take(`address 10.${i}`, 120);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(160_000_000);
  });
});

test("the four RateLimit headers say what the window says", () => {
  const windows = createRequestWindows({ clock: manualClock(MINUTE + 1_000) });
  const headers: Record<string, string> = {};
  rateLimitHeaders(windows.take("a", 600), (name, value) => {
    headers[name] = value;
  });
  expect(headers).toEqual({
    "RateLimit-Limit": "600",
    "RateLimit-Remaining": "599",
    "RateLimit-Reset": "59",
    "RateLimit-Policy": "600;w=60",
  });
});
