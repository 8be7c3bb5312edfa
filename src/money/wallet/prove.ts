// Audits wallet payments against the chains: every payment recorded as made must have a booking and an on-chain event.
import type { Rail } from "../../catalog/auth.ts";
import { inChunks } from "../../core/chunks.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Audit, Finding } from "../ledger/model/ledger.ts";
import { PROVED_AT_ONCE, type Proved } from "../ledger/proof.ts";
import { bookingId, HOUSE } from "./books.ts";
import { onChain } from "./chain-log.ts";
import { nodeRpc } from "./node-rpc.ts";
import { endedPaid, type PaidRecord } from "./paid-records.ts";
import { logIn, logsOf } from "./past-log.ts";

/** The newest payments; checking them takes a node a few minutes. */
const PROVED_MAX = 1_000;

export interface PaidProofParts {
  readonly records: Records;
  readonly ledger: Pick<Audit, "transaction">;
  /** A node for each rail's network; null where none is configured. */
  readonly nodes: Readonly<Record<Rail, string | null>>;
  /** How to reach the nodes. Default: directly. */
  readonly fetchOut?: typeof fetch;
}

export async function provePaid({ records, ledger, nodes, fetchOut = fetch }: PaidProofParts): Promise<Proved> {
  const made = (await endedPaid(records, PROVED_MAX)).filter(({ state }) => state === "made");
  const findings: Finding[] = [];
  const found = (paid: PaidRecord, words: string) =>
    findings.push({ invariant: "wallet", accountId: HOUSE, detail: `${bookingId(paid.callId)}: ${words}` });
  let proved = 0;
  await inChunks(made, PROVED_AT_ONCE, async (paid) => {
    const booked = await ledger.transaction(HOUSE, bookingId(paid.callId));
    if (booked?.amountNano !== paid.amountNano) return void found(paid, "what was paid is not what is booked");
    const isThere = await onItsChain(paid, nodes[paid.rail], fetchOut);
    if (isThere === true) proved += 1;
    if (isThere === false) found(paid, `${paid.merchant} was not paid on chain, and the books have it as made`);
  });
  return { of: "payments to merchants", proved, unknown: made.length - proved - findings.length, findings };
}

/** Null where the node is silent. A merchant may name a transaction that does not exist, so the event is searched for as well. */
async function onItsChain(paid: PaidRecord, url: string | null, fetchOut: typeof fetch): Promise<boolean | null> {
  if (url === null) return null;
  const { transaction, asset, topics } = paid;
  const logs = transaction === null ? null : await logsOf(nodeRpc(url, fetchOut).call, transaction).catch(() => null);
  if (logs !== null && logIn(logs, asset, topics) !== null) return true;
  const seen = await onChain(url, paid, fetchOut);
  if (typeof seen === "object") return true;
  return seen === "lapsed" ? false : null;
}
