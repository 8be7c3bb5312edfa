// The contract of accounts whose calls cost more than they hold, for every ledger: a part of `ledgerContract`.
import { expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import { CENT, holdRequest, postRequest } from "../requests.ts";
import type { Stage } from "./stage.ts";

const DAY_MS = 86_400_000;

export function strictContract(stage: Stage): void {
  const { account } = stage;
  type Account = Awaited<ReturnType<typeof account>>;

  /** A call that exceeds its hold by `nanoAbove`; returns whether the bounds are strict since. */
  async function overrun(to: Account, id: string, nanoAbove: number): Promise<boolean> {
    const hold = to.hold(id, 1);
    expect(await stage.store.ledger.reserve(holdRequest(hold))).toEqual({ outcome: "held" });
    const posted = await stage.store.ledger.post(postRequest(hold, { amountNano: nano(CENT + nanoAbove) }));
    expect(posted).toMatchObject({ outcome: "posted", repeat: false, absorbedNano: nanoAbove });
    return "strict" in posted;
  }
  const isStrict = async (to: Account) => (await stage.store.ledger.account(to.accountId))?.strictBounds;
  /** The next UTC day, shortly after midnight. */
  const nextDay = () => stage.store.clock.advance(DAY_MS - (stage.store.clock.epochMs() % DAY_MS) + 1_000);

  test("after three calls of one day that cost more than a cent above their holds, an account's bounds are strict", async () => {
    nextDay();
    const to = await account(100);
    expect(await isStrict(to)).toBe(false);
    expect(await overrun(to, "a cent is not enough", CENT)).toBe(false);
    expect(await overrun(to, "one", CENT + 1)).toBe(false);
    expect(await overrun(to, "two", 2 * CENT)).toBe(false);
    nextDay();
    expect(await overrun(to, "one of another day", 2 * CENT)).toBe(false);
    expect(await overrun(to, "two of it", 2 * CENT)).toBe(false);
    expect(await isStrict(to)).toBe(false);
    expect(await overrun(to, "three of it", 2 * CENT)).toBe(true);
    expect(await isStrict(to)).toBe(true);
    expect(await overrun(to, "one more", 2 * CENT)).toBe(false);
    // A repeat of the posting that made the bounds strict returns the charged amount.
    expect(await stage.store.ledger.post(postRequest(to.hold("three of it", 1)))).toMatchObject({ repeat: true });
    nextDay();
    expect(await isStrict(to)).toBe(true);
    await stage.store.reopen();
    expect(await isStrict(to)).toBe(true);
  });

  test("they are strict until an operator clears that, and again after three more; he can make them so himself", async () => {
    nextDay();
    const to = await account(100);
    const { accountId } = to;
    const patch = (strictBounds: boolean) => stage.store.ledger.patchAccount(accountId, { strictBounds });
    expect(await patch(true)).toMatchObject({ strictBounds: true, frozen: false, name: accountId });
    expect(await patch(false)).toMatchObject({ strictBounds: false });
    const made: boolean[] = [];
    for (const id of ["one", "two", "three"]) made.push(await overrun(to, id, 2 * CENT));
    expect(made).toEqual([false, false, true]);
    await stage.store.ledger.patchAccount(accountId, { name: "renamed" });
    expect(await isStrict(to)).toBe(true);
    await patch(false);
    await stage.store.reopen();
    expect(await isStrict(to)).toBe(false);
    for (const id of ["four", "five", "six"]) made.push(await overrun(to, id, 2 * CENT));
    expect(made.slice(3)).toEqual([false, false, true]);
  });
}
