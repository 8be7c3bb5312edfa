// What the operator does with accounts: open, look at, change, credit; and with their keys.
import { z } from "zod";
import { type AccountLimits, type AccountRow, KEYS_PER_ACCOUNT_MAX } from "../../core/account-rows.ts";
import type { Answer, Call, EndpointShape, EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { centsDown, type Nano, nanoFromCents } from "../../core/money.ts";
import type { Books } from "./books.ts";
import { changed } from "./changed.ts";
import { centsSchema } from "./keys.ts";
import { accountPageSchema, keyPageSchema, listAccounts, listKeys } from "./list-pages.ts";
import { nameSchema, openAccount, WELCOME_CENTS } from "./open-account.ts";
import type { AccountParts } from "./own-endpoint.ts";
import { ofBody, readBody, readQuery } from "./read-body.ts";
import { accountRow, keyRow } from "./rows.ts";
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
  credit_cents: centsSchema.optional(),
});

const accountChangeSchema = z.strictObject({
  name: nameSchema.optional(),
  frozen: z.boolean("must be true or false").optional(),
  strict_bounds: z.boolean("must be true or false").optional(),
  inference_cap_cents: centsSchema.optional(),
  rate_limit: z
    .strictObject({ requests_per_minute: count(10_000_000).optional(), in_flight: count(1_000_000).optional() })
    .optional(),
});

const creditSchema = z.strictObject({ cents: centsSchema.min(1, "must be at least 1"), reference });

export interface AdminAccountParts extends AccountParts {
  /** What a new account may do. */
  readonly limits: AccountLimits;
  /** Where the ledger counts what calls cost us unpaid, and what they paid above our cost; `maxNano` bounds the first, null: nothing. */
  readonly unpaid: { readonly scope: string; readonly marginScope: string; readonly maxNano: Nano | null };
  /** False: no sandbox accounts can be opened. */
  readonly sandbox: boolean;
}

type Answering = (call: Call) => Promise<Answer | GatewayError>;

/** To the operator a ledger that is away says why: it is his to mend. A caller hears only that it is. */
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

function noSuchAccount(): GatewayError {
  return new GatewayError("not_found", { of: "account", detail: { detail: "There is no such account." } });
}

async function openByOperator(parts: AdminAccountParts, body: z.output<typeof newAccountSchema>) {
  const { kind } = body;
  if (kind === "sandbox" && !parts.sandbox) {
    const detail = { detail: "kind: this gateway has no sandbox accounts (SANDBOX=0)." };
    return new GatewayError("bad_request", { detail, param: "kind" });
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
  return account === null ? noSuchAccount() : { status: 200, body: accountRow(account) };
}

async function credit(books: Books, accountId: string, body: z.output<typeof creditSchema>) {
  const result = await books.topUp(accountId, mintId("tx_"), nanoFromCents(body.cents), body.reference);
  if ("balanceNano" in result) {
    const balance_cents = centsDown(result.balanceNano);
    return { status: 200, body: { account_id: accountId, balance_cents, repeated: result.outcome === "exists" } };
  }
  if (result.outcome === "unknown_account") return noSuchAccount();
  const detail = { detail: "cents: more than an account can ever be granted." };
  return new GatewayError("bad_request", { detail, param: "cents" });
}

type OfAccount = (account: AccountRow, call: Call) => ReturnType<Answering>;

/** Finds the account that the path names, for steps that need to know its kind. */
export function withAccount({ books }: Pick<AdminAccountParts, "books">, next: OfAccount): Answering {
  return async (call) => {
    const account = await books.account(call.request.params.id ?? "");
    return account === null ? noSuchAccount() : next(account, call);
  };
}

/** The same for a step that changes something of it. */
export function changingAccount(parts: Pick<AdminAccountParts, "books" | "forget">, change: OfAccount): Answering {
  return withAccount(parts, (account, call) =>
    changed(
      () => change(account, call),
      () => parts.forget(account.accountId),
    ),
  );
}

/** What the account's calls of today have cost us above their charge, and what may come to that before further ones are refused. */
async function unpaidToday({ books, unpaid }: AdminAccountParts, accountId: string) {
  const [today, margin] = await books.spentToday(accountId, [unpaid.scope, unpaid.marginScope]);
  return { today_nano_usd: today, margin_nano_usd: margin, bound_nano_usd: unpaid.maxNano };
}

function accountRoutes(parts: AdminAccountParts): EndpointSpec[] {
  const { books, forget } = parts;
  return [
    adminEndpoint("POST", "/admin/v1/accounts", ({ request }) =>
      ofBody(newAccountSchema, request, (body) => openByOperator(parts, body)),
    ),
    adminEndpoint("GET", "/admin/v1/accounts", async ({ request }) => {
      const page = readQuery(accountPageSchema, request.query);
      if (page instanceof GatewayError) return page;
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
      if (body instanceof GatewayError) return body;
      const accountId = request.params.id ?? "";
      return changed(
        () => patchAccount(books, accountId, body),
        () => forget(accountId),
      );
    }),
    adminEndpoint("POST", "/admin/v1/accounts/{id}/credits", ({ request }) =>
      ofBody(creditSchema, request, (body) => credit(books, request.params.id ?? "", body)),
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
        if (page instanceof GatewayError) return page;
        const { keys, next } = await listKeys(books, account.accountId, page);
        const ruled = await rulesOf(parts.rules, account.accountId);
        return { status: 200, body: { keys: keys.map((key) => keyRow(key, ruled)), next_cursor: next } };
      }),
    ),
    adminEndpoint(
      "GET",
      "/admin/v1/accounts/{id}/keys/{key}/why",
      withAccount(parts, async (account, { request }) => {
        const asked = readQuery(whySchema, request.query);
        return asked instanceof GatewayError ? asked : whyAnswer(parts, account, request.params.key ?? "", asked);
      }),
    ),
  ];
}

/** The endpoints below `/admin/v1/accounts`. */
export function adminAccountEndpoints(parts: AdminAccountParts): EndpointSpec[] {
  return [...accountRoutes(parts), ...keyRoutes(parts)];
}
