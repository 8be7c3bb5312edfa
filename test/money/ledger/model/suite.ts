// Random histories over a store and the pure model, for each store.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UsageRow } from "../../../../src/core/usage-rows.ts";
import type { Ledger } from "../../../../src/money/ledger/model/ledger.ts";
import type { TestStore } from "../store.ts";
import { EVERYTHING, pagesOf } from "../usage/contract.ts";
import { history, play, REPLIES, SHARED_REPLIES } from "./run.ts";

/** More runs for a nightly test: LEDGER_MODEL_RUNS=2000. LEDGER_MODEL_SEED repeats one. */
const SEED = Number(process.env.LEDGER_MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31));
const REPLIES_MIN = 3;
/** Fewer histories than this do not meet every kind of reply. */
const TELLING_RUNS_MIN = 200;
const MORE_RUNS = 50;
const MORE_MAX = 8;

/** The spent, absorbed and granted amounts of each account by the reports, in the order in which accounts were opened. */
async function usageByAccount(ledger: Ledger) {
  const query = { ...EVERYTHING, by: ["account" as const] };
  const told = async (kind: "charged" | "credited") =>
    new Map(((await pagesOf(ledger, { ...query, kind })) as UsageRow[]).map((row) => [row.group.account, row]));
  const [charged, credited] = [await told("charged"), await told("credited")];
  return (await ledger.accounts()).map(({ accountId }) => [
    accountId,
    charged.get(accountId)?.amountNano ?? "0",
    charged.get(accountId)?.absorbedNano ?? "0",
    credited.get(accountId)?.amountNano ?? "0",
  ]);
}

/** Plays `runsDefault` histories, unless LEDGER_MODEL_RUNS is set. */
export function modelSuite(name: string, open: () => Promise<TestStore>, runsDefault: number): void {
  const RUNS = Number(process.env.LEDGER_MODEL_RUNS ?? runsDefault);
  describe(name, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await open();
    }, 300_000);
    afterAll(() => store.dispose());

    test(`every reply of random histories is the model's (seed ${SEED}, ${RUNS} runs)`, {
      timeout: 180_000 + RUNS * 1_000,
    }, async () => {
      const replies = new Map<string, number>();
      let runs = 0;
      const property = fc.asyncProperty(history, async (steps) => {
        await play(store, steps, `account-${runs++}`, (reply) => replies.set(reply, (replies.get(reply) ?? 0) + 1));
      });
      await fc.assert(property, { seed: SEED, numRuns: RUNS });
      const missing = () =>
        [...REPLIES, ...(store.shared ? SHARED_REPLIES : [])].filter(
          (reply) => (replies.get(reply) ?? 0) < REPLIES_MIN,
        );
      if (RUNS >= TELLING_RUNS_MIN) {
        // Some kinds are rare: a few more histories meet the ones still missing.
        for (let more = 1; more <= MORE_MAX && missing().length > 0; more++)
          await fc.assert(property, { seed: SEED + more, numRuns: MORE_RUNS });
        expect(missing()).toEqual([]);
      }
      expect((await store.ledger.doctor()).findings).toEqual([]);
      const seen = await store.ledger.accounts();
      if (store.tellsUsage)
        expect(await usageByAccount(store.ledger)).toEqual(
          seen.map(({ accountId, spentNano, absorbedNano, grantedNano }) => [
            accountId,
            ...[spentNano, absorbedNano, grantedNano].map(String),
          ]),
        );
      await store.reopen();
      expect(await store.ledger.accounts()).toEqual(seen);
      expect((await store.ledger.doctor({ file: true })).findings).toEqual([]);
    });
  });
}
