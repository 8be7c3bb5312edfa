// The fixed parts of the OpenAPI document: envelope, errors, the answers of every call, and the endpoints that are not actions.

import { ERRORS } from "../../core/errors.ts";
import { MAX_COST_CENTS } from "../../models/formats/max-cost.ts";

const ENVELOPE_REF = { $ref: "#/components/schemas/Envelope" };
const ERROR_REF = { $ref: "#/components/schemas/Error" };
const CHAT_ERROR_REF = { $ref: "#/components/schemas/ChatError" };

type Headers = Readonly<Record<string, object>>;

function failure(description: string, schema: object, headers?: Headers) {
  return { description, ...(headers === undefined ? {} : { headers }), content: { "application/json": { schema } } };
}

const INTEGER = { type: "integer", minimum: 0 };

function retryAfter(required: boolean): Headers {
  const description = "Seconds to wait before the next try.";
  return { "Retry-After": { description, required, schema: { type: "integer", minimum: 1 } } };
}

/** The maximum cost, a body field of every paid call. */
export const MAX_COST = {
  type: ["integer", "null"],
  minimum: 0,
  maximum: MAX_COST_CENTS,
  description:
    "The most this call may cost, in cents. Where its price could be more, it is refused and nothing runs; `needed_cents` would do.",
} as const;

/** How a call can fail, by status: the response's name and its description. */
const FAILED: Readonly<Record<string, readonly [name: string, words: string, headers?: Headers]>> = {
  "400": ["BadRequest", "The params are wrong; the message names the field. Not charged."],
  "401": ["InvalidToken", "The key is missing or revoked. Not charged."],
  "402": ["PaymentRequired", "Balance, key ceiling or max_cost_cents leave no room for the price. Nothing ran."],
  "403": ["Forbidden", "The key is paused or may not call this, or the account is frozen. Not charged."],
  "404": ["NotFound", "There is no such action, model or id. Not charged."],
  "409": [
    "Conflict",
    "A call with this Idempotency-Key is running or its outcome is not known, or the vendor takes fewer calls at once. Not charged.",
    retryAfter(false),
  ],
  "413": ["TooLarge", "The body is too large, or the account's room for files is used up. Not charged."],
  "415": ["UnsupportedMedia", "The body is not uncompressed JSON. Not charged."],
  "422": [
    "IdempotencyMismatch",
    "This Idempotency-Key was used with another body, or the vendor refused the values. Not charged.",
  ],
  "429": ["TooManyRequests", "Too many requests, or too many in flight. Not charged.", retryAfter(true)],
  "500": ["UpstreamError", "The vendor or the gateway failed. Not charged."],
  "503": ["Unavailable", "No provider of it is configured, or the ledger is away. Not charged.", retryAfter(false)],
};
/** Further failures of language models. */
const CHAT_FAILED: typeof FAILED = {
  ...FAILED,
  "502": ["BadGateway", "No provider could answer. Not charged."],
  "504": ["GatewayTimeout", "No provider answered in time. Not charged."],
};

function named(prefix: string, table: typeof FAILED, schema: object) {
  return Object.fromEntries(
    Object.values(table).map(([name, words, headers]) => [`${prefix}${name}`, failure(words, schema, headers)]),
  );
}

function references(prefix: string, table: typeof FAILED) {
  return Object.fromEntries(
    Object.entries(table).map(([status, [name]]) => [status, { $ref: `#/components/responses/${prefix}${name}` }]),
  );
}

/** The answers of every call of an action. */
export const RESPONSES = { "200": { $ref: "#/components/responses/Success" }, ...references("", FAILED) };

const CODES = Object.keys(ERRORS);

export const COMPONENTS = {
  securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "A key, tg_sk_..." } },
  parameters: {
    IdempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      description:
        "Makes the call happen once: a retry with the same key and body gets the first answer and no charge.",
      schema: { type: "string", minLength: 1, maxLength: 255 },
    },
    MaxCost: {
      name: "x-tollgate-max-cost-cents",
      in: "header",
      description: "max_cost_cents for clients that cannot add a field to the body; of both the smaller one counts.",
      schema: { type: "integer", minimum: 0, maximum: MAX_COST_CENTS },
    },
  },
  schemas: {
    Envelope: {
      type: "object",
      required: ["ok", "data", "charged_cents"],
      properties: {
        ok: { const: true },
        data: { description: "The result, passed through." },
        charged_cents: { ...INTEGER, description: "What the call cost." },
        balance_remaining_cents: { type: "integer", description: "The balance after the call; with a key." },
        transaction_id: { type: "string", description: "The receipt." },
      },
    },
    Error: {
      type: "object",
      required: ["error"],
      properties: {
        ok: { const: false },
        error: { type: "string", description: "A stable code.", examples: CODES },
        message: { type: "string" },
        hint: { type: "string", description: "What to do next." },
        data: { description: "What is known about it: the fields that are wrong, what would have been possible." },
        charged_cents: { const: 0, description: "Of a call of an action: a failure is not charged." },
        balance_remaining_cents: { type: "integer", description: "Of a call of an action: what the account has left." },
      },
    },
    ChatError: {
      type: "object",
      required: ["error"],
      properties: {
        error: {
          type: "object",
          description: "As OpenAI's clients expect it.",
          required: ["message", "type", "param", "code", "hint"],
          properties: {
            message: { type: "string" },
            type: { type: "string", description: "OpenAI's coarse type, such as invalid_request_error." },
            param: { type: ["string", "null"], description: "The field at fault." },
            code: { type: "string", description: "A stable code.", examples: CODES },
            hint: { type: "string", description: "What to do next." },
            metadata: { type: "object", description: "What is known about it, as `data` of the other errors." },
          },
        },
      },
    },
  },
  responses: {
    Success: { description: "It worked and was charged.", content: { "application/json": { schema: ENVELOPE_REF } } },
    ...named("", FAILED, ERROR_REF),
    ...named("Chat", CHAT_FAILED, CHAT_ERROR_REF),
  },
};

interface Brief {
  readonly id: string;
  readonly summary: string;
  readonly tag: "catalog" | "language models" | "account";
  readonly open?: boolean;
  /** Charged, so it can fail in the ways of paid calls. */
  readonly paid?: boolean;
  /** The main body fields by name; docs/reference/endpoints.md has all. */
  readonly body?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

const JSON_ANSWER = { description: "The answer.", content: { "application/json": { schema: { type: "object" } } } };

function failuresOf(tag: Brief["tag"], paid: boolean) {
  const isChat = tag === "language models";
  if (paid) return isChat ? references("Chat", CHAT_FAILED) : references("", FAILED);
  return { default: failure("What went wrong, by its code.", isChat ? CHAT_ERROR_REF : ERROR_REF) };
}

function parametersOf(path: string, tag: Brief["tag"], paid: boolean): readonly object[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const ofPaid = ["IdempotencyKey", ...(tag === "language models" ? ["MaxCost"] : [])];
  return [
    ...names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
    ...(paid ? ofPaid : []).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function brief({ id, summary, tag, open = false, paid = false, body, required = [] }: Brief, path: string) {
  const parameters = parametersOf(path, tag, paid);
  const schema = { type: "object", properties: body, ...(required.length === 0 ? {} : { required }) };
  return {
    operationId: id,
    summary,
    tags: [tag],
    security: open ? [] : [{ bearer: [] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: { "application/json": { schema } } } }),
    responses: { "200": JSON_ANSWER, ...failuresOf(tag, paid) },
  };
}

function paths(table: Readonly<Record<string, Readonly<Record<string, Brief>>>>) {
  return Object.fromEntries(
    Object.entries(table).map(([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([method, one]) => [method, brief(one, path)])),
    ]),
  );
}

const MODEL = { type: "string", description: "A slug, or core/cheap, core/mid, core/best." };
const CEILING = {
  ceiling_cents: { type: ["integer", "null"] },
  ceiling_period: { enum: ["day", "week", "month", null] },
};

const TEXT = { type: "string" };

/** Endpoints of models sold by units: a model and its input. */
function unitPaths(
  rows: readonly (readonly [path: string, id: string, summary: string, body: Readonly<Record<string, object>>])[],
) {
  const briefs = rows.map(([path, id, summary, asked]) => {
    const body = { model: MODEL, ...asked, max_cost_cents: MAX_COST };
    const post: Brief = { id, summary, tag: "language models", paid: true, body, required: Object.keys(asked) };
    return [`/api/llm/v1${path}`, { post }] as const;
  });
  return Object.fromEntries(briefs);
}

/** All public endpoints that are not actions with one fixed price. */
export const OTHER_PATHS = paths({
  "/api/run": { get: { id: "list_actions", summary: "Every action, in brief", tag: "catalog", open: true } },
  "/api/run/{service}/{action}": {
    get: { id: "describe_action", summary: "One action: price, params, example", tag: "catalog", open: true },
    post: {
      id: "call_action",
      summary: "Calls any action, its params as the body",
      tag: "catalog",
      body: {},
      paid: true,
    },
  },
  "/api/v1/fetch": {
    post: {
      id: "fetch_address",
      summary: "Sends a request to a public address, and pays its 402: the action core/fetch",
      tag: "catalog",
      body: {
        url: TEXT,
        method: { type: "string" },
        headers: { type: "object" },
        body: {},
        max_cost_cents: { type: "integer" },
      },
      paid: true,
    },
  },
  "/api/catalog": { get: { id: "get_catalog", summary: "Services, models and tiers", tag: "catalog", open: true } },
  "/api/llm/v1/chat/completions": {
    post: {
      id: "create_chat_completion",
      summary: "Chat completions in OpenAI's wire format, streamed or whole",
      tag: "language models",
      paid: true,
      body: {
        model: MODEL,
        messages: { type: "array", items: { type: "object" } },
        stream: { type: ["boolean", "null"] },
        max_cost_cents: MAX_COST,
      },
      required: ["model", "messages"],
    },
  },
  "/api/llm/v1/embeddings": {
    post: {
      id: "create_embeddings",
      summary: "Embeddings in OpenAI's wire format",
      tag: "language models",
      paid: true,
      body: { model: MODEL, input: {}, max_cost_cents: MAX_COST },
      required: ["model", "input"],
    },
  },
  ...unitPaths([
    ["/images/generations", "create_image", "Images from words, in OpenAI's wire format", { prompt: TEXT }],
    ["/audio/speech", "create_speech", "Text to sound, in OpenAI's wire format", { input: TEXT, voice: {} }],
    ["/completions", "create_completion", "Bare completions, in OpenAI's older wire format", { prompt: TEXT }],
    ["/rerank", "create_rerank", "Documents in the order of a query", { query: TEXT, documents: { type: "array" } }],
    ["/moderations", "create_moderation", "What is wrong with texts and pictures; free", { input: {} }],
  ]),
  "/api/llm/v1/key": { get: { id: "get_key", summary: "The key's ceiling and spend, in USD", tag: "account" } },
  "/api/llm/v1/credits": { get: { id: "get_credits", summary: "What was granted and spent, in USD", tag: "account" } },
  "/api/llm/v1/generation": { get: { id: "get_generation", summary: "What one call has cost", tag: "account" } },
  "/api/llm/v1/models": { get: { id: "list_models", summary: "Every model", tag: "language models", open: true } },
  "/api/llm/v1/pricing": {
    get: { id: "get_pricing", summary: "Prices of models, and what tiers try", tag: "language models", open: true },
  },
  "/api/v1/account": { get: { id: "get_account", summary: "Balance and key", tag: "account" } },
  "/api/v1/transactions": {
    get: { id: "list_transactions", summary: "What was charged, newest first", tag: "account" },
  },
  "/api/v1/transactions/{id}": { get: { id: "get_transaction", summary: "One receipt", tag: "account" } },
  "/api/v1/usage": { get: { id: "get_usage", summary: "Who spent what, from daily sums", tag: "account" } },
  "/api/v1/provider-keys": {
    get: { id: "list_provider_keys", summary: "The account's own keys at providers, and the fee", tag: "account" },
  },
  "/api/v1/provider-keys/{provider}": {
    put: {
      id: "put_provider_key",
      summary: "Calls of the account use its own key of this provider first",
      tag: "account",
      body: { key: { type: "string" }, fallback: { type: "boolean" } },
    },
    delete: { id: "delete_provider_key", summary: "The account's own key is used no more", tag: "account" },
  },
  "/api/v1/agents": {
    get: { id: "list_keys", summary: "Keys with their ceilings and what they spent", tag: "account" },
    post: {
      id: "create_key",
      summary: "A new key with a ceiling; its secret is shown once",
      tag: "account",
      body: { label: { type: "string" }, external_id: { type: "string" }, ...CEILING },
    },
  },
  "/api/v1/agents/{id}": {
    patch: {
      id: "change_key",
      summary: "Changes label, ceiling or pause",
      tag: "account",
      body: { label: { type: "string" }, paused: { type: "boolean" }, ...CEILING },
    },
    delete: { id: "revoke_key", summary: "Revokes a key", tag: "account" },
  },
  "/api/v1/agents/{id}/rotate": {
    post: {
      id: "rotate_key",
      summary: "A new secret in place; the old one stays good for an overlap",
      tag: "account",
      body: { overlap_seconds: { type: "integer", minimum: 0 } },
    },
  },
  "/api/v1/agents/{id}/why": {
    get: { id: "explain_key", summary: "Why calls of a key are refused, or would be", tag: "account" },
  },
});
