// Adds account names and key labels beside ids, so that readers need not look them up.
import type { Accounts } from "../../core/account-rows.ts";
import { getOrMake } from "../../core/maps.ts";
import { usdTextOfSum } from "../../core/money.ts";
import { fewAtATime } from "./few-at-a-time.ts";

export type Names = Pick<Accounts, "account" | "key">;

/** The fields of a row that identify its owner. Other values, and ids of deleted accounts, have no name. */
interface Owned {
  readonly account_id?: unknown;
  readonly key_id?: unknown;
}

export type Naming = {
  readonly account_name?: string | null;
  readonly key_label?: string | null;
  readonly group_name?: string | null;
};

/** Adds dollars and dates beside a row's exact amounts and times: `charged_usd` for `charged_nano_usd`, `resets_at` for `resets_at_ms`. */
export function readable<Row extends object>(row: Row): Row {
  const all: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    all[name] = value;
    if (value === null) continue;
    if (name.endsWith("_nano_usd")) all[name.replace("_nano_usd", "_usd")] = usdTextOfSum(value);
    if (name.endsWith("_at_ms")) all[name.replace("_at_ms", "_at")] = new Date(Number(value)).toISOString();
  }
  return all as Row;
}

/** Returns a readable row with names for each item. `accountId`: the owner, where rows do not name it. */
export function named<Item, Row extends object>(
  books: Names,
  accountId: string | null,
  items: readonly Item[],
  rowOf: (item: Item) => Row,
): Promise<(Row & Naming)[]> {
  const naming = namesOf(books, accountId);
  return fewAtATime(items, async (item) => {
    const row = readable(rowOf(item));
    return { ...row, ...(await naming(row)) };
  });
}

/** Reads each account and each key once for all rows. `accountId`: the owner, where rows do not name it. */
export function namesOf(books: Names, accountId: string | null): (row: Owned) => Promise<Naming> {
  const found = new Map<string, Promise<string | null>>();
  const once = (name: string, find: () => Promise<string | null>) => getOrMake(found, name, find);
  return async (row) => {
    const owner = row.account_id ?? accountId;
    const named: { account_name?: string | null; key_label?: string | null } = {};
    if (typeof row.account_id === "string") {
      const id = row.account_id;
      named.account_name = await once(id, async () => (await books.account(id))?.name ?? null);
    }
    if (row.key_id !== undefined) {
      const id = row.key_id;
      named.key_label =
        typeof id !== "string" || typeof owner !== "string"
          ? null
          : await once(`${owner}\n${id}`, async () => (await books.key(owner, id))?.label ?? null);
    }
    return named;
  };
}
