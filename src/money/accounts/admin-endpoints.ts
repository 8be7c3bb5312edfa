// The admin listener: accounts, refunds, the ledger's doctor and backup, metrics and health.
import { isAbsolute } from "node:path";
import { z } from "zod";
import type { Answer, EndpointShape, EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { usdText } from "../../core/money.ts";
import { type AdminAccountParts, adminAccountEndpoints, adminEndpoint } from "./admin-accounts.ts";
import type { Books } from "./books.ts";
import { findTransaction } from "./find-transaction.ts";
import { named } from "./names.ts";
import { missing } from "./own-endpoint.ts";
import { readBody } from "./read-body.ts";
import { operatorTransactionRow } from "./rows.ts";
import { mintId } from "./secrets.ts";
import { adminSharedEndpoints } from "./shared-endpoints.ts";
import { anyTransactions, anyUsage, failedCall } from "./usage-endpoints.ts";

const refundSchema = z.strictObject({ reason: z.string().min(1, "must not be empty").max(500) });
const backupSchema = z.strictObject({
  path: z.string().min(1, "must not be empty").refine(isAbsolute, "must be an absolute path"),
});

/** Whether calls can be served, and if not, why. Where several processes serve them, how many are ready. */
export type Readiness = ({ readonly ready: true } | { readonly ready: false; readonly reason: string }) & {
  readonly processes?: { readonly ready: number; readonly wanted: number };
};

/** Compares payments with a chain. `findings`: those that the chain lacks or has differently. */
export type Proof = () => Promise<{
  readonly of: string;
  readonly proved: number;
  readonly unknown: number;
  readonly findings: readonly unknown[];
}>;

export interface Refusal {
  readonly message: string;
}

export interface AdminParts extends AdminAccountParts {
  readonly readiness: () => Readiness | Promise<Readiness>;
  readonly metricsText: () => Promise<string>;
  /** What `doctor` checks besides the ledger itself. */
  readonly proofs: readonly Proof[];
  readonly refusals?: () => readonly Refusal[];
  readonly metricsContentType: string;
  /** True where the admin listener is on loopback: metrics need no token. */
  readonly metricsOpen: boolean;
}

function openEndpoint(path: string, answer: () => Answer | Promise<Answer>): EndpointSpec {
  const shape: EndpointShape = { method: "GET", path, auth: "none", watch: true, bodyBytesMax: 0 };
  return { ...shape, answer };
}

/** `/healthz`: shows that the process answers. Also served on the public listener. */
export function healthEndpoint(): EndpointSpec {
  return openEndpoint("/healthz", () => ({ status: 200, body: { ok: true } }));
}

async function refund(books: Books, transactionId: string, reason: string): Promise<Answer> {
  const result = await books.refund(transactionId, mintId("tx_"), reason);
  if (result.outcome === "unknown_transaction") {
    throw missing("any_transaction", "There is no such charge; top-ups and refunds cannot be refunded.");
  }
  return {
    status: 200,
    body: {
      transaction_id: transactionId,
      refund_id: result.refundId,
      refunded_nano_usd: result.amountNano,
      refunded_usd: usdText(result.amountNano),
      repeated: result.outcome === "exists",
    },
  };
}

async function backup(books: Books, path: string): Promise<Answer> {
  try {
    await books.backup(path);
    return { status: 200, body: { path } };
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new GatewayError("conflict", { detail: `path: no backup was written: ${words}`, cause: error });
  }
}

async function doctor({ books, proofs, refusals }: AdminParts): Promise<Answer> {
  const [report, ...proved] = await Promise.all([books.doctor(), ...proofs.map((prove) => prove())]);
  const findings = [...report.findings, ...proved.flatMap((one) => one.findings)];
  const payments = proved.map(({ of, proved: count, unknown }) => ({ of, proved: count, unknown }));
  return { status: 200, body: { ...report, findings, payments, refusals: refusals?.() ?? [] } };
}

function ledgerEndpoints(parts: AdminParts): EndpointSpec[] {
  const { books, rules, failedCalls } = parts;
  return [
    adminEndpoint("GET", "/admin/v1/transactions/{id}", async ({ request }) => {
      const id = request.params.id ?? "";
      const found = await findTransaction(books, null, id);
      const failed = found === null ? await failedCall(parts, id, { accountId: null, keyId: null }) : null;
      if (failed !== null) return { status: 200, body: failed };
      if (found === null) throw missing("any_transaction", "There is no such transaction.");
      return { status: 200, body: (await named(books, null, [found], operatorTransactionRow))[0] };
    }),
    adminEndpoint("POST", "/admin/v1/transactions/{id}/refund", ({ request }) =>
      refund(books, request.params.id ?? "", readBody(refundSchema, request.body).reason),
    ),
    adminEndpoint("GET", "/admin/v1/transactions", ({ request }) => anyTransactions(books, failedCalls, request.query)),
    adminEndpoint("GET", "/admin/v1/usage", ({ request }) => anyUsage({ books, rules }, request.query)),
    adminEndpoint("GET", "/admin/v1/doctor", () => doctor(parts)),
    adminEndpoint("POST", "/admin/v1/backup", ({ request }) =>
      backup(books, readBody(backupSchema, request.body).path),
    ),
  ];
}

function watchEndpoints({ readiness, metricsText, metricsContentType, metricsOpen }: AdminParts): EndpointSpec[] {
  const metrics = openEndpoint("/metrics", async () => ({
    status: 200,
    body: await metricsText(),
    headers: { "content-type": metricsContentType },
  }));
  return [
    { ...metrics, auth: metricsOpen ? "none" : "admin" },
    healthEndpoint(),
    openEndpoint("/readyz", async () => {
      const state = await readiness();
      return { status: state.ready ? 200 : 503, body: state };
    }),
  ];
}

export function adminEndpoints(parts: AdminParts): EndpointSpec[] {
  return [
    ...adminAccountEndpoints(parts),
    ...adminSharedEndpoints(parts),
    ...ledgerEndpoints(parts),
    ...watchEndpoints(parts),
  ];
}
