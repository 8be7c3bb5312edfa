// core/fetch, also served as POST /api/v1/fetch: sends the caller's request to a public address and pays a 402 for it (contract 5.5).
import { z } from "zod";
import type { MerchantPayerFor, PaidCall, Payment } from "../../catalog/auth.ts";
import { type LocalAction, type LocalCall, localAction, PaidAnswer } from "../../catalog/local-action.ts";
import { wholeOf } from "../../core/chunk-list.ts";
import { bounded } from "../../core/clock.ts";
import { GatewayError, isOwnFault } from "../../core/errors.ts";
import { OPENED_URL } from "../../core/field-issues.ts";
import { minus, type Nano, nanoFromCents, usdText, ZERO } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import type { OpenOptions, PublicAnswer, PublicFetch, Sent } from "../../upstream/public-fetch.ts";
import { failureOfKind, VendorFailure } from "../../upstream/vendor-failure.ts";
import { binaryAnswer, type KeepBytes } from "./binary-answer.ts";

export const FETCH = "core/fetch";

/** Our fee for an answer, on top of what we paid for it. */
const FEE_CENTS = 1;
/** The most that one call pays and costs, in cents. */
const CENTS_MAX = 1_000;
const BYTES_MAX = 4 * 1_048_576;
const HEADERS_MAX = 50;
const ASK_MS_MAX = 30_000;
/** Longer than for the first request, because a merchant settles the payment on chain before it answers. */
const PAID_MS_MAX = 60_000;
/** How long a large answer may take to be stored as a file; after that it is sent as base64. */
const KEEP_MS_MAX = 10_000;
const NEVER = new AbortController().signal;
/** Longer than both requests and the upload together, so that the deadline never cuts off a paid call. */
const WHOLE_MS_MAX = 120_000;
/** Headers that callers cannot set: they describe our connection, its framing or the sender. */
const OURS =
  /^(host|content-length|connection|transfer-encoding|accept-encoding|keep-alive|te|trailer|upgrade|expect|proxy-.*)$/;

const params = z.strictObject({
  url: z.string().min(1).max(2_048).meta(OPENED_URL).describe("A public http or https address"),
  method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]).default("GET"),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/), z.string().regex(/^[\t\x20-\x7e]{0,8192}$/))
    .optional()
    .describe(`At most ${HEADERS_MAX}, which go to the server of this address alone`),
  body: z
    .union([z.string().max(1_048_576), z.looseObject({}), z.array(z.json())])
    .optional()
    .describe("A text, or JSON"),
});
type Params = z.infer<typeof params>;

export interface FetchParts {
  /** Opens addresses for a payer; sandbox accounts reach only the sandbox. */
  readonly openFor: (payer: Payer) => PublicFetch["open"];
  /** Null: a 402 is passed on like any other answer. */
  readonly merchantPayerFor: MerchantPayerFor;
  readonly keepBytes: KeepBytes;
  readonly onBroken: (error: unknown) => void;
}

/** Every request is a leg, whatever its outcome, and counts a hundredth of a cent of the account's unpaid cost. */
const LEG = "direct/request";

function wrong(param: string, detail: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: `${param}: ${detail}` });
}

function sentOf({ method, headers = {}, body }: Params): Required<Sent> | GatewayError {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()] as const);
  if (given.length > HEADERS_MAX) return wrong("headers", `must have at most ${HEADERS_MAX} names`);
  const ours = given.find(([name]) => OURS.test(name));
  if (ours !== undefined) return wrong("headers", `${ours[0]} is ours to say, and cannot be set`);
  if (body === undefined) return { method, headers: Object.fromEntries(given), body: null };
  if (method === "GET" || method === "HEAD") return wrong("body", `${method} takes none; choose POST, PUT or PATCH`);
  const type = typeof body === "string" ? "text/plain; charset=utf-8" : "application/json";
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { method, headers: { "content-type": type, ...Object.fromEntries(given) }, body: text };
}

/** A server's answer with its body; `problem` says why the body, or the whole answer, is missing. */
interface Came {
  readonly answer: PublicAnswer | null;
  readonly bytes: Buffer;
  readonly problem: GatewayError | null;
}

async function read(answer: PublicAnswer | GatewayError): Promise<Came> {
  const none = Buffer.alloc(0);
  if (answer instanceof GatewayError) return { answer: null, bytes: none, problem: answer };
  try {
    return { answer, bytes: await wholeOf(answer.body), problem: null };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { answer, bytes: none, problem: error };
  }
}

/** An unpaid request that failed: reported as it is, and not retried where it may have changed something. */
function failed(problem: GatewayError, { method }: Required<Sent>): VendorFailure {
  const mayHaveRun = method !== "GET" && method !== "HEAD" && problem.code !== "bad_url";
  return new VendorFailure({ ...failureOfKind("caller_invalid", problem.message), told: problem, mayHaveRun });
}

/** One call: request, payment where wanted, request again. Every path after a payment ends in an answer, which charges it. */
class Fetching {
  readonly #parts: FetchParts;
  readonly #call: LocalCall;
  readonly #sent: Required<Sent>;

  constructor(parts: FetchParts, call: LocalCall, sent: Required<Sent>) {
    this.#parts = parts;
    this.#call = call;
    this.#sent = sent;
  }

  async run(url: string): Promise<PaidAnswer> {
    const isSafe = this.#sent.method === "GET" || this.#sent.method === "HEAD";
    // Do not follow redirects unless the request is safe: its body is meant for the named address alone.
    const redirectsMax = isSafe ? {} : { redirectsMax: 0 };
    const first = await this.#ask(url, { msMax: ASK_MS_MAX, send: this.#sent, ...redirectsMax });
    if (first.answer === null || first.problem !== null)
      throw failed(first.problem ?? new GatewayError("upstream_error"), this.#sent);
    const payment = first.answer.status === 402 ? await this.#payment(first.answer) : null;
    if (payment === null) return this.#answer(first, ZERO);
    // After a redirect, the paid server may not be the one that the caller's headers are meant for.
    const { headers: own } = this.#sent;
    const headers = {
      ...(new URL(first.answer.finalUrl).origin === URL.parse(url)?.origin ? own : {}),
      ...payment.headers,
    };
    return this.#paid(first.answer.finalUrl, payment, headers);
  }

  async #ask(
    url: string,
    limits: Pick<OpenOptions, "msMax" | "redirectsMax"> & { readonly send: Sent },
  ): Promise<Came> {
    const { payer, signal } = this.#call;
    const open = this.#parts.openFor(payer);
    const { done } = await this.#call.own({
      name: LEG,
      run: async () => read(await open(url, { bytesMax: BYTES_MAX, answersRedirects: true, signal, ...limits })),
      outcome: ({ problem }) => (problem === null ? "answered" : "caller_invalid"),
    });
    return done;
  }

  /** Null where we cannot pay: the 402 is then the answer. */
  async #payment({ headers, finalUrl }: PublicAnswer): Promise<Payment | null> {
    const { id, payer, quoteNano } = this.#call;
    const { origin, host, pathname, search } = new URL(finalUrl);
    const paying: PaidCall = {
      merchant: host,
      callId: id,
      mostNano: minus(quoteNano, nanoFromCents(FEE_CENTS)),
      isCallers: true,
      feeNano: nanoFromCents(FEE_CENTS),
      namedBy: payer.id,
      sandbox: payer.sandbox,
    };
    const merchantPayer = this.#parts.merchantPayerFor(paying);
    if (merchantPayer === null) return null;
    const request = { ...this.#sent, origin, path: pathname + search };
    const payment = await merchantPayer.pay(
      { headers, json: undefined, request },
      { rails: ["mpp", "x402"], payTo: null },
    );
    if ("unpaid" in payment) throw new VendorFailure(payment.unpaid);
    return payment;
  }

  async #paid(url: string, payment: Payment, headers: Sent["headers"]): Promise<PaidAnswer> {
    const send = { ...this.#sent, headers };
    try {
      const came = await this.#ask(url, { msMax: PAID_MS_MAX, redirectsMax: 0, send }).catch((error) =>
        this.#broke(error),
      );
      await payment.answered?.(came.answer);
      return await this.#answer(came, payment.costNano);
    } catch (error) {
      return this.#answer(this.#broke(error), payment.costNano);
    }
  }

  #broke(error: unknown): Came {
    this.#parts.onBroken(error);
    return { answer: null, bytes: Buffer.alloc(0), problem: new GatewayError("internal_error") };
  }

  /** Rejects with a refusal, whatever failed: an answer that cannot be stored as a file now is sent as base64. */
  async #keep(payer: Payer, file: Parameters<KeepBytes>[1]): ReturnType<KeepBytes> {
    const { keepBytes, onBroken } = this.#parts;
    const keep = () =>
      keepBytes(payer, file).catch((error: unknown) => {
        if (isOwnFault(error)) onBroken(error);
        return null;
      });
    const kept = await bounded(keep, null, { msMax: KEEP_MS_MAX, signal: NEVER });
    if (kept === null) throw new GatewayError("storage_unavailable");
    return kept;
  }

  /** The server has the payment, or may take it, so the caller, who chose the server, pays for it. A failed answer costs no fee. */
  async #answer({ answer, bytes, problem }: Came, paidNano: Nano): Promise<PaidAnswer> {
    const { payer } = this.#call;
    const status = answer?.status ?? null;
    const contentType = answer?.headers["content-type"] ?? "application/octet-stream";
    const keepBytes: KeepBytes = (of, file) => this.#keep(of, file);
    const content = await binaryAnswer({ contentType, bytes }, { payer, source: FETCH, keepBytes });
    const isMiss = problem !== null || status === null || status >= 400;
    const data = {
      status,
      final_url: answer?.finalUrl ?? null,
      headers: answer?.headers ?? {},
      ...content,
      paid_usd: usdText(paidNano),
      ...(problem === null ? {} : { problem: problem.message }),
    };
    return new PaidAnswer(data, { paidNano, isMiss });
  }
}

export function fetchAction(parts: FetchParts): LocalAction {
  return localAction<Params>({
    service: "core",
    action: "fetch",
    description:
      "Sends a request to a public address. Where that asks to be paid (402, by x402 or MPP) it is paid, up to max_cost_cents. Costs a cent and what was paid; an answer of 4xx or 5xx costs what was paid.",
    category: "core",
    keywords: "call any API; HTTP request; pay a 402; x402; paid API; webhook",
    effect: "write",
    params,
    price: {
      mode: "capped",
      cents: CENTS_MAX,
      minCents: 0,
      unit: "request",
      freeOnMiss: true,
      needsMaxCost: true,
      paid: { exampleCents: 0, feeCents: FEE_CENTS },
    },
    upstreamCentsMax: () => CENTS_MAX,
    msMax: WHOLE_MS_MAX,
    run(given, call) {
      const feeNano = nanoFromCents(FEE_CENTS);
      if (call.quoteNano < feeNano) {
        const detail = { needed_usd: usdText(feeNano) };
        const data = { needed_cents: FEE_CENTS };
        return new GatewayError("max_cost_exceeded", { param: "max_cost_cents", detail, data });
      }
      const sent = sentOf(given);
      return sent instanceof GatewayError ? sent : new Fetching(parts, call, sent).run(given.url);
    },
    example: { params: { url: "https://example.com/", method: "GET" } },
  });
}
