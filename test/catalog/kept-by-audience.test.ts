// Answers made of the whole catalog are made once for each audience, and anew when the catalog is replaced.
import { expect, it } from "vitest";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { keptByAudience, keptJson } from "../../src/catalog/kept-by-audience.ts";

it("an answer is kept for its catalog and audience", async () => {
  let made = 0;
  const answer = keptByAudience(function* (_, { sandbox }) {
    yield;
    return { sandbox, made: ++made };
  });
  const [one, other] = [{}, {}] as Catalog[] as [Catalog, Catalog];
  const [live, play] = [{ sandbox: false }, { sandbox: true }];
  // Who asks while it is made waits for the same.
  const asked = answer(one, live);
  expect(await answer(one, { ...live })).toBe(await asked);
  expect(await answer(one, play)).toEqual({ sandbox: true, made: 2 });
  expect(await answer(other, live)).toEqual({ sandbox: false, made: 3 });
});

it("its JSON is written once", async () => {
  let written = 0;
  const text = keptJson((value: { a: number }) => ({ ...value, written: ++written }));
  const value = { a: 1 };
  expect(await Promise.all([text(value), text(value), text({ a: 1 })])).toEqual([
    '{"a":1,"written":1}',
    '{"a":1,"written":1}',
    '{"a":1,"written":2}',
  ]);
});
