// The windows' counts for work that continues from one hold to the next.
import { describe, expect, test } from "vitest";
import { nano } from "../../src/core/money.ts";
import type { AccountPayer, Budget } from "../../src/core/plan.ts";
import { createWindows } from "../../src/kernel/windows.ts";

const PAYER: AccountPayer = { id: "acct:a", accountId: "a", keyId: "k", sandbox: false };
const bound = (scope: string, tag?: string): Budget => ({
  ...{ scope, whose: scope, period: "day", maxNano: nano(5) },
  ...(tag === undefined ? {} : { tag }),
});

describe("work that goes on", () => {
  test("is under the budgets of its group and of its own tags, and of no other", async () => {
    const budgets = [bound("group:g"), bound("tag:red", "team=red"), bound("tag:blue", "team=blue")];
    const windows = createWindows(null, async (payer) => ({ payer, budgets }));
    const brought = await windows.goingOn(PAYER, ["team=red"]);
    const bounds = brought.filter(({ counts, max }) => counts === "charge" && max !== null);
    expect(bounds.map(({ scope }) => scope)).toEqual(["group:g", "tag:red"]);
  });

  test("does not go on where its budgets cannot be read", async () => {
    const windows = createWindows(null, async () => {
      throw new Error("the store is away");
    });
    await expect(windows.goingOn(PAYER, [])).rejects.toThrow("the store is away");
  });
});
