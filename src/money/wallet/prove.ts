// Holds what merchants were paid, as the books have it, against the chains: every payment that counts as made has its booking, and is there.
import type { Rail } from "../../catalog/auth.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Audit, Finding } from "../ledger/model/ledger.ts";
import { inChunks, type Proved } from "../ledger/proof.ts";
import { bookingId, HOUSE } from "./books.ts";
import { nodeAt, onChain } from "./chain-log.ts";
import { endedPaid, type PaidRecord } from "./paid-records.ts";
import { logIn, logsOf } from "./past-log.ts";

/** The newest: a few minutes of a node's time. */
const PROVED_MAX = 1_000;

export interface PaidProofParts {
  readonly records: Records;
  readonly ledger: Pick<Audit, "transaction">;
  /** A node of each rail's network; null: none can be asked. */
  readonly nodes: Readonly<Record<Rail, string | null>>;
  /** How they are reached. Default: directly. */
  readonly fetchOut?: typeof fetch;
}

export async function provePaid({ records, ledger, nodes, fetchOut = fetch }: PaidProofParts): Promise<Proved> {
  const made = (await endedPaid(records, PROVED_MAX)).filter(({ state }) => state === "made");
  const findings: Finding[] = [];
  const found = (paid: PaidRecord, words: string) =>
    findings.push({ invariant: "wallet", accountId: HOUSE, detail: `${bookingId(paid.callId)}: ${words}` });
  let proved = 0;
  await inChunks(made, async (paid) => {
    const booked = await ledger.transaction(HOUSE, bookingId(paid.callId));
    if (booked?.amountNano !== paid.amountNano) return void found(paid, "what was paid is not what is booked");
    const isThere = await onItsChain(paid, nodes[paid.rail], fetchOut);
    if (isThere === true) proved += 1;
    if (isThere === false) found(paid, `${paid.merchant} was not paid on chain, and the books have it as made`);
  });
  return { of: "payments to merchants", proved, unknown: made.length - proved - findings.length, findings };
}

/** Null: its chain cannot be asked. A merchant may name a transaction that is none, so the event is looked for as well. */
async function onItsChain(paid: PaidRecord, url: string | null, fetchOut: typeof fetch): Promise<boolean | null> {
  if (url === null) return null;
  const { transaction, asset, topics } = paid;
  const logs = transaction === null ? null : await logsOf(nodeAt(url, fetchOut), transaction).catch(() => null);
  if (logs !== null && logIn(logs, asset, topics) !== null) return true;
  const seen = await onChain(url, paid, fetchOut);
  if (typeof seen === "object") return true;
  return seen === "lapsed" ? false : null;
}
