// Request ids are unique and sort by time, so that records stored under them lie together.
import { expect, it } from "vitest";
import { requestIds } from "../../../src/edge/http/request-id.ts";
import { manualClock } from "../../support/manual-clock.ts";

it("ids are distinct, of one form, and grow with time", () => {
  const clock = manualClock(Date.UTC(2026, 10, 21));
  const next = requestIds(clock);
  const ids = Array.from({ length: 5_000 }, () => {
    clock.advance(7);
    return next();
  });
  expect(new Set(ids).size).toBe(5_000);
  for (const id of ids) expect(id).toMatch(/^req_[0-9A-Za-z]{20}$/);
  expect([...ids].sort()).toEqual(ids);
});

it("ids of one moment are still distinct", () => {
  const next = requestIds(manualClock(0));
  expect(new Set(Array.from({ length: 5_000 }, next)).size).toBe(5_000);
});
