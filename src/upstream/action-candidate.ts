// One vendor's way to serve an action: gathers what its attempts need.
import type { Dispatcher } from "undici";
import type { ActionOffer, Adapter } from "../catalog/catalog.ts";
import type { TableEndpoint } from "../catalog/endpoint-table.ts";
import type { RequestSpec } from "../catalog/request-spec.ts";
import type { Params } from "../catalog/said.ts";
import type { Clock } from "../core/clock.ts";
import type { AnswerSink, Attempt, AttemptFailure, Candidate } from "../core/route.ts";
import { type Around, type BuildParts, openActionAttempt } from "./action-attempt.ts";
import { buildRequest, type WireRequest } from "./build-request.ts";
import type { KeyRing } from "./key-ring.ts";
import type { Login, Paying } from "./login.ts";
import { looksIntoBody } from "./read-answer.ts";
import type { ReadyAction } from "./ready-action.ts";
import type { Sidecar } from "./sidecar/sidecar.ts";
import { readableFailure } from "./vendor-failure.ts";
import type { VendorRateLimiter } from "./vendor-rate-limiter.ts";

const TIMEOUT_MS = 60_000;

export interface ActionOrder {
  /** The sold action, `<service>/<action>`. */
  readonly soldId: string;
  /** In the form of the offer's own action. */
  readonly params: Params;
  /** The row of the offer's endpoint table that the params select. */
  readonly row: TableEndpoint | null;
  readonly requestId: string;
  /** The transaction id. Default: the request id. */
  readonly callId?: string;
  /** The paying account. Absent: the gateway itself. */
  readonly payerId?: string;
  /** Replaces the vendor's ids in JSON by the caller's. */
  readonly restore: (json: string) => string;
  /** Bytes to write before an answer that is streamed through unread; null if every answer must be read. */
  readonly preamble: Buffer | null;
  /** Hooks around each attempt. Default: none. */
  readonly around?: Around | null;
  /** The payment terms for a vendor that charges by the call. Default: no payment. */
  readonly paying?: Pick<Paying, "mostNano" | "isCallers" | "priced">;
  /** For a sandbox account: the fault that the caller requested. */
  readonly sandbox: { readonly fault: string | null } | null;
}

export interface ActionCandidate extends Candidate {
  readonly offer: ActionOffer;
}

export interface ActionCandidateParts {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly ringOf: (adapter: Adapter) => KeyRing;
  readonly restKey: (adapter: Adapter, key: string, failure: AttemptFailure) => AttemptFailure;
  readonly limiter: VendorRateLimiter;
  /** The process that replaces a vendor's HTTP API, for one of our keys; null if the vendor has HTTP. */
  readonly sidecarOf: (adapter: Adapter, key: string) => Sidecar | null;
  readonly loginOf: (adapter: Adapter, key: string, paying?: Paying) => Login;
  readonly readyOf: (offer: ActionOffer) => ReadyAction;
}

/** The time limit of an action as a whole, in milliseconds. */
export function actionMsMax(offer: ActionOffer): number {
  return offer.spec.timeoutMs ?? TIMEOUT_MS;
}

function sandboxHeaders(offer: ActionOffer, order: ActionOrder, at: number): Record<string, string> {
  if (order.sandbox === null) return {};
  const { fault } = order.sandbox;
  const action = offer.id.slice(offer.adapter.id.length + 1);
  const named = { "x-tollgate-sandbox-action": action, "x-tollgate-sandbox-step": String(at) };
  return fault === null ? named : { ...named, "x-tollgate-sandbox-fault": fault };
}

function requestFor(
  spec: RequestSpec,
  { at, soFar, values }: BuildParts,
  { offer, order, ready }: { readonly offer: ActionOffer; readonly order: ActionOrder; readonly ready: ReadyAction },
): WireRequest {
  const { adapter } = offer;
  const { params, row } = order;
  const wire =
    values === undefined
      ? buildRequest({ adapter, spec, params, row, soFar, ready: ready.request(spec) })
      : buildRequest({ adapter, spec, params: values, row: null, soFar: undefined });
  if (order.sandbox === null) return wire;
  const ours = { "x-request-id": order.requestId, ...sandboxHeaders(offer, order, at) };
  return { ...wire, headers: { ...wire.headers, ...ours } };
}

export function actionCandidate(offer: ActionOffer, order: ActionOrder, parts: ActionCandidateParts): ActionCandidate {
  const { adapter, spec } = offer;
  const { dispatcher, clock, ringOf, restKey, limiter, sidecarOf, loginOf } = parts;
  const ready = parts.readyOf(offer);
  const msMax = actionMsMax(offer);
  // The sandbox has no rate limit, and one sandbox account must not delay another.
  const rate = order.sandbox === null ? (spec.rate ?? adapter.spec.rate) : undefined;
  const limiterKey = spec.rate === undefined ? adapter.origin : `${adapter.origin} ${offer.id}`;
  const preamble = looksIntoBody(adapter.spec, spec) ? null : order.preamble;
  return {
    offer,
    provider: adapter.id,
    model: order.soldId,
    // Each row of a table is a separate model or endpoint, so its failures say nothing about the others.
    healthKey: order.row === null ? offer.healthKey : `${offer.healthKey} ${order.row.method} ${order.row.path}`,
    firstTokenMsMax: msMax,
    lastFirstTokenMsMax: msMax,
    readOnMsMax: 0,
    // Params were validated before, so if one vendor rejects them, every vendor would.
    pointlessAfter: (_, kind) => kind === "caller_invalid",
    open(sink: AnswerSink, firstMsMax: number): Attempt {
      const key = ringOf(adapter).take();
      const { params, callId = order.requestId, paying } = order;
      return openActionAttempt(
        {
          offer,
          ready,
          params,
          key,
          callId,
          around: order.around ?? null,
          preamble,
          msMax: Math.min(msMax, firstMsMax),
          dispatcher,
          clock,
          login: loginOf(adapter, key, paying && { ...paying, callId, sandbox: order.sandbox !== null }),
          sidecar:
            order.payerId === undefined
              ? sidecarOf(adapter, key)
              : (sidecarOf(adapter, key)?.of(order.payerId) ?? null),
          acquire: (request) => limiter.acquire(limiterKey, rate, request),
          build: (request, parts) => requestFor(request, parts, { offer, order, ready }),
          onFailure(failure, shown) {
            if (failure.restMs !== undefined && order.sandbox === null) limiter.rest(limiterKey, failure.restMs);
            const told = readableFailure(failure, [key, ...shown].join("\n"), order.restore);
            // A failure before the vendor answered, such as a permit timeout, is not the key's fault.
            return failure.status === 0 ? told : restKey(adapter, key, told);
          },
        },
        sink,
      );
    },
  };
}
