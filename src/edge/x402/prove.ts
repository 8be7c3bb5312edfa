// Compares callers' on-chain payments in the books with the chain: every payment made must be booked, and every booked one made.
import { unitsOf } from "../../catalog/networks.ts";
import { inChunks } from "../../core/chunks.ts";
import type { Audit, Finding } from "../../money/ledger/model/ledger.ts";
import { PROVED_AT_ONCE, type Proved } from "../../money/ledger/proof.ts";
import { topicOf } from "../../money/wallet/bill.ts";
import { type Hex, word } from "../../money/wallet/hex.ts";
import type { NodeRpc } from "../../money/wallet/node-rpc.ts";
import { blockAt, type Log, logIn, logsOf } from "../../money/wallet/past-log.ts";
import type { Records } from "../../platform/records/records.ts";
import { HOUSE, incomeId, transactionIn } from "./books.ts";
import { rpcChain, USED } from "./chain.ts";
import { type Receipt, settledReceipts } from "./receipts.ts";

/** The newest of each: a few minutes of a node's time. */
const PROVED_MAX = 1_000;
const PAGE = 200;
/** Longer than from a payment's first attempt to its block: a node whose newest block is older may not have it yet. */
const SETTLED_MS = 3_600_000;
/** `Transfer(address,address,uint256)`. */
const TRANSFERRED = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

export interface IncomeProofParts {
  readonly records: Records;
  readonly ledger: Pick<Audit, "transaction" | "transactions">;
  readonly node: NodeRpc;
  readonly asset: string;
}

export async function proveIncome({ records, ledger, node, asset }: IncomeProofParts): Promise<Proved> {
  const findings: Finding[] = [];
  let proved = 0;
  const found = (accountId: string, detail: string) => findings.push({ invariant: "x402", accountId, detail });
  /** Null: the node does not answer, or does not know the transaction. */
  const logs = (transaction: string) => logsOf(node.call, transaction).catch(() => null);

  const receipts = await settledReceipts(records, HOUSE, PROVED_MAX);
  await inChunks(receipts, PROVED_AT_ONCE, async (receipt) => {
    const account = receipt.account ?? HOUSE;
    const id = incomeId(receipt.id);
    const booked = await ledger.transaction(account, id);
    if (booked?.amountNano !== receipt.amountNano) return void found(account, `${id}: what was paid is not booked`);
    const told = (await logs(String(receipt.transaction))) ?? ((await isUnused(node, receipt)) ? [] : null);
    if (told === null) return;
    if (isPaidIn(told, receipt, asset)) proved += 1;
    else found(account, `${id}: its payment is not in ${receipt.transaction} on chain`);
  });

  // Credits without a receipt: the transaction they name must have moved the same amount of the coin.
  const known = new Set(receipts.map(({ id }) => incomeId(id)));
  const credits = (await newestCredits(ledger)).filter(({ transactionId }) => !known.has(transactionId));
  await inChunks(credits, PROVED_AT_ONCE, async ({ transactionId, reference, amountNano }) => {
    const transaction = transactionIn(reference);
    if (transaction === null) return void found(HOUSE, `${transactionId}: it names no transaction on chain`);
    const told = await logs(transaction);
    if (told === null) return;
    const units = BigInt(unitsOf(amountNano));
    if (told.some((log) => log.topics[0] === TRANSFERRED && isOf(log, asset) && BigInt(log.data) === units))
      proved += 1;
    else found(HOUSE, `${transactionId}: ${transaction} has not moved as much on chain`);
  });
  return {
    of: "payments of callers",
    proved,
    unknown: receipts.length + credits.length - proved - findings.length,
    findings,
  };
}

/** Whether the chain shows the authorization unused after the payment was settled: a node may have dropped the transaction. */
async function isUnused(node: NodeRpc, { payment, sinceMs }: Receipt): Promise<boolean> {
  const { state } = await rpcChain(node).ended(payment, sinceMs);
  if (state !== "open") return false;
  const newest = await blockAt(node.call, "latest").catch(() => null);
  return newest !== null && newest.timestamp * 1_000 > sinceMs + SETTLED_MS;
}

const isOf = ({ address }: Log, asset: string): boolean => address.toLowerCase() === asset.toLowerCase();

/** Whether this very authorization was used and moved its amount. */
function isPaidIn(logs: readonly Log[], { payment }: Receipt, asset: string): boolean {
  const { from, to, nonce, value } = payment;
  const moved = logs.some(
    (log) =>
      logIn([log], asset, [TRANSFERRED, topicOf(from as Hex), topicOf(to as Hex)]) !== null &&
      Buffer.from(log.data.slice(2), "hex").equals(word(BigInt(value))),
  );
  return moved && logIn(logs, asset, [USED, topicOf(from as Hex), nonce]) !== null;
}

async function newestCredits(ledger: IncomeProofParts["ledger"]) {
  const found = [];
  let cursor: string | null = null;
  // Each paid call has a charge besides its credit.
  for (let looked = 0; looked < 2 * PROVED_MAX; looked += PAGE) {
    const page = await ledger.transactions({ accountId: HOUSE, keyId: null, limit: PAGE, cursor });
    found.push(...page.rows.filter(({ kind }) => kind === "topup"));
    cursor = page.next;
    if (cursor === null) break;
  }
  return found;
}
