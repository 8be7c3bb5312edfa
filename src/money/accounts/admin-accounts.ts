// The operator's endpoints for accounts and their keys: open, show, change, credit.
import { z } from "zod";
import { type AccountLimits, type AccountRow, KEYS_PER_ACCOUNT_MAX } from "../../core/account-rows.ts";
import type { Answer, Call, EndpointShape, EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { centsDown, type Nano, nanoFromCents } from "../../core/money.ts";
import type { Books } from "./books.ts";
import { changed } from "./changed.ts";
import { accountPageSchema, keyPageSchema, listAccounts, listKeys } from "./list-pages.ts";
import { nameSchema, openAccount, WELCOME_CENTS } from "./open-account.ts";
import { type AccountParts, missing } from "./own-endpoint.ts";
import { readBody, readQuery } from "./read-body.ts";
import { accountRow, keyRow } from "./rows.ts";
import { centsField } from "./rule-fields.ts";
import { rulesOf } from "./rules.ts";
import { mintId } from "./secrets.ts";
import { whyAnswer, whySchema } from "./why.ts";

const BODY_BYTES_MAX = 64 * 1024;

const reference = z.string().min(1, "must not be empty").max(200, "must have at most 200 characters");
const count = (max: number) =>
  z
    .number("must be a number")
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(max, `must be at most ${max}`);

const newAccountSchema = z.strictObject({
  name: nameSchema,
  kind: z.enum(["personal", "business", "sandbox"], "must be personal, business or sandbox").default("personal"),
  credit_cents: centsField.optional(),
});

const accountChangeSchema = z.strictObject({
  name: nameSchema.optional(),
  frozen: z.boolean("must be true or false").optional(),
  strict_bounds: z.boolean("must be true or false").optional(),
  inference_cap_cents: centsField.optional(),
  rate_limit: z
    .strictObject({ requests_per_minute: count(10_000_000).optional(), in_flight: count(1_000_000).optional() })
    .optional(),
});

const creditSchema = z.strictObject({ cents: centsField.min(1, "must be at least 1"), reference });

export interface AdminAccountParts extends AccountParts {
  readonly limits: AccountLimits;
  /** The scopes in which the ledger counts the unpaid cost of calls and our margin; `maxNano` limits the former, null: no limit. */
  readonly unpaid: { readonly scope: string; readonly marginScope: string; readonly maxNano: Nano | null };
  /** False: sandbox accounts cannot be opened. */
  readonly sandbox: boolean;
}

type Answering = (call: Call) => Promise<Answer>;

/** Tells the operator why the ledger is unavailable. Callers learn only that it is. */
function withReason(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.code !== "ledger_unavailable") return error;
  const { cause, data } = error.options;
  if (!(cause instanceof Error) || data?.reason !== undefined) return error;
  const reason = `Why: ${cause.message}.`;
  return new GatewayError(error.code, { ...error.options, data: { ...data, reason } });
}

export function adminEndpoint(method: EndpointShape["method"], path: string, answer: Answering): EndpointSpec {
  async function answerOrSayWhy(call: Call): ReturnType<Answering> {
    try {
      return await answer(call);
    } catch (error) {
      throw withReason(error);
    }
  }
  return { method, path, auth: "admin", bodyBytesMax: BODY_BYTES_MAX, answer: answerOrSayWhy };
}

export function noSuchAccount(): GatewayError {
  return missing("account", "There is no such account.");
}

async function openByOperator(parts: AdminAccountParts, body: z.output<typeof newAccountSchema>) {
  const { kind } = body;
  if (kind === "sandbox" && !parts.sandbox) {
    const detail = "kind: this gateway has no sandbox accounts (SANDBOX=0).";
    throw new GatewayError("bad_request", { detail, param: "kind" });
  }
  const creditNano = nanoFromCents(body.credit_cents ?? WELCOME_CENTS[kind]);
  return openAccount(parts, { name: body.name, kind, creditNano });
}

async function patchAccount(books: Books, accountId: string, body: z.output<typeof accountChangeSchema>) {
  const rate = body.rate_limit ?? {};
  const cap = body.inference_cap_cents;
  const account = await books.patchAccount(accountId, {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.frozen === undefined ? {} : { frozen: body.frozen }),
    ...(body.strict_bounds === undefined ? {} : { strictBounds: body.strict_bounds }),
    ...(cap === undefined ? {} : { inferenceCapNano: nanoFromCents(cap) }),
    ...(rate.requests_per_minute === undefined ? {} : { requestsPerMinute: rate.requests_per_minute }),
    ...(rate.in_flight === undefined ? {} : { inFlightMax: rate.in_flight }),
  });
  if (account === null) throw noSuchAccount();
  return { status: 200, body: accountRow(account) };
}

async function credit(books: Books, accountId: string, body: z.output<typeof creditSchema>) {
  const result = await books.topUp(accountId, mintId("tx_"), nanoFromCents(body.cents), body.reference);
  if ("balanceNano" in result) {
    const balance_cents = centsDown(result.balanceNano);
    return { status: 200, body: { account_id: accountId, balance_cents, repeated: result.outcome === "exists" } };
  }
  if (result.outcome === "unknown_account") throw noSuchAccount();
  const detail = "cents: more than an account can ever be granted.";
  throw new GatewayError("bad_request", { detail, param: "cents" });
}

type OfAccount = (account: AccountRow, call: Call) => ReturnType<Answering>;

export function withAccount({ books }: Pick<AdminAccountParts, "books">, next: OfAccount): Answering {
  return async (call) => {
    const account = await books.account(call.request.params.id ?? "");
    if (account === null) throw noSuchAccount();
    return next(account, call);
  };
}

export function changingAccount(parts: Pick<AdminAccountParts, "books" | "forget">, change: OfAccount): Answering {
  return withAccount(parts, (account, call) =>
    changed(
      () => change(account, call),
      () => parts.forget(account.accountId),
    ),
  );
}

/** The cost of the account's calls today above their charges, and its limit. */
async function unpaidToday({ books, unpaid }: AdminAccountParts, accountId: string) {
  const [today, margin] = await books.spentToday(accountId, [unpaid.scope, unpaid.marginScope]);
  return { today_nano_usd: today, margin_nano_usd: margin, bound_nano_usd: unpaid.maxNano };
}

function accountRoutes(parts: AdminAccountParts): EndpointSpec[] {
  const { books, forget } = parts;
  return [
    adminEndpoint("POST", "/admin/v1/accounts", ({ request }) =>
      openByOperator(parts, readBody(newAccountSchema, request.body)),
    ),
    adminEndpoint("GET", "/admin/v1/accounts", async ({ request }) => {
      const page = readQuery(accountPageSchema, request.query);
      const { accounts, next } = await listAccounts(books, page);
      return { status: 200, body: { accounts: accounts.map(accountRow), next_cursor: next } };
    }),
    adminEndpoint(
      "GET",
      "/admin/v1/accounts/{id}",
      withAccount(parts, async (account) => {
        const { keys, next } = await listKeys(books, account.accountId, { limit: KEYS_PER_ACCOUNT_MAX });
        const unpaid = await unpaidToday(parts, account.accountId);
        const ruled = await rulesOf(parts.rules, account.accountId);
        return {
          status: 200,
          body: { ...accountRow(account), unpaid, keys: keys.map((key) => keyRow(key, ruled)), next_key_cursor: next },
        };
      }),
    ),
    adminEndpoint("PATCH", "/admin/v1/accounts/{id}", async ({ request }) => {
      const body = readBody(accountChangeSchema, request.body);
      const accountId = request.params.id ?? "";
      return changed(
        () => patchAccount(books, accountId, body),
        () => forget(accountId),
      );
    }),
    adminEndpoint("POST", "/admin/v1/accounts/{id}/credits", ({ request }) =>
      credit(books, request.params.id ?? "", readBody(creditSchema, request.body)),
    ),
  ];
}

function keyRoutes(parts: AdminAccountParts): EndpointSpec[] {
  const { books } = parts;
  return [
    adminEndpoint(
      "GET",
      "/admin/v1/accounts/{id}/keys",
      withAccount(parts, async (account, { request }) => {
        const page = readQuery(keyPageSchema, request.query);
        const { keys, next } = await listKeys(books, account.accountId, page);
        const ruled = await rulesOf(parts.rules, account.accountId);
        return { status: 200, body: { keys: keys.map((key) => keyRow(key, ruled)), next_cursor: next } };
      }),
    ),
    adminEndpoint(
      "GET",
      "/admin/v1/accounts/{id}/keys/{key}/why",
      withAccount(parts, async (account, { request }) => {
        return whyAnswer(parts, account, request.params.key ?? "", readQuery(whySchema, request.query));
      }),
    ),
  ];
}

export function adminAccountEndpoints(parts: AdminAccountParts): EndpointSpec[] {
  return [...accountRoutes(parts), ...keyRoutes(parts)];
}
