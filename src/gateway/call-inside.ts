// Calls one of the gateway's own endpoints in process, on the path of every request: admit, plan, hold, charge, record.

import { requestInside } from "../actions/run/request-inside.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint, GatewayRequest } from "../core/endpoint.ts";
import { matchEndpoint } from "../edge/http/match-endpoint.ts";
import { requestIds } from "../edge/http/request-id.ts";
import type { CallInside, InnerCall, InnerCaller } from "../edge/mcp/inner-http.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import { KeptReply } from "../edge/serve/kept-reply.ts";
import { serve } from "../edge/serve/serve.ts";
import { MAX_COST_HEADER } from "../models/formats/max-cost.ts";

function headersOf(
  { body, headers = {} }: InnerCall,
  { authorization, payment, sandbox, bounds = new Map() }: InnerCaller,
): Map<string, string> {
  const all = new Map([...bounds, ...Object.entries(headers)]);
  const [whole, own] = [bounds.get(MAX_COST_HEADER), headers[MAX_COST_HEADER]];
  // The lower of two bounds applies. A bound that is not a number is refused where it is parsed.
  if (whole !== undefined && !(Number(own) <= Number(whole))) all.set(MAX_COST_HEADER, whole);
  if (authorization !== undefined) all.set("authorization", authorization);
  if (payment !== undefined) all.set("payment-signature", payment);
  if (sandbox === true) all.set("x-tollgate-sandbox", "1");
  if (body !== undefined) all.set("content-type", "application/json");
  return all;
}

function requestOf(call: InnerCall, caller: InnerCaller, id: string): GatewayRequest {
  const [path = "", query = ""] = call.path.split("?", 2);
  const { method, body } = call;
  const { address } = caller;
  const asked = { id, method, path, query: new URLSearchParams(query), headers: headersOf(call, caller), address };
  return requestInside({ ...asked, startedMs: systemClock.elapsedMs() }, body);
}

/** The outer request was already rate limited: inner calls are checked but not counted again. */
export function callInside(endpoints: readonly Endpoint[], deps: ServeDeps): CallInside {
  const match = matchEndpoint(endpoints);
  const nextId = requestIds(systemClock);
  const inner: ServeDeps = { ...deps, takeWindow: deps.peekWindow };
  return async (call, caller) => {
    const request = requestOf(call, caller, nextId());
    const found = match(call.method, request.path);
    if ("error" in found) {
      const bytes = Buffer.from(JSON.stringify(found.errors.body(found.error)));
      return { status: found.error.status, type: "application/json", bytes };
    }
    const reply = new KeptReply(deps.answers);
    const leave = () => reply.leave();
    caller.signal.addEventListener("abort", leave, { once: true });
    if (caller.signal.aborted) leave();
    const done = serve(Object.assign(request, { params: found.params }), found.endpoint, reply, inner);
    const answer = await reply.answer;
    caller.signal.removeEventListener("abort", leave);
    await done;
    return answer;
  };
}
