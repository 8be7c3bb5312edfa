// Postings in Redis and, once they have moved, in the archive: credits, and finding what was posted.
import type { PostingRow, RefundOutcome, TopUpOutcome } from "../../../core/account-rows.ts";
import { type Nano, nano } from "../../../core/money.ts";
import { NO_ARCHIVE, shownPosting } from "../archive/archive.ts";
import type { SharedLedger } from "../model/ledger.ts";
import { creditDetail, listPostings, listRunPostings, readPosting } from "./calls.ts";
import type { LedgerPlace } from "./place.ts";
import { accountKey } from "./rows.ts";

interface Credit {
  readonly id: string;
  readonly kind: "topup" | "refund";
  readonly amount: Nano;
  readonly reference: string;
}

type Postings = Pick<SharedLedger, "topUp" | "refund" | "transaction" | "transactions" | "runPostings">;

export function redisPostings({ link, run, archive, index, copies }: LedgerPlace, leaseMs: number): Postings {
  /** Searches all accounts for a transaction id. Only people do this, never calls. */
  async function findPosting(transactionId: string): Promise<PostingRow | null> {
    const archived = () => archive.transaction(null, transactionId);
    const before = await archived();
    if (before !== null) return shownPosting(before);
    for await (const accountId of archive === NO_ARCHIVE ? index.all() : index.unarchived()) {
      const found = await readPosting(link, accountId, transactionId);
      if (found !== null) return shownPosting(found);
    }
    // It may have moved between the two reads.
    const after = await archived();
    return after === null ? null : shownPosting(after);
  }

  async function posting(accountId: string, transactionId: string): Promise<PostingRow | null> {
    const found =
      (await readPosting(link, accountId, transactionId)) ?? (await archive.transaction(accountId, transactionId));
    return found === null ? null : shownPosting(found);
  }

  async function credit(accountId: string, entry: Credit, reason: string): Promise<readonly string[]> {
    // The exporter reads noted accounts; a posting without a hold notes its account itself.
    await index.note(accountId, leaseMs);
    const key = accountKey(accountId);
    const reply = await run("credit", key, { ...entry, detail: creditDetail(entry.reference, reason) });
    // A retry returns the first attempt's result.
    await copies.taken(key);
    return reply;
  }

  return {
    async topUp(accountId, transactionId, amountNano, reference): Promise<TopUpOutcome> {
      const entry = { id: transactionId, kind: "topup", amount: nano(amountNano), reference } as const;
      const [outcome, balance] = await credit(accountId, entry, "");
      if (outcome === "unknown_account" || outcome === "too_much") return { outcome };
      return { outcome: outcome as "credited" | "exists", balanceNano: nano(Number(balance)) };
    },
    async refund(transactionId, refundId, reason): Promise<RefundOutcome> {
      const charge = await findPosting(transactionId);
      if (charge?.kind !== "charge") return { outcome: "unknown_transaction" };
      const { amountNano } = charge;
      const entry = { id: refundId, kind: "refund", amount: amountNano, reference: transactionId } as const;
      const [outcome, , id = refundId] = await credit(charge.accountId, entry, reason);
      return { outcome: outcome === "credited" ? "refunded" : "exists", refundId: id, amountNano };
    },
    transaction: (accountId, transactionId) =>
      accountId === null ? findPosting(transactionId) : posting(accountId, transactionId),
    async transactions(query) {
      return listPostings(link, archive, query);
    },
    runPostings: (query) => listRunPostings(link, archive, query),
  };
}
