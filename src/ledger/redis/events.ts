// What the scripts have told of accounts, read from their lists and taken off them.
import type { LedgerEvent } from "../model/event.ts";
import type { Told } from "../model/ledger.ts";
import type { AccountIndex } from "./account-index.ts";
import { accountKey } from "./rows.ts";
import type { RunTransition } from "./script.ts";

/** Accounts that are looked at side by side. */
const AT_ONCE = 64;

/** Every account that has held anything lately is in the archive's index: no event is missed when a process dies. */
export function redisEvents(run: RunTransition, index: AccountIndex): Told {
  /** The texts of what was read, by id: they are dropped as they were read. */
  const texts = new WeakMap<LedgerEvent, string>();

  async function eventsOf(accountId: string): Promise<LedgerEvent[]> {
    const told = await run("told", accountKey(accountId), []);
    return told.map((text) => {
      const event: LedgerEvent = { ...(JSON.parse(text) as Omit<LedgerEvent, "accountId">), accountId };
      texts.set(event, text);
      return event;
    });
  }

  return {
    async events(countMax) {
      const found: LedgerEvent[] = [];
      let some: string[] = [];
      const look = async () => {
        found.push(...(await Promise.all(some.map(eventsOf))).flat());
        some = [];
      };
      for await (const accountId of index.unarchived()) {
        some.push(accountId);
        if (some.length === AT_ONCE) await look();
        if (found.length >= countMax) return found;
      }
      await look();
      return found;
    },
    async dropEvents(events) {
      for (const [accountId, own] of Map.groupBy(events, (event) => event.accountId)) {
        const told = own.map((event) => texts.get(event) ?? "");
        await run("drop_told", accountKey(accountId), told);
      }
    },
  };
}
