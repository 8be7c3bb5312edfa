// Answers for holds that Redis no longer has: six hours after a posting moves to the archive, only the archive knows it.
import { minus, ZERO } from "../../../core/money.ts";
import type { Archive } from "../archive/archive.ts";
import type { HoldRef, PostOutcome, SharedLedger } from "../model/ledger.ts";

/** Wraps the Redis ledger: asks the archive about unknown holds. `note` runs before a posting without a hold. */
export function withArchive(
  ledger: SharedLedger,
  archive: Archive,
  note: (accountId: string) => Promise<void>,
): SharedLedger {
  /** The stored charge of a hold, as a repeated post returns it; null where the archive has none. */
  async function charged({ accountId, holdId }: HoldRef): Promise<PostOutcome | null> {
    const posting = await archive.transaction(accountId, holdId);
    if (posting?.kind !== "charge") return null;
    const account = await ledger.account(accountId);
    const balanceNano = account === null ? ZERO : minus(account.grantedNano, account.spentNano);
    const { amountNano, chargedCents, absorbedNano } = posting;
    return { outcome: "posted", repeat: true, chargedNano: amountNano, chargedCents, absorbedNano, balanceNano };
  }

  return {
    ...ledger,
    post: (request) =>
      ledger
        .post(request)
        .then(async (outcome) => (outcome.outcome === "missing" ? ((await charged(request)) ?? outcome) : outcome)),
    async settleOrphan(request, origin, why) {
      const before = await charged(request);
      if (before !== null) return before;
      await note(request.accountId);
      return ledger.settleOrphan(request, origin, why);
    },
    async voidOrphan(hold, keyFate, origin) {
      return (await charged(hold)) === null ? ledger.voidOrphan(hold, keyFate, origin) : { outcome: "posted" };
    },
    async holdState(hold) {
      return (await ledger.holdState(hold)) ?? ((await charged(hold)) === null ? null : "posted");
    },
  };
}
