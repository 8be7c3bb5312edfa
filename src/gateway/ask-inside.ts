// How pages call the gateway that serves them: its own endpoints answer in process, on behalf of the signed-in person.

import { requestInside } from "../actions/run/request-inside.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint, GatewayRequest, StreamCall } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { isRecord, stringOf } from "../core/json.ts";
import type { Caller } from "../core/plan.ts";
import { ownSlice } from "../core/slices.ts";
import { matchEndpoint } from "../edge/http/match-endpoint.ts";
import { requestIds } from "../edge/http/request-id.ts";
import type { CallInside, InnerCall, InnerCaller } from "../edge/mcp/inner-http.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import { KeptReply } from "../edge/serve/kept-reply.ts";
import { serve } from "../edge/serve/serve.ts";
import { type Ask, Refused } from "../edge/web/kit/ask.ts";
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

/** The caller of a public endpoint; null: the operator, calling an endpoint of the admin listener. */
export interface Asking {
  readonly caller: Caller | null;
  /** The page's own request. */
  readonly from: GatewayRequest;
  /** Headers of the inner request, such as the session's token. */
  readonly headers?: Readonly<Record<string, string>>;
}

function refused(error: GatewayError): Refused {
  return new Refused(error.status, `${error.message} ${error.hint}`.trim());
}

type FreeEndpoint = Exclude<Endpoint, { readonly plan: unknown }>;

/** Throws a refusal in the words of pages. */
async function answerTo(endpoint: FreeEndpoint, call: StreamCall) {
  try {
    return await ("stream" in endpoint ? endpoint.stream(call) : endpoint.answer(call));
  } catch (error) {
    throw error instanceof GatewayError ? refused(error) : error;
  }
}

/** Free endpoints answer at once. Endpoints with a plan run as over HTTP: admitted, held and charged. */
export function askInside(endpoints: readonly Endpoint[], deps: ServeDeps): (asking: Asking) => Ask {
  const match = matchEndpoint(endpoints);
  const nextId = requestIds(systemClock);
  const call = callInside(
    endpoints.map((endpoint) => Object.assign({}, endpoint, { cookies: true as const })),
    deps,
  );

  async function planned(path: string, body: unknown, { from, headers = {} }: Asking): Promise<unknown> {
    const cookie = from.headers.get("cookie") ?? "";
    const signal = new AbortController().signal;
    const caller = { authorization: undefined, address: from.address, signal };
    const { status, bytes } = await call({ method: "POST", path, body, headers: { cookie, ...headers } }, caller);
    const json: unknown = bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8"));
    if (status >= 200 && status < 300) return json;
    const told = isRecord(json) ? json : {};
    throw new Refused(status, `${stringOf(told.message) ?? "It broke off."} ${stringOf(told.hint) ?? ""}`.trim());
  }

  return (asking) =>
    async <Body>(method: Endpoint["method"], asked: string, body?: unknown) => {
      const [path = "", query = ""] = asked.split("?", 2);
      const found = match(method, path);
      if ("error" in found) throw refused(found.error);
      const { endpoint, params } = found;
      if ("plan" in endpoint) return (await planned(path, body, asking)) as Body;
      const { from, headers = {}, caller } = asking;
      const inside = { id: nextId(), method, path, params, query: new URLSearchParams(query), address: from.address };
      const sent = { headers: new Map(Object.entries(headers)), startedMs: systemClock.elapsedMs() };
      const request = requestInside({ ...inside, ...sent }, body);
      const call = { request, caller, gone: new AbortController().signal };
      const answer = await answerTo(endpoint, call);
      // Concurrent reads resolve in the same turn of the event loop; each page is rendered in a turn of its own.
      await ownSlice();
      if ("bytes" in answer) throw new Error(`${path} is streamed, and cannot be asked by a page`);
      const type = answer.headers?.["content-type"] ?? "application/json";
      // Long answers are stored as encoded bytes.
      const isKept = (typeof answer.body === "string" || answer.body instanceof Uint8Array) && type.includes("json");
      return (isKept ? JSON.parse(Buffer.from(answer.body as string).toString("utf8")) : answer.body) as Body;
    };
}
