// The parts of the OpenAPI document that no action decides: envelope, error, the answers of every call, and the other endpoints.

const ENVELOPE_REF = { $ref: "#/components/schemas/Envelope" };
const ERROR_REF = { $ref: "#/components/schemas/Error" };

function failure(description: string, headers?: object) {
  return {
    description,
    ...(headers === undefined ? {} : { headers }),
    content: { "application/json": { schema: ERROR_REF } },
  };
}

const INTEGER = { type: "integer", minimum: 0 };
const RETRY_AFTER = {
  "Retry-After": {
    description: "Seconds to wait before the next try.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
};

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
        error: { type: "string", description: "A stable code." },
        message: { type: "string" },
        hint: { type: "string", description: "What to do next." },
        data: { description: "What is known about it: the fields that are wrong, what would have been possible." },
      },
    },
  },
  responses: {
    Success: { description: "It worked and was charged.", content: { "application/json": { schema: ENVELOPE_REF } } },
    BadRequest: failure("The params are wrong; the message names the field. Not charged."),
    InvalidToken: failure("The key is missing or revoked. Not charged."),
    PaymentRequired: failure("Balance, key ceiling or max_cost_cents leave no room for the price. Nothing ran."),
    TooManyRequests: failure("Too many requests, or too many in flight. Not charged.", RETRY_AFTER),
    UpstreamError: failure("The vendor or the gateway failed. Not charged."),
  },
};

interface Brief {
  readonly id: string;
  readonly summary: string;
  readonly tag: "catalog" | "language models" | "account";
  readonly open?: boolean;
  /** Names of the fields of the body that are looked for first; the README has them all. */
  readonly body?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

const JSON_ANSWER = { description: "The answer.", content: { "application/json": { schema: { type: "object" } } } };

function brief({ id, summary, tag, open = false, body, required = [] }: Brief, path: string) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const schema = { type: "object", properties: body, ...(required.length === 0 ? {} : { required }) };
  return {
    operationId: id,
    summary,
    tags: [tag],
    security: open ? [] : [{ bearer: [] }],
    ...(names.length === 0
      ? {}
      : { parameters: names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })) }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: { "application/json": { schema } } } }),
    responses: { "200": JSON_ANSWER, default: failure("What went wrong, by its code.") },
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

/** Everything public that is no action with one fixed price. */
export const OTHER_PATHS = paths({
  "/api/run": { get: { id: "list_actions", summary: "Every action, in brief", tag: "catalog", open: true } },
  "/api/run/{service}/{action}": {
    get: { id: "describe_action", summary: "One action: price, params, example", tag: "catalog", open: true },
    post: { id: "call_action", summary: "Calls any action, its params as the body", tag: "catalog", body: {} },
  },
  "/api/catalog": { get: { id: "get_catalog", summary: "Services, models and tiers", tag: "catalog", open: true } },
  "/api/llm/v1/chat/completions": {
    post: {
      id: "create_chat_completion",
      summary: "Chat completions in OpenAI's wire format, streamed or whole",
      tag: "language models",
      body: { model: MODEL, messages: { type: "array", items: { type: "object" } }, stream: { type: "boolean" } },
      required: ["model", "messages"],
    },
  },
  "/api/llm/v1/embeddings": {
    post: {
      id: "create_embeddings",
      summary: "Embeddings in OpenAI's wire format",
      tag: "language models",
      body: { model: MODEL, input: {} },
      required: ["model", "input"],
    },
  },
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
  "/api/v1/agents/{id}/rotate": { post: { id: "rotate_key", summary: "A new secret in place", tag: "account" } },
});
