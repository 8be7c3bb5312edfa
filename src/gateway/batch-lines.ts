// Calls the lines of batches: each passes through the gateway's own endpoints, as over HTTP, but its batch has held the money.
import type { LineAnswer, LineCall, LineCalls, LineFunds } from "../actions/batches/line-calls.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint, GatewayRequest } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { least } from "../core/money.ts";
import type { Caller } from "../core/plan.ts";
import { matchEndpoint } from "../edge/http/match-endpoint.ts";
import { requestIds } from "../edge/http/request-id.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import { KeptReply } from "../edge/serve/kept-reply.ts";
import { serve } from "../edge/serve/serve.ts";
import type { RequestWindows, WindowState } from "../platform/limits/request-windows.ts";
import type { OpenCallers } from "./callers.ts";

const ALLOWED: WindowState = {
  allowed: true,
  limit: Number.MAX_SAFE_INTEGER,
  remaining: Number.MAX_SAFE_INTEGER,
  resetSeconds: 1,
  windowSeconds: 60,
};
/** A batch takes as long as it takes, so no limit per minute applies to its lines. */
export const NO_LIMITS: RequestWindows = { take: () => ALLOWED, peek: () => ALLOWED, giveBack() {} };

/** Also keeps what the answer says about a retry. */
class LineReply extends KeptReply {
  retry = false;
  retryAfterMs = 0;

  override header(name: string, value: string): void {
    super.header(name, value);
    if (name === "x-should-retry") this.retry = value === "true";
    if (name === "retry-after") this.retryAfterMs = 1_000 * (Number(value) || 0);
  }
}

/** The caller was admitted when the batch was created, from an address that its key allows and in the run that the batch is part of. */
function admitted(caller: Caller): Caller {
  const { isFrom: _, runRequired: _required, sessionBudgetNano: _budget, ...rest } = caller;
  return rest;
}

function requestFor({ path, body, headers }: LineCall, id: string): GatewayRequest {
  return {
    id,
    method: "POST",
    path,
    query: new URLSearchParams(),
    params: {},
    headers: new Map(Object.entries({ "content-type": "application/json", ...headers })),
    body,
    address: "",
    startedMs: systemClock.elapsedMs(),
    // Lines are long only as far as a batch allows.
    isScreened: true,
  };
}

/** `parts` is called once, for the first line. */
export function batchLines(
  parts: () => { readonly endpoints: readonly Endpoint[]; readonly deps: ServeDeps },
  callers: Pick<OpenCallers, "ofWorkGoingOn">,
): LineCalls {
  const nextId = requestIds(systemClock);
  let opened: { readonly match: ReturnType<typeof matchEndpoint>; readonly deps: ServeDeps } | null = null;
  const open = () => {
    if (opened !== null) return opened;
    const { endpoints, deps } = parts();
    opened = { match: matchEndpoint(endpoints), deps };
    return opened;
  };

  const requestOf = (call: LineCall) => requestFor(call, nextId());

  function endpointOf(path: string): Endpoint {
    const found = open().match("POST", path);
    if ("error" in found) throw found.error;
    return found.endpoint;
  }

  function refusal(path: string, error: GatewayError, requestId = nextId()): LineAnswer {
    const text = JSON.stringify(endpointOf(path).errors.body(error, null, requestId));
    return { requestId, status: error.status, text, retry: error.retry, retryAfterMs: 0 };
  }

  return {
    refusal,
    callerOf: (accountId, keyId) => callers.ofWorkGoingOn(accountId, keyId),

    async bound(call) {
      const endpoint = endpointOf(call.path);
      const request = requestOf(call);
      if (!("plan" in endpoint)) throw new Error(`${call.path} has no plan`);
      try {
        const made = await endpoint.plan({ request, audience: admitted(call.caller) });
        if (made instanceof GatewayError) return refusal(call.path, made, request.id);
        made.ended?.();
        const { quote } = made.plan;
        const maxNano = "maxCostNano" in made.plan ? made.plan.maxCostNano : null;
        return maxNano === null ? quote.nano : least(quote.nano, maxNano);
      } catch (error) {
        if (error instanceof GatewayError) return refusal(call.path, error, request.id);
        throw error;
      }
    },

    async run(call, funds: LineFunds) {
      const { deps } = open();
      const caller = admitted(call.caller);
      const inner: ServeDeps = {
        ...deps,
        authenticate: () => caller,
        anonymousPayer: null,
        takeWindow: () => ALLOWED,
        peekWindow: () => ALLOWED,
        draining: () => false,
        paying: { payer: caller.payer, funds },
      };
      const request = requestOf(call);
      const reply = new LineReply(deps.answers);
      await serve(request, endpointOf(call.path), reply, inner);
      const { status, bytes } = await reply.answer;
      const { retry, retryAfterMs } = reply;
      return { requestId: request.id, status, text: bytes.toString("utf8"), retry, retryAfterMs };
    },
  };
}
