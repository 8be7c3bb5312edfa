// Answers derived from the whole catalog are computed once per audience, and again on the next day and after a reload.
import { expect, it } from "vitest";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { keptByAudience, keptJson } from "../../src/catalog/kept-by-audience.ts";

/** A catalog reduced to its lists: one per audience, until the next day. */
function listing() {
  const lists = () => ({ live: [], play: [] });
  let today = lists();
  const listed: Catalog["listed"] = ({ sandbox }) => (sandbox ? today.play : today.live);
  return {
    catalog: { listed } as Catalog,
    midnight() {
      today = lists();
    },
  };
}

it("an answer is kept for its catalog, day and audience", async () => {
  let made = 0;
  const answer = keptByAudience(function* (_, { sandbox }) {
    yield;
    return { sandbox, made: ++made };
  });
  const { catalog: one, midnight } = listing();
  const { catalog: other } = listing();
  const [live, play] = [{ sandbox: false }, { sandbox: true }];
  // A request during the computation waits for the same result.
  const asked = answer(one, live);
  expect(await answer(one, { ...live })).toBe(await asked);
  expect(await answer(one, play)).toEqual({ sandbox: true, made: 2 });
  expect(await answer(other, live)).toEqual({ sandbox: false, made: 3 });
  midnight();
  expect(await answer(one, live)).toEqual({ sandbox: false, made: 4 });
});

it("what could not be made is made anew for the next who asks", async () => {
  let tries = 0;
  const make = () => {
    if (++tries % 2 === 1) throw new Error("not now");
    return tries;
  };
  const answer = keptByAudience(function* () {
    yield;
    return make();
  });
  const { catalog } = listing();
  await expect(answer(catalog, { sandbox: false })).rejects.toThrow("not now");
  expect(await answer(catalog, { sandbox: false })).toBe(2);
  const text = keptJson(() => ({
    get tries() {
      return make();
    },
  }));
  const value = {};
  await expect(text(value)).rejects.toThrow("not now");
  expect([await text(value), await text(value)]).toEqual(Array(2).fill('{"tries":4}'));
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
