// The closed table of errors: status, whether a retry can help, message, and hint.

export interface ErrorRow {
  readonly status: number;
  /** The same request can succeed later; becomes `x-should-retry`. */
  readonly retry?: true;
  /** The message for the caller; `{name}` is filled in from the detail. */
  readonly message: string;
  /** What the caller can do next. */
  readonly hint: string;
  /** Hints for particular kinds of things, chosen by `ErrorOptions.of`. */
  readonly hints?: Readonly<Record<string, string>>;
}

export const ERRORS = {
  bad_request: {
    status: 400,
    message: "{detail}",
    hint: "Correct the field named in the message and send the request again.",
  },
  bad_url: {
    status: 400,
    message: "The URL {detail}.",
    hint: "Send an http or https address that is public on the internet. Nothing was charged.",
  },
  onescrape_social: {
    status: 400,
    message: "The URL {detail}.",
    hint: "Other actions read posts and profiles: search core/discover for the platform. Nothing was charged.",
  },
  onescrape_document: {
    status: 400,
    message: "The URL {detail}.",
    hint: "Only pages are read here: files/upload_from_url fetches a document as it is. Nothing was charged.",
  },
  onefind_identifier: {
    status: 400,
    message: "The query {detail}.",
    hint: "Send it to core/onefind-deep as one of its rows: that action identifies the person. Nothing was charged.",
  },
  unsupported_field: {
    status: 400,
    message: "The field {param} changes the price and is not priced here: {detail}",
    hint: "Leave the field out.",
    hints: { suffix: "Ask for the model without the suffix." },
  },
  upstream_rejected: {
    status: 400,
    message: "The provider refused the request: {detail}",
    hint: "Change the request as the provider's message says. Nothing was charged.",
  },
  context_length_exceeded: {
    status: 400,
    // Clients that switch to a model with a longer context recognize this error only by OpenAI's words.
    message:
      "This model's maximum context length is shorter than the prompt, and so is that of every other that was asked.",
    hint: "Shorten the messages or choose a model with a larger context_length.",
  },
  content_policy_violation: {
    status: 400,
    message: "The model's provider refused the content: {detail}",
    hint: "Change the content. Nothing was charged.",
  },
  guard_refused: {
    status: 403,
    message: "The operator's guard refused the {stage}. {detail}",
    hint: "Change the request. Nothing was charged.",
  },
  previous_response_not_found: {
    status: 400,
    message: "No response of this id is kept.",
    hint: "To continue from an answer, send store: true with its request: the answer is kept for a day. Or send the whole input.",
  },
  websocket_connection_limit_reached: {
    status: 400,
    retry: true,
    message: "This connection has been open for {minutes} minutes, which is the limit.",
    hint: "Open another one and send the whole input, or continue from an answer that was kept with store: true.",
  },
  invalid_token: {
    status: 401,
    message: "{detail}",
    hint: "Send `Authorization: Bearer tg_sk_...` with a key that has not been revoked; the operator makes one with `tollgate account create`.",
    hints: {
      grant: "Refresh the access token, or ask its person again: the WWW-Authenticate header says where.",
      admin:
        "Send `Authorization: Bearer ...` with the admin token: ADMIN_TOKEN, or what lies in admin.token of DATA_DIR. A caller's key (tg_sk_...) does not open this.",
    },
  },
  payment_required: {
    status: 402,
    message: "{detail}",
    hint: "Pay what the PAYMENT-REQUIRED header asks for (x402) and send the same request with PAYMENT-SIGNATURE, or send a key. Nothing was charged.",
  },
  x402_not_sellable: {
    status: 402,
    message: "The price of {asked} does not depend on its params alone, so it is not sold without an account.",
    hint: "Send `Authorization: Bearer tg_sk_...` with a key; GET /api/run/{service}/{action} tells how an action is priced.",
  },
  insufficient_balance: {
    status: 402,
    message: "This call can cost up to {needed_usd} USD and the account has {free_usd} USD free.",
    hint: "Add credit, or ask for less; for chat, lower max_tokens to `affordable_output_tokens`.",
  },
  credits_required: {
    status: 402,
    message: "This holds {needed_usd} USD until it ends and the account has {free_usd} USD free.",
    hint: "Add credit, or ask for less: a smaller budget, fewer rows, a shorter time.",
  },
  over_budget: {
    status: 402,
    message: "The budget of the call that this one belongs to has no room for {needed_usd} USD.",
    hint: "Give the call a larger budget.",
  },
  api_key_limit_exceeded: {
    status: 402,
    message: "This call can cost up to {needed_usd} USD and the key's {period} ceiling leaves {free_usd} USD.",
    hint: "Wait until `resets_at`, raise the key's ceiling, or use another key.",
  },
  budget_exceeded: {
    status: 402,
    message: "This call can cost up to {needed_usd} USD and the {period} budget of {whose} leaves {free_usd} USD.",
    hint: "Wait until `resets_at`, or have the budget raised.",
  },
  run_budget_exceeded: {
    status: 402,
    message: "This call can cost up to {needed_usd} USD, and the run {run} has {free_usd} USD free.",
    hint: "Finish with what is there, ask for less (`affordable_output_tokens`), or have the run's budget raised.",
  },
  run_stopped: {
    status: 409,
    message: "The run {run} has been stopped.",
    hint: "A stopped run stays stopped: tell its owner, or start another run.",
  },
  run_exists: {
    status: 409,
    message: "The run {run} has another budget.",
    hint: "Name the run without a budget, or raise its budget with PATCH /api/v1/runs/{id}.",
  },
  too_many_runs: {
    status: 409,
    message: "This account has opened {limit} runs within a day, which is the limit.",
    hint: "Name a run that is open, or open another one tomorrow.",
  },
  run_required: {
    status: 403,
    message: "This key may only be used in a run.",
    hint: "Name a run: x-tollgate-run, or `<key>+<run id>` as the key.",
  },
  max_cost_exceeded: {
    status: 402,
    message: "This call can cost up to {needed_usd} USD, more than max_cost_cents allows.",
    hint: "Raise max_cost_cents to `needed_cents`, or ask for less.",
  },
  purchase_declined: {
    status: 403,
    message: "The person has not agreed to the purchase.",
    hint: "Nothing was bought, and nothing was charged. Do not ask again without a new reason.",
  },
  max_cost_required: {
    status: 402,
    message:
      "What {asked} costs is known only when it is bought, so max_cost_cents must say the most that it may cost.",
    hint: "Send max_cost_cents beside the params: that amount is held, and only the actual cost is charged. Nothing was charged.",
  },
  insufficient_scope: {
    status: 403,
    message: "This access token lacks the scope {scope}.",
    hint: "Ask for an access token with that scope: the WWW-Authenticate header says where.",
  },
  key_paused: { status: 403, message: "This key is paused.", hint: "Resume the key, or use another." },
  account_frozen: { status: 403, message: "This account is frozen.", hint: "Ask the operator of this gateway." },
  key_not_allowed: {
    status: 403,
    message: "This key may not call {asked}.",
    hint: "Call what `allowed` lists, or use a key without this limit.",
  },
  address_not_allowed: {
    status: 403,
    message: "This key may not be used from {address}.",
    hint: "Call from an address on the key's list, or have this one added to it.",
  },
  verification_required: {
    status: 403,
    message: "The seller wants to know who buys: {detail}",
    hint: "Have the human open data.verify_url, then send the same call again with the order_id of data. Nothing was charged.",
  },
  link_invalid: {
    status: 403,
    message: "{detail}",
    hint: "For a fresh link to a stored file, POST /api/run/files/get with its file_id; after an upload has expired, start again with files/upload.",
  },
  key_cannot_mint_keys: {
    status: 403,
    message: "An agent key cannot create or change keys.",
    hint: "Use the account's primary key.",
    hints: { run: "A credential that carries a run cannot change the run's budget; use the key that opened it." },
  },
  not_found: {
    status: 404,
    message: "{detail}",
    hint: "GET /api/run lists every action, GET /llms.txt says how to call one.",
    hints: {
      provider_key: "GET /api/v1/provider-keys lists the providers that the account has a key of.",
      run: "GET /api/v1/runs lists the account's runs; a new one needs a budget.",
      webhook: "GET /api/v1/webhooks lists the account's webhooks; the operator's own are at GET /admin/v1/webhooks.",
      event: "GET /api/v1/events lists the account's events of 30 days; the operator's list is GET /admin/v1/events.",
      group:
        "GET /api/v1/groups lists the account's groups; the operator's list is GET /admin/v1/accounts/{id}/groups.",
      path: "GET /llms.txt says what is served where. The base URL of an OpenAI client ends in /v1, or in /api/llm/v1; clients that add /v1 or /v1beta themselves take the host alone, or /api/llm.",
      model_verb:
        "POST /v1beta/models/{model}:generateContent, :streamGenerateContent, :countTokens, :embedContent and :batchEmbedContents are served; the base address of such a client ends before /v1beta, or in /api/llm.",
      admin_path:
        "This is the operator's listener; `tollgate help` lists what it can do. Callers' paths are on the other port.",
      file: "POST /api/run/files/list lists the account's files.",
      key: "GET /api/v1/agents lists the account's keys; for the operator, GET /admin/v1/accounts/{id} does.",
      account: "GET /admin/v1/accounts lists the accounts.",
      transaction: "GET /api/v1/transactions lists the account's transactions.",
      any_transaction: "GET /admin/v1/transactions lists them, and answers that callers got have it as transaction_id.",
      realtime_calls:
        "Open a WebSocket at /v1/realtime; browsers do so with a secret from POST /v1/realtime/client_secrets.",
      issued_id: "Send an id that an earlier answer to this account gave.",
    },
  },
  model_not_found: {
    status: 404,
    message: "No model or tier is called {model}.{more}",
    hint: "GET /api/llm/v1/models lists every model and tier that you can call.",
  },
  method_not_allowed: {
    status: 405,
    message: "{method} is not possible here; use {allow}.",
    hint: "Use a method that the Allow header names.",
  },
  gone: {
    status: 410,
    message: "{what} was retired on {sunset}. {instead}",
    hint: "Use what the Link header names; GET /api/run lists every action.",
    hints: {
      model:
        "Ask for the `successor` that the error names; GET /api/llm/v1/models lists every model and tier there is.",
    },
  },
  request_timeout: {
    status: 408,
    retry: true,
    message: "The request body did not arrive within {seconds} seconds.",
    hint: "Send the body without pauses.",
  },
  idempotency_in_progress: {
    status: 409,
    retry: true,
    message: "A request with this Idempotency-Key is still running.",
    hint: "Wait for Retry-After and send the same request again to get its answer.",
  },
  replay_unavailable: {
    status: 409,
    message: "The request with this Idempotency-Key was answered and charged, and its answer is no longer stored.",
    hint: "Look the transaction up by `transaction_id`; use a new Idempotency-Key to run again.",
  },
  outcome_unknown: {
    status: 409,
    message: "It is not known whether this request took effect, and running it twice could repeat its effect.",
    hint: "Check with the vendor whether it happened; use a new Idempotency-Key to run again.",
  },
  session_closed: {
    status: 409,
    message: "The session is closed: {detail}.",
    hint: "create_session opens another one.",
  },
  conflict: { status: 409, message: "{detail}", hint: "Choose another value." },
  too_many_keys: {
    status: 409,
    message: "This account has reached the limit of {limit} keys.",
    hint: "DELETE /api/v1/agents/{id} revokes a key that is no longer used; PATCH changes one.",
  },
  upstream_busy: {
    status: 409,
    retry: true,
    message: "The provider of {detail} accepts no more concurrent calls.",
    hint: "Send these calls one after another: wait for Retry-After and send this one again. Nothing was charged.",
  },
  body_too_large: {
    status: 413,
    message: "The request body is larger than {limit_mib} MiB.",
    hint: "Send a smaller body.",
  },
  storage_quota_exceeded: {
    status: 413,
    message: "The file needs {needed} bytes and the account's files leave {free}.",
    hint: "Delete files with files/delete. Pending uploads keep their space for an hour.",
  },
  unsupported_media: {
    status: 415,
    message: "{detail}",
    hint: "Send uncompressed JSON with `Content-Type: application/json`.",
  },
  bodies_in_flight: {
    status: 503,
    retry: true,
    message: "{whose} request bodies take {limit_mib} MiB at once already.",
    hint: "Wait for Retry-After and send the request again, or send smaller ones. Nothing was charged.",
    hints: {
      socket: "Send the request by POST, or open the socket after Retry-After: no more of them are open at once.",
    },
  },
  answers_in_flight: {
    status: 503,
    retry: true,
    message: "{whose} answers that wait to be read take {limit_mib} MiB already.",
    hint: "Read the pending answers, or close their connections; then wait for Retry-After. Nothing was charged.",
  },
  no_summary: {
    status: 422,
    message: "The model gave no summary: {detail}",
    hint: "What the model used was charged. Make the conversation shorter, or ask another model for its summary.",
  },
  idempotency_mismatch: {
    status: 422,
    message: "This Idempotency-Key was used before with another body.",
    hint: "Use a new Idempotency-Key for a new request.",
  },
  rate_limited: {
    status: 429,
    retry: true,
    message: "Too many requests: {limit} in {window_seconds} seconds.",
    hint: "Wait for Retry-After.",
  },
  concurrency_limit: {
    status: 429,
    retry: true,
    message: "{limit} calls of this account are already in flight.",
    hint: "Wait for one of them to end.",
  },
  too_many_streams: {
    status: 429,
    retry: true,
    message: "{limit} streams of this account are open here already.",
    hint: "Close one of them, or poll: the same call without `Accept: text/event-stream` answers at once.",
    hints: { socket: "Close one of them, or send the request by POST: a socket is one request after the other." },
  },
  session_busy: {
    status: 429,
    retry: true,
    message: "{limit} commands of this session are already running.",
    hint: "Wait for one of them to end.",
  },
  too_many_inflight: {
    status: 429,
    retry: true,
    message: "{limit} jobs of this kind are already running.",
    hint: "Poll one of the running jobs until it is done.",
  },
  unpaid_costs: {
    status: 429,
    message:
      "Today the unpaid cost of this account's calls (misses, unreadable pages, refusals) has reached its limit.",
    hint: "Wait for Retry-After (midnight UTC), or ask the operator to raise UNPAID_COST_CENTS. Free calls still work.",
  },
  inference_cap: {
    status: 429,
    message: "The account's daily inference cap leaves {free_usd} USD, and this call can cost up to {needed_usd} USD.",
    hint: "Wait for Retry-After (midnight UTC), lower max_tokens, or ask the operator to raise the cap.",
  },
  upstream_error: {
    status: 500,
    message: "No provider could answer: {detail}",
    hint: "Nothing was charged. Try again later, or choose another model or action.",
  },
  all_blocked: {
    status: 502,
    message: "No page could be read: {detail}",
    hint: "Nothing was charged. core/onescrape-deep continues where this stopped: it gets past walls.",
  },
  no_people: {
    status: 502,
    message: "Nobody was found for {detail}.",
    hint: "Nothing was charged. Describe them in other words, or name the person with a company.",
  },
  internal_error: {
    status: 500,
    retry: true,
    message: "The gateway failed to handle this request.",
    hint: "Nothing was charged. Report the x-request-id.",
  },
  provider_key_refused: {
    status: 403,
    message: "{provider} refused this account's own key, and the key has no fallback.",
    hint: "Set a key that the provider accepts, or one with `fallback: true`, with PUT /api/v1/provider-keys/<provider>. Nothing was charged.",
  },
  upstream_not_configured: {
    status: 503,
    message: "No provider of {detail} is available here.",
    hint: "Choose another model or action, or ask the operator to configure a provider for it. Nothing was charged.",
  },
  settlement_pending: {
    status: 503,
    retry: true,
    message: "It is not known yet whether your payment was made. The answer is kept for it.",
    hint: "Send the very same request with the very same payment again: it gets the answer, and is never paid twice.",
  },
  merchant_unpaid: {
    status: 503,
    retry: true,
    message: "The merchant was not paid: {detail}.",
    hint: "Send it again after Retry-After where there is one; else ask the operator, or choose another action. Nothing was paid, and nothing was charged.",
  },
  payments_unavailable: {
    status: 503,
    retry: true,
    message: "Payments cannot be verified at the moment. Nothing was done, and nothing was charged.",
    hint: "Send the same request again in a few seconds, or send a key.",
  },
  ledger_unavailable: {
    status: 503,
    retry: true,
    message: "The ledger cannot be reached, so no paid call can start.",
    hint: "Wait for Retry-After. Nothing was charged.",
  },
  jobs_unavailable: {
    status: 503,
    retry: true,
    message: "No process that runs jobs is alive, so none can be launched.",
    hint: "Wait for Retry-After, or tell the operator, who starts a process with ROLE=work. Calls are answered. Nothing was held or charged.",
  },
  storage_unavailable: {
    status: 503,
    retry: true,
    message: "Files cannot be stored or fetched at the moment. {detail}",
    hint: "Wait for Retry-After. Nothing was charged.",
  },
  clock_skew: {
    status: 503,
    retry: true,
    message: "The clocks of the gateway and its ledger disagree, so no paid call can start.",
    hint: "Wait for Retry-After. Nothing was charged.",
  },
  guard_unavailable: {
    status: 503,
    retry: true,
    message: "The operator's guard, which must check requests and answers, does not respond.",
    hint: "Try again in a moment. Nothing was charged.",
  },
  draining: {
    status: 503,
    retry: true,
    message: "This process is shutting down.",
    hint: "Send the request again; another process will take it.",
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export type HintOf = {
  [Code in ErrorCode]: (typeof ERRORS)[Code] extends { readonly hints: infer Hints } ? keyof Hints : never;
}[ErrorCode];

export interface ErrorOptions {
  /** Fills the placeholders of the code's message; a text fills `{detail}`. */
  readonly detail?: string | Readonly<Record<string, string | number>>;
  /** The request field at fault, as a path such as `messages.0.role`. */
  readonly param?: string;
  /** The kind of thing that the error is about, where the code has a hint for it. */
  readonly of?: HintOf;
  /** What would have been possible; `data` in the envelope, `error.metadata` on the language-model endpoints. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Replaces the table's status, where the code keeps a vendor's (`upstream_rejected`) or differs by endpoint. */
  readonly status?: number;
  /** Replaces the table's `retry`, where only running calls are in the way. */
  readonly retry?: boolean;
  readonly retryAfterSeconds?: number;
  /** Extra fields of the body, where the wire allows any: x402 version 1 needs them. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Response headers by lower-case name, such as a challenge that says how to pay or sign in. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The full rate limit, where it is not the one that counts every request. */
  readonly window?: { readonly limit: number; readonly windowSeconds: number; readonly resetSeconds: number };
  /** The store was not reached, or changed nothing, so there is nothing to undo. */
  readonly nothingDone?: boolean;
  readonly cause?: unknown;
}

/** An error for the caller. The edge throws it before the hold; from the hold on it is a value. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly options: ErrorOptions;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    const { param = "", detail } = options;
    const words: Record<string, string | number> = { param, ...(typeof detail === "string" ? { detail } : detail) };
    const message = ERRORS[code].message.replace(/\{(\w+)\}/g, (_, name: string) => String(words[name] ?? name));
    const frames = Error.stackTraceLimit;
    // A caller's mistake says nothing about our code, and the stack trace is the most expensive part of a refusal, which callers can repeat
    // at will.
    if (ERRORS[code].status < 500) Error.stackTraceLimit = 0;
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = frames;
    this.name = "GatewayError";
    this.code = code;
    this.options = options;
  }

  get status(): number {
    return this.options.status ?? ERRORS[this.code].status;
  }

  get hint(): string {
    const row: ErrorRow = ERRORS[this.code];
    return (this.options.of === undefined ? undefined : row.hints?.[this.options.of]) ?? row.hint;
  }

  get retry(): boolean {
    const row: ErrorRow = ERRORS[this.code];
    return this.options.retry ?? row.retry === true;
  }
}

/** Failures of the gateway or its stores. They are reported to the operator. */
const OWN_FAULTS: ReadonlySet<ErrorCode> = new Set([
  "internal_error",
  "ledger_unavailable",
  "clock_skew",
  "storage_unavailable",
]);

/** False for what the caller, a provider or the operator's settings caused. */
export function isOwnFault(thrown: unknown): boolean {
  return !(thrown instanceof GatewayError) || OWN_FAULTS.has(thrown.code);
}

/** The error for the caller that was thrown. Rethrows any other. */
export function refusalIn(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  throw thrown;
}
