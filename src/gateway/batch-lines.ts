// Calls the lines of batches: each passes through the gateway's own endpoints, as over HTTP, but its batch has held the money.

import type {
  BatchMode,
  LineAnswer,
  LineBound,
  LineCall,
  LineCalls,
  LineFunds,
  NativeAnswer,
  NativeLine,
} from "../actions/batches/line-calls.ts";
import type { BatchVendors } from "../actions/batches/native-batch.ts";
import { requestInside } from "../actions/run/request-inside.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { priceOn } from "../catalog/price.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint, FramedOpenPlan, GatewayRequest } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { readJson } from "../core/json-bytes.ts";
import { getOrMake, makeRoom } from "../core/maps.ts";
import { least } from "../core/money.ts";
import type { Caller } from "../core/plan.ts";
import { jsonText, parseRaw } from "../core/raw-json.ts";
import { matchEndpoint } from "../edge/http/match-endpoint.ts";
import { requestIds } from "../edge/http/request-id.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import { refuseRunInLine } from "../edge/serve/join-run.ts";
import { KeptReply } from "../edge/serve/kept-reply.ts";
import { serve } from "../edge/serve/serve.ts";
import type { Config } from "../platform/config.ts";
import type { RequestWindows, WindowState } from "../platform/limits/request-windows.ts";
import { BATCH_FORMATS } from "../upstream/batch-formats.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { OpenCallers } from "./callers.ts";
import { answeredCall, catalogThen, NO_HEALTH, nativeLine, nativeVendors, soldText } from "./native-lines.ts";

const ALLOWED: WindowState = {
  allowed: true,
  limit: Number.MAX_SAFE_INTEGER,
  remaining: Number.MAX_SAFE_INTEGER,
  resetSeconds: 1,
  windowSeconds: 60,
};
/** A batch takes as long as it takes, so no limit per minute applies to its lines. */
export const NO_LIMITS: RequestWindows = { take: () => ALLOWED, peek: () => ALLOWED, giveBack() {} };

type PlannedEndpoint = Extract<Endpoint, { plan: unknown }>;

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
  const sent = new Map(Object.entries({ "content-type": "application/json", ...headers }));
  const request = requestInside({ id, path, headers: sent, startedMs: systemClock.elapsedMs() }, undefined);
  // Lines are long only as far as a batch allows.
  return { ...request, body, isScreened: true };
}

interface Opened {
  readonly match: ReturnType<typeof matchEndpoint>;
  readonly deps: ServeDeps;
}

interface BatchLineParts {
  readonly catalog: () => Catalog;
  readonly callers: Pick<OpenCallers, "ofWorkGoingOn">;
  /** The model endpoints over a catalog, and what serves them. */
  open(catalog: () => Catalog): { readonly endpoints: readonly Endpoint[]; readonly deps: ServeDeps };
}

const OPENED_MAX = 32;

export class BatchLines implements LineCalls {
  readonly #parts: BatchLineParts;
  readonly #nextId = requestIds(systemClock);
  /** The endpoints over today's catalog, and those that read answers, by their model as it was sold. */
  readonly #opened = new Map<string, Opened>();

  constructor(parts: BatchLineParts) {
    this.#parts = parts;
  }

  /** Called first for a line: the gateway is not complete before. */
  #open(sold = "", sandbox = false): Opened {
    const name = `${sandbox} ${sold}`;
    return getOrMake(this.#opened, name, () => {
      const { catalog, open } = this.#parts;
      const then = sold === "" ? null : catalogThen(sold, catalog(), { sandbox });
      const { endpoints, deps } = open(then === null ? catalog : () => then);
      makeRoom(this.#opened, OPENED_MAX);
      return { match: matchEndpoint(endpoints), deps };
    });
  }

  callerOf(accountId: string, keyId: string): Promise<Caller | null> {
    return this.#parts.callers.ofWorkGoingOn(accountId, keyId);
  }

  #endpoint(path: string, { match } = this.#open()): PlannedEndpoint {
    const found = match("POST", path);
    if ("error" in found) throw found.error;
    if (!("plan" in found.endpoint)) throw new Error(`${path} has no plan`);
    return found.endpoint;
  }

  refusal(path: string, error: GatewayError, requestId = this.#nextId()): LineAnswer {
    const text = JSON.stringify(this.#endpoint(path).errors.body(error, null, requestId));
    return { requestId, status: error.status, text, retry: error.retry, retryAfterMs: 0 };
  }

  /** Plans a line, or returns the answer that it gets without being called. */
  async #planned(call: LineCall, id: string): Promise<FramedOpenPlan | LineAnswer> {
    try {
      const request = requestFor(call, id);
      refuseRunInLine(request);
      const made = await this.#endpoint(call.path).plan({ request, audience: admitted(call.caller) });
      made.ended?.();
      return made;
    } catch (error) {
      if (error instanceof GatewayError) return this.refusal(call.path, error, id);
      throw error;
    }
  }

  async bound(call: LineCall, mode: BatchMode | undefined): Promise<LineBound | LineAnswer> {
    const made = await this.#planned(call, this.#nextId());
    if (!("plan" in made)) return made;
    const { quote } = made.plan;
    const maxNano = "maxCostNano" in made.plan ? made.plan.maxCostNano : null;
    return { nano: maxNano === null ? quote.nano : least(quote.nano, maxNano), vendors: nativeVendors(made, mode) };
  }

  /** The line as the operator's guard lets it pass. */
  async #guarded(call: LineCall, requestId: string): Promise<LineCall | GatewayError> {
    const { guard } = this.#open().deps;
    const read = guard === undefined ? null : readJson(call.body, parseRaw);
    if (guard === undefined || read === null || "wrong" in read) return call;
    const { path, caller } = call;
    const { accountId, keyId, sandbox } = caller.payer;
    const verdict = await guard(
      { stage: "request", requestId, path, sandbox, accountId, keyId, body: read.json },
      null,
    );
    if (verdict instanceof GatewayError) return verdict;
    return verdict.body === undefined ? call : { ...call, body: Buffer.from(jsonText(verdict.body, read.json)) };
  }

  async native(call: LineCall, vendor: string): Promise<NativeLine | LineAnswer> {
    const id = this.#nextId();
    const passed = await this.#guarded(call, id);
    if (passed instanceof GatewayError) return this.refusal(call.path, passed, id);
    const made = await this.#planned(passed, id);
    if (!("plan" in made)) return made;
    const line = nativeLine(made, vendor, (candidate) => soldText(candidate, this.#parts.catalog(), call.caller));
    if (line !== null) return line;
    const detail = `${vendor} cannot run this line any more`;
    return this.refusal(call.path, new GatewayError("upstream_not_configured", { detail }), id);
  }

  async run(call: LineCall, funds: LineFunds, answer: NativeAnswer | null = null): Promise<LineAnswer> {
    const opened = this.#open(answer?.sold, answer !== null && call.caller.sandbox);
    const { deps } = opened;
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
    const request = requestFor(call, this.#nextId());
    const reply = new LineReply(deps.answers);
    const endpoint = this.#endpoint(call.path, opened);
    if (answer === null) await serve(request, endpoint, reply, inner);
    else await serve(request, answeredEndpoint(endpoint, answer), reply, answeredDeps(inner));
    const { status, bytes } = await reply.answer;
    const { retry, retryAfterMs } = reply;
    return { requestId: request.id, status, text: bytes.toString("utf8"), retry, retryAfterMs };
  }
}

function answeredEndpoint({ retires: _, ...endpoint }: PlannedEndpoint, answer: NativeAnswer): Endpoint {
  return { ...endpoint, plan: (call) => answeredCall((again) => endpoint.plan(again), call, answer) };
}

/** The guard has passed the request before the provider got it. */
function answeredDeps({ guard: _, cache: _cache, ...deps }: ServeDeps): ServeDeps {
  return { ...deps, health: NO_HEALTH };
}

export function batchVendors(
  upstream: Pick<Upstream, "batchClient">,
  catalog: () => Catalog,
  { batchPollMs: pollMs }: Config,
): BatchVendors {
  const find = (vendor: string, sandbox: boolean) => {
    const adapter = catalog().adapters({ sandbox }).get(vendor);
    const api = adapter?.configured === true ? adapter.spec.batches : undefined;
    return adapter === undefined || api === undefined ? null : { adapter, api };
  };
  return {
    pollMs,
    percentOf(vendor, sandbox) {
      const day = new Date(systemClock.epochMs()).toISOString().slice(0, 10);
      return priceOn(day, find(vendor, sandbox)?.api.prices ?? [])?.percent ?? null;
    },
    open(vendor, sandbox, order) {
      const found = find(vendor, sandbox);
      if (found === null) throw new GatewayError("upstream_not_configured", { detail: vendor });
      const { adapter, api } = found;
      return { api, format: BATCH_FORMATS[api.format], client: upstream.batchClient(adapter, order) };
    },
  };
}
