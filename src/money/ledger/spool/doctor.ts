// Compares the spool with the store: answered intents must be there, and none may wait for long.
import type { PostingRow } from "../../../core/account-rows.ts";
import { inChunks } from "../../../core/chunks.ts";
import { add, type Nano, ZERO } from "../../../core/money.ts";
import type { Finding, SharedLedger } from "../model/ledger.ts";
import { accountOf } from "./delivery.ts";
import type { Spool } from "./file.ts";
import { LEASE_ENDED, restId } from "./tell-store.ts";
import type { StoredIntent } from "./unit.ts";

/** The most leases an intent may wait: after one its hold can be lost, after two no process is trying. */
const LEASES_MAX = 2;
const ASKED_AT_ONCE = 64;

export interface SpoolCheck {
  readonly spool: Spool;
  readonly ledger: SharedLedger;
  readonly leaseMs: number;
  readonly nowMs: number;
}

/** Every intent whose recorded answer differs from the store's, or that has waited too long. */
export async function examineSpool(check: SpoolCheck): Promise<Finding[]> {
  const findings: Finding[] = [];
  await check.spool.flush();
  for await (const page of check.spool.pages("all")) {
    await inChunks(page, ASKED_AT_ONCE, async (stored) => {
      const detail = await wrongWith(stored, check);
      if (detail !== null) findings.push({ invariant: "spool", accountId: accountOf(stored.intent), detail });
    });
  }
  return findings;
}

/** The cost of a posting's work: charged, or absorbed by the operator. */
function costOf({ amountNano, absorbedNano }: PostingRow): Nano {
  return add(amountNano, absorbedNano);
}

async function wrongWith(stored: StoredIntent, check: SpoolCheck): Promise<string | null> {
  const { intent, outcome, madeAtMs } = stored;
  const { accountId, holdId } = intent.op === "post" ? intent.request : intent.hold;
  if (outcome === null) {
    const waitedMs = check.nowMs - madeAtMs;
    if (waitedMs <= LEASES_MAX * check.leaseMs) return null;
    return `the ${intent.op} of ${holdId} has waited for the store for ${Math.round(waitedMs / 1000)} s`;
  }
  if (outcome === "posted" || outcome === "repeat") {
    const posting = await check.ledger.transaction(accountId, holdId);
    if (posting === null) return `the store has posted ${holdId} and has no posting of it`;
    if (intent.op === "void") return null;
    const wasSwept = posting.reason === LEASE_ENDED && intent.origin !== null;
    if (outcome === "repeat" && !wasSwept) return null;
    const rest = wasSwept ? await check.ledger.transaction(accountId, restId(holdId)) : null;
    const there = add(costOf(posting), rest === null ? ZERO : costOf(rest));
    const wanted = intent.request.amountNano;
    // A swept hold's recorded usage can exceed its final cost.
    if (there === wanted || (wasSwept && there > wanted)) return null;
    return `${holdId} cost ${wanted}, its posting says ${there}`;
  }
  if (intent.op === "post") return null;
  const state = await check.ledger.holdState({ accountId, holdId });
  if (state === "voided" || state === "expired") return null;
  return `the store has released ${holdId}, which is ${state ?? "unknown to it"}`;
}
