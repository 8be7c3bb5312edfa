import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { history, play, REPLIES } from "./model-run.ts";
import { sqliteStore, type TestStore } from "./store.ts";

/** More runs for a nightly test: LEDGER_MODEL_RUNS=2000. LEDGER_MODEL_SEED repeats one. */
const RUNS = Number(process.env.LEDGER_MODEL_RUNS ?? 200);
const SEED = Number(process.env.LEDGER_MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31));
const REPLIES_MIN = 3;

let store: TestStore;
beforeAll(async () => {
  store = await sqliteStore();
});
afterAll(() => store.dispose());

test(`every reply of random histories is the model's (seed ${SEED}, ${RUNS} runs)`, {
  timeout: RUNS * 400,
}, async () => {
  const replies = new Map<string, number>();
  let runs = 0;
  const property = fc.asyncProperty(history, async (steps) => {
    await play(store, steps, `account-${runs++}`, (reply) => replies.set(reply, (replies.get(reply) ?? 0) + 1));
  });
  await fc.assert(property, { seed: SEED, numRuns: RUNS });
  expect(REPLIES.filter((reply) => (replies.get(reply) ?? 0) < REPLIES_MIN)).toEqual([]);
  expect((await store.ledger.doctor()).findings).toEqual([]);
  const seen = await store.ledger.accounts();
  await store.reopen();
  expect(await store.ledger.accounts()).toEqual(seen);
  expect((await store.ledger.doctor({ file: true })).findings).toEqual([]);
});
