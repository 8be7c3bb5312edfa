// Pages of lists: their size, the row that they follow, and the cursor of the next page.
import { z } from "zod";
import { byOpening, KEYS_PER_ACCOUNT_MAX, type KeyPage } from "../../core/account-rows.ts";
import type { Books } from "./books.ts";

const limit = z
  .string()
  .regex(/^\d{1,4}$/, "must be a whole number from 1 to 1000")
  .transform(Number)
  .refine((count) => count >= 1 && count <= 1_000, "must be a whole number from 1 to 1000");

export const pageSchema = z.strictObject({
  limit: limit.default(100),
  cursor: z
    .string()
    .regex(/^[\w.:~=-]{1,500}$/, "must be the next_cursor of an earlier answer")
    .optional(),
});

/** All keys by default: an account's keys fit on one page, or were created before there was a limit. */
export const keyPageSchema = z.strictObject({
  limit: limit.default(KEYS_PER_ACCOUNT_MAX),
  cursor: z
    .string()
    .regex(/^\d{1,15}\.\w{1,100}$/, "must be the next_cursor of an earlier answer")
    .optional(),
});

/** All accounts by default, if they fit on one page. */
export const accountPageSchema = z.strictObject({
  limit: limit.default(1_000),
  cursor: z
    .string()
    .regex(/^[\w-]{1,100}$/, "must be the next_cursor of an earlier answer")
    .optional(),
  q: z.string().trim().min(1, "must not be empty").max(200, "must have at most 200 characters").optional(),
});

export async function listAccounts(books: Books, { limit, cursor, q }: z.output<typeof accountPageSchema>) {
  const found = await books.accounts({
    limit: limit + 1,
    after: cursor ?? null,
    ...(q === undefined ? {} : { text: q }),
  });
  const accounts = found.slice(0, limit);
  const next = found.length > limit ? (accounts.at(-1)?.accountId ?? null) : null;
  return { accounts: accounts.sort(byOpening), next };
}

export async function listKeys(books: Books, accountId: string, asked: z.output<typeof keyPageSchema>) {
  const [createdAtMs = "", keyId = ""] = asked.cursor?.split(".") ?? [];
  const after: KeyPage["after"] = asked.cursor === undefined ? null : { createdAtMs: Number(createdAtMs), keyId };
  const found = await books.keys(accountId, { limit: asked.limit + 1, after });
  const keys = found.slice(0, asked.limit);
  const last = found.length > asked.limit ? keys.at(-1) : undefined;
  return { keys, next: last === undefined ? null : `${last.createdAtMs}.${last.keyId}` };
}
