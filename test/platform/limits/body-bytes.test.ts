import { expect, test } from "vitest";
import { createBodyBytes } from "../../../src/platform/limits/body-bytes.ts";

test("bodies of one account and of all have a bound, and give back what they took, once", () => {
  const bodies = createBodyBytes({ bytesMax: 10, accountBytesMax: 6 });
  const [first, second, third] = [bodies.open(), bodies.open(), bodies.open()];
  expect([first.belongTo("a"), first.grow(5), second.belongTo("a")]).toEqual([null, null, null]);
  expect(second.grow(2)?.status).toBe(429);
  expect([third.grow(5), third.grow(1)?.status]).toEqual([null, 503]);
  first.close();
  first.close();
  expect([second.grow(5), second.grow(1)?.status]).toEqual([null, 503]);
  // Requested after it was released.
  expect([first.grow(50), first.belongTo("a")]).toEqual([null, null]);
  second.close();
  third.close();
  const last = bodies.open();
  expect([last.belongTo("a"), last.grow(6)]).toEqual([null, null]);
});

test("an account at its own bound is told so, even where all bodies have reached theirs", () => {
  const bodies = createBodyBytes({ bytesMax: 10, accountBytesMax: 6 });
  const [first, second, other, none] = [bodies.open(), bodies.open(), bodies.open(), bodies.open()];
  expect([first.belongTo("a"), first.grow(5), second.belongTo("a"), other.grow(5)]).toEqual([null, null, null, null]);
  expect([second.grow(2)?.status, none.grow(2)?.status]).toEqual([429, 503]);
});
