import fc from "fast-check";
import { expect, test } from "vitest";
import { nano } from "../../../src/core/money.ts";
import { forFile } from "../../support/for-file.ts";
import { CENT, holdRequest, newAccount, postRequest } from "./requests.ts";
import { sqliteStore } from "./store.ts";

const store = forFile(await sqliteStore());

/** Each call reserves and then posts or voids; each message is sent one to three times, and late. */
const calls = fc.array(
  fc.record({
    cost: fc.nat({ max: 3 * CENT }),
    end: fc.constantFrom("post", "void"),
    reserves: fc.integer({ min: 1, max: 3 }),
    ends: fc.integer({ min: 1, max: 3 }),
    lateReserves: fc.nat({ max: 2 }),
  }),
  { minLength: 1, maxLength: 8 },
);

test("messages sent again, together and late leave what sending each once would have", async () => {
  let accounts = 0;
  const property = fc.asyncProperty(calls, async (wishes) => {
    const accountId = `account-${accounts++}`;
    await store.ledger.openAccount(newAccount(accountId, 1_000));
    await Promise.all(
      wishes.map(async ({ cost, end, reserves, ends, lateReserves }, at) => {
        const hold = { accountId, holdId: `${accountId}.${at}`, cents: 5, nowMs: store.clock.epochMs() };
        const repeat = <T>(times: number, send: () => Promise<T>) => Promise.all(Array.from({ length: times }, send));
        const reserve = () => store.ledger.reserve(holdRequest(hold));
        const finish = async () => {
          if (end === "post") await store.ledger.post(postRequest(hold, { amountNano: nano(cost) }));
          else await store.ledger.void(hold, "test");
        };
        await repeat(reserves, reserve);
        await Promise.all([repeat(ends, finish), repeat(lateReserves, reserve)]);
        await repeat(lateReserves, reserve);
      }),
    );
    const spent = wishes.reduce((sum, { cost, end }) => sum + (end === "post" ? cost : 0), 0);
    expect(await store.ledger.account(accountId)).toMatchObject({ spentNano: spent, heldNano: 0, absorbedNano: 0 });
  });
  await fc.assert(property, { numRuns: 60 });
  expect((await store.ledger.doctor()).findings).toEqual([]);
});
