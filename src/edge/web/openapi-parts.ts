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

type Body = Readonly<Record<string, object>>;

interface More {
  readonly open?: true;
  /** Charged, so it can fail in the ways of paid calls. */
  readonly paid?: true;
  /** The main body fields by name; docs/reference/endpoints.md has all. */
  readonly body?: Body;
  readonly required?: readonly string[];
}
type Tag = "catalog" | "language models" | "account";
type Row = readonly [endpoint: string, id: string, summary: string];

const JSON_ANSWER = { description: "The answer.", content: { "application/json": { schema: { type: "object" } } } };

function failuresOf(tag: Tag, paid: boolean) {
  const isChat = tag === "language models";
  if (paid) return isChat ? references("Chat", CHAT_FAILED) : references("", FAILED);
  return { default: failure("What went wrong, by its code.", isChat ? CHAT_ERROR_REF : ERROR_REF) };
}

function operation(tag: Tag, path: string, [, id, summary]: Row) {
  const { open = false, paid = false, body, required = [] } = MORE[id] ?? {};
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const ofPaid = paid ? ["IdempotencyKey", ...(tag === "language models" ? ["MaxCost"] : [])] : [];
  const parameters = [
    ...names.map((name) => ({ name, in: "path", required: true, schema: TEXT })),
    ...ofPaid.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
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

function paths(table: Readonly<Record<Tag, readonly Row[]>>) {
  const all: Record<string, Record<string, object>> = {};
  for (const [tag, rows] of Object.entries(table) as [Tag, readonly Row[]][])
    for (const row of rows) {
      const [method = "", path = ""] = row[0].split(" ");
      all[path] = { ...all[path], [method.toLowerCase()]: operation(tag, path, row) };
    }
  return all;
}

const TEXT = { type: "string" };
const FLAG = { type: "boolean" };
const MODEL = { type: "string", description: "A slug, or core/cheap, core/mid, core/best." };
const PERIODS = ["day", "week", "month", null];
const CEILING = { ceiling_cents: { type: ["integer", "null"] }, ceiling_period: { enum: PERIODS } };
const FETCHED = { url: TEXT, method: TEXT, headers: { type: "object" }, body: {}, max_cost_cents: { type: "integer" } };
const CHAT = { messages: { type: "array", items: { type: "object" } }, stream: { type: ["boolean", "null"] } };

/** A call of a model with these fields. */
function call(fields: Body, required = Object.keys(fields)): More {
  return { paid: true, body: { model: MODEL, ...fields, max_cost_cents: MAX_COST }, required };
}

const MORE: Readonly<Record<string, More>> = {
  list_actions: { open: true },
  describe_action: { open: true },
  call_action: { paid: true, body: {} },
  fetch_address: { paid: true, body: FETCHED },
  get_catalog: { open: true },
  create_chat_completion: call(CHAT, ["model", "messages"]),
  create_embeddings: call({ input: {} }, ["model", "input"]),
  create_image: call({ prompt: TEXT }),
  create_speech: call({ input: TEXT, voice: {} }),
  create_completion: call({ prompt: TEXT }),
  create_rerank: call({ query: TEXT, documents: { type: "array" } }),
  create_moderation: call({ input: {} }),
  list_models: { open: true },
  get_pricing: { open: true },
  put_provider_key: { body: { key: TEXT, fallback: FLAG } },
  create_key: { body: { label: TEXT, external_id: TEXT, ...CEILING } },
  change_key: { body: { label: TEXT, paused: FLAG, ...CEILING } },
  rotate_key: { body: { overlap_seconds: INTEGER } },
};

const LLM = "/api/llm/v1";
const OWN_KEY = "/api/v1/provider-keys/{provider}";
const WIRE = "OpenAI's wire format";
/** All public endpoints that are not actions with one fixed price. */
export const OTHER_PATHS = paths({
  catalog: [
    ["GET /api/run", "list_actions", "Every action, in brief"],
    ["GET /api/run/{service}/{action}", "describe_action", "One action: price, params, example"],
    ["POST /api/run/{service}/{action}", "call_action", "Calls any action, its params as the body"],
    [
      "POST /api/v1/fetch",
      "fetch_address",
      "Sends a request to a public address, and pays its 402: the action core/fetch",
    ],
    ["GET /api/catalog", "get_catalog", "Services, models and tiers"],
  ],
  "language models": [
    [`POST ${LLM}/chat/completions`, "create_chat_completion", `Chat completions in ${WIRE}, streamed or whole`],
    [`POST ${LLM}/embeddings`, "create_embeddings", `Embeddings in ${WIRE}`],
    [`POST ${LLM}/images/generations`, "create_image", `Images from words, in ${WIRE}`],
    [`POST ${LLM}/audio/speech`, "create_speech", `Text to sound, in ${WIRE}`],
    [`POST ${LLM}/completions`, "create_completion", "Bare completions, in OpenAI's older wire format"],
    [`POST ${LLM}/rerank`, "create_rerank", "Documents in the order of a query"],
    [`POST ${LLM}/moderations`, "create_moderation", "What is wrong with texts and pictures; free"],
    [`GET ${LLM}/models`, "list_models", "Every model"],
    [`GET ${LLM}/pricing`, "get_pricing", "Prices of models, and what tiers try"],
  ],
  account: [
    [`GET ${LLM}/key`, "get_key", "The key's ceiling and spend, in USD"],
    [`GET ${LLM}/credits`, "get_credits", "What was granted and spent, in USD"],
    [`GET ${LLM}/generation`, "get_generation", "What one call has cost"],
    ["GET /api/v1/account", "get_account", "Balance and key"],
    ["GET /api/v1/transactions", "list_transactions", "What was charged, newest first"],
    ["GET /api/v1/transactions/{id}", "get_transaction", "One receipt"],
    ["GET /api/v1/usage", "get_usage", "Who spent what, from daily sums"],
    ["GET /api/v1/provider-keys", "list_provider_keys", "The account's own keys at providers, and the fee"],
    [`PUT ${OWN_KEY}`, "put_provider_key", "Calls of the account use its own key of this provider first"],
    [`DELETE ${OWN_KEY}`, "delete_provider_key", "The account's own key is used no more"],
    ["GET /api/v1/agents", "list_keys", "Keys with their ceilings and what they spent"],
    ["POST /api/v1/agents", "create_key", "A new key with a ceiling; its secret is shown once"],
    ["PATCH /api/v1/agents/{id}", "change_key", "Changes label, ceiling or pause"],
    ["DELETE /api/v1/agents/{id}", "revoke_key", "Revokes a key"],
    ["POST /api/v1/agents/{id}/rotate", "rotate_key", "A new secret in place; the old one stays good for an overlap"],
    ["GET /api/v1/agents/{id}/why", "explain_key", "Why calls of a key are refused, or would be"],
  ],
});
