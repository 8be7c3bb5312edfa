// Finds a transaction by its id, or by the id of one of its legs.
import type { PostingRow } from "../../core/account-rows.ts";
import type { Books } from "./books.ts";

/** `<transaction id>.<n>` */
const LEG_ID = /^(.+)\.([1-9]\d{0,2})$/;

/** A posting, and the requested leg, counted from 0; or all legs. */
export interface FoundTransaction {
  readonly posting: PostingRow;
  readonly leg: number | null;
}

/** With an account: only that account's. */
export async function findTransaction(
  books: Books,
  accountId: string | null,
  id: string,
): Promise<FoundTransaction | null> {
  const posting = await books.transaction(accountId, id);
  if (posting !== null) return { posting, leg: null };
  const [, transactionId, number] = LEG_ID.exec(id) ?? [];
  if (transactionId === undefined) return null;
  const whole = await books.transaction(accountId, transactionId);
  const leg = Number(number) - 1;
  return whole === null || leg >= whole.legs.length ? null : { posting: whole, leg };
}
