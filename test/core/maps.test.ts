// Values that are loaded at their first use.
import { expect, it } from "vitest";
import { getOrLoad } from "../../src/core/maps.ts";

it("a load is shared by all that wait for it, and kept unless it fails", async () => {
  const map = new Map<string, Promise<number>>();
  let loads = 0;
  const load = async () => {
    loads += 1;
    if (loads === 1) throw new Error("not yet");
    return loads;
  };
  const both = [getOrLoad(map, "a", load), getOrLoad(map, "a", load)];
  expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(map.size).toBe(0);
  expect(await getOrLoad(map, "a", load)).toBe(2);
  expect(await getOrLoad(map, "a", load)).toBe(2);
});
