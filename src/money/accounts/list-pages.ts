// Pages of lists: how many rows are asked for, after which one, and where the next page begins.
import { z } from "zod";
import { byOpening, KEYS_PER_ACCOUNT_MAX, type KeyPage } from "../../core/account-rows.ts";
import type { Books } from "./books.ts";

const limit = z
  .string()
  .regex(/^\d{1,4}$/, "must be a whole number from 1 to 1000")
  .transform(Number)
  .refine((count) => count >= 1 && count <= 1_000, "must be a whole number from 1 to 1000");

/** A page of any list. */
export const pageSchema = z.strictObject({
  limit: limit.default(100),
  cursor: z
    .string()
    .regex(/^[\w.:~=-]{1,500}$/, "must be the next_cursor of an earlier answer")
    .optional(),
});

/** Keys come all at once where no less is asked for: an account has no more than fit on a page, or had them before there was a bound. */
export const keyPageSchema = z.strictObject({
  limit: limit.default(KEYS_PER_ACCOUNT_MAX),
  cursor: z
    .string()
    .regex(/^\d{1,15}\.\w{1,100}$/, "must be the next_cursor of an earlier answer")
    .optional(),
});

/** All accounts come at once where no less is asked for and they fit on a page. */
export const accountPageSchema = z.strictObject({
  limit: limit.default(1_000),
  cursor: z
    .string()
    .regex(/^[\w-]{1,100}$/, "must be the next_cursor of an earlier answer")
    .optional(),
});

/** A page of accounts, the oldest of them first, and the cursor of the next one. */
export async function listAccounts(books: Books, { limit, cursor }: z.output<typeof accountPageSchema>) {
  const found = await books.accounts({ limit: limit + 1, after: cursor ?? null });
  const accounts = found.slice(0, limit);
  const next = found.length > limit ? (accounts.at(-1)?.accountId ?? null) : null;
  return { accounts: accounts.sort(byOpening), next };
}

/** A page of an account's keys, and the cursor of the next one. */
export async function listKeys(books: Books, accountId: string, asked: z.output<typeof keyPageSchema>) {
  const [createdAtMs = "", keyId = ""] = asked.cursor?.split(".") ?? [];
  const after: KeyPage["after"] = asked.cursor === undefined ? null : { createdAtMs: Number(createdAtMs), keyId };
  const found = await books.keys(accountId, { limit: asked.limit + 1, after });
  const keys = found.slice(0, asked.limit);
  const last = found.length > asked.limit ? keys.at(-1) : undefined;
  return { keys, next: last === undefined ? null : `${last.createdAtMs}.${last.keyId}` };
}
