// Commands for the operator's wallet: payments to merchants, and payments with an unknown outcome.

import type { paymentRow } from "../edge/x402/receipts.ts";
import type { paidRow } from "../money/wallet/wallet-endpoints.ts";
import { type Command, CommandError } from "./command.ts";
import { table } from "./text.ts";

type Row = ReturnType<typeof paymentRow>;

interface PaymentsLooked {
  readonly settled: number;
  readonly refused: number;
  readonly payments: readonly Row[];
}

const PAYMENT_HEADS = ["TRANSACTION", "PAYER", "USD", "FOR", "TRIED"];
const PAYMENTS_PATH = "/admin/v1/payments";

function paymentsText(rows: readonly Row[]): string {
  if (rows.length === 0) return "No payment is in doubt.";
  const lines = rows.map((row) => {
    const { transaction_id, payer, amount_usd, account_id, tried_at } = row;
    return [transaction_id, payer, amount_usd, account_id ?? "a call", tried_at];
  });
  return table(PAYMENT_HEADS, lines);
}

/** A gateway without a wallet, or without payments, has no such endpoints. */
function orElse(words: string) {
  return (error: unknown): never => {
    throw error instanceof CommandError && error.code === "not_found" ? new CommandError(words) : error;
  };
}

const taken = orElse("No payments are taken here: X402_PAY_TO is not set.");

export const PAYMENT_COMMANDS: readonly Command[] = [
  {
    name: "x402 pending",
    summary: "Lists the payments on chain of which it is not known yet whether they were made",
    async run(_, { admin }) {
      const { payments } = await admin.call<Pick<PaymentsLooked, "payments">>("GET", PAYMENTS_PATH).catch(taken);
      return { json: { payments }, text: paymentsText(payments), good: payments.length === 0 };
    },
  },
  {
    name: "x402 reconcile",
    summary: "Finds out now what became of them, and books what was paid",
    async run(_, { admin }) {
      const looked = await admin.call<PaymentsLooked>("POST", `${PAYMENTS_PATH}/reconcile`).catch(taken);
      const { settled, refused, payments } = looked;
      const text = `${settled} were paid and are booked, ${refused} were not paid.\n${paymentsText(payments)}`;
      return { json: looked, text, good: payments.length === 0 };
    },
  },
];

interface WalletState {
  readonly addresses: Readonly<Record<string, string | null>>;
  readonly spent_today_usd: string;
  readonly most_a_day_usd: string;
  readonly in_doubt: readonly ReturnType<typeof paidRow>[];
}

interface Looked extends WalletState {
  readonly made: number;
  readonly unmade: number;
}

const HEADS = ["TRANSACTION", "MERCHANT", "RAIL", "USD", "ANSWERED", "PAID"];
const PATH = "/admin/v1/wallet";

function shown({ addresses, spent_today_usd, most_a_day_usd, in_doubt }: WalletState): string {
  const at = Object.entries(addresses).flatMap(([rail, address]) => (address === null ? [] : [`${rail}: ${address}`]));
  const spent = `Paid today: ${spent_today_usd} USD of ${most_a_day_usd} USD.`;
  if (in_doubt.length === 0) return [...at, spent, "No payment is in doubt."].join("\n");
  const lines = in_doubt.map(({ transaction_id, merchant, rail, amount_usd, answered_status, paid_at }) => {
    return [transaction_id, merchant, rail, amount_usd, String(answered_status ?? "no answer"), paid_at];
  });
  return [...at, spent, "In doubt:", table(HEADS, lines)].join("\n");
}

const paying = orElse(
  "No merchants are paid here: there is no wallet (MPP_WALLET_PRIVATE_KEY, X402_WALLET_PRIVATE_KEY).",
);

export const WALLET_COMMANDS: readonly Command[] = [
  {
    name: "wallet",
    summary:
      "Shows what the wallet has paid to merchants today, and the payments of which it is not known whether they were made",
    async run(_, { admin }) {
      const state = await admin.call<WalletState>("GET", PATH).catch(paying);
      return { json: state, text: shown(state), good: state.in_doubt.length === 0 };
    },
  },
  {
    name: "wallet reconcile",
    summary: "Asks the chains now what became of payments to merchants that are in doubt",
    async run(_, { admin }) {
      const looked = await admin.call<Looked>("POST", `${PATH}/reconcile`).catch(paying);
      const { made, unmade } = looked;
      const text = `${made} were made, ${unmade} were not and have lapsed.\n${shown(looked)}`;
      return { json: looked, text, good: looked.in_doubt.length === 0 };
    },
  },
];
