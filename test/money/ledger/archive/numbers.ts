// What an archive has of an account, in numbers.
import type { Archive } from "../../../../src/money/ledger/archive/archive.ts";
import { PostingSums } from "../../../../src/money/ledger/model/posting-sums.ts";

/** The highest number of an account's postings; 0: none. */
export async function lastNumber(archive: Pick<Archive, "page">, accountId: string): Promise<number> {
  return (await archive.page({ accountId, keyId: null }, null, 1))[0]?.number ?? 0;
}

/** What an account's postings add up to. */
export async function sumsOf(archive: Pick<Archive, "after">, accountId: string): Promise<PostingSums> {
  const sums = new PostingSums((scope, day) => `${scope} ${day}`);
  for (const one of await archive.after(accountId, 0, 1_000)) sums.add(one);
  return sums;
}
