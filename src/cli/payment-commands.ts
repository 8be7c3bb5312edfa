// Commands for on-chain payments with an unknown outcome.
import type { paymentRow } from "../edge/x402/payment-endpoints.ts";
import { type Command, CommandError } from "./command.ts";
import { table } from "./text.ts";

type Row = ReturnType<typeof paymentRow>;

interface Looked {
  readonly settled: number;
  readonly refused: number;
  readonly payments: readonly Row[];
}

const HEADS = ["TRANSACTION", "PAYER", "USD", "FOR", "TRIED"];
const PATH = "/admin/v1/payments";

function shown(rows: readonly Row[]): string {
  if (rows.length === 0) return "No payment is in doubt.";
  const lines = rows.map((row) => {
    const { transaction_id, payer, amount_usd, account_id, tried_at } = row;
    return [transaction_id, payer, amount_usd, account_id ?? "a call", tried_at];
  });
  return table(HEADS, lines);
}

/** A gateway that does not accept payments has no such endpoint. */
function taken(error: unknown): never {
  if (error instanceof CommandError && error.code === "not_found")
    throw new CommandError("No payments are taken here: X402_PAY_TO is not set.");
  throw error;
}

export const PAYMENT_COMMANDS: readonly Command[] = [
  {
    name: "x402 pending",
    summary: "Lists the payments on chain of which it is not known yet whether they were made",
    async run(_, { admin }) {
      const { payments } = await admin.call<Pick<Looked, "payments">>("GET", PATH).catch(taken);
      return { json: { payments }, text: shown(payments), good: payments.length === 0 };
    },
  },
  {
    name: "x402 reconcile",
    summary: "Finds out now what became of them, and books what was paid",
    async run(_, { admin }) {
      const looked = await admin.call<Looked>("POST", `${PATH}/reconcile`).catch(taken);
      const { settled, refused, payments } = looked;
      const text = `${settled} were paid and are booked, ${refused} were not paid.\n${shown(payments)}`;
      return { json: looked, text, good: payments.length === 0 };
    },
  },
];
