// Runs an adapter's script outside any call: paced by the vendor's rate limit, within a time limit, with failures like any attempt's.

import type { Adapter } from "../catalog/catalog.ts";
import type { RequestSpec } from "../catalog/request-spec.ts";
import type { Script } from "../catalog/script.ts";
import type { SessionContext } from "../catalog/session.ts";
import type { ActionCandidateParts } from "./action-candidate.ts";
import { buildRequest } from "./build-request.ts";
import { retryAfterMs } from "./classify.ts";
import { failureOf, type Judgement, judge, type VendorAnswer } from "./read-answer.ts";
import { runScript } from "./run-script.ts";
import { VendorClient } from "./vendor-client.ts";
import { failureOfKind, readableFailure, VendorFailure } from "./vendor-failure.ts";

export interface ScriptOrder {
  readonly adapter: Adapter;
  /** The name that identifies its requests to the sandbox. */
  readonly name: string;
  readonly requestId: string;
  /** The time limit of the whole script, in milliseconds. */
  readonly msMax: number;
  readonly sandboxFault: string | null;
  readonly signal: AbortSignal;
}

function headersOf({ adapter, name, requestId, sandboxFault }: ScriptOrder, at: number): Record<string, string> {
  if (adapter.isSandbox !== true) return {};
  const named = { "x-request-id": requestId, "x-tollgate-sandbox-action": name, "x-tollgate-sandbox-step": String(at) };
  return sandboxFault === null ? named : { ...named, "x-tollgate-sandbox-fault": sandboxFault };
}

/** Returns the script's result. Throws VendorFailure, or an exception of the script's. */
export async function runVendorScript<T>(
  script: (context: SessionContext) => Promise<T>,
  order: ScriptOrder,
  { dispatcher, clock, ringOf, restKey, limiter, loginOf }: ActionCandidateParts,
): Promise<T> {
  const { adapter, requestId, msMax, signal } = order;
  const { rules = [], rate } = adapter.spec;
  const key = ringOf(adapter).take();
  const client = new VendorClient({
    adapter,
    msMax,
    dispatcher,
    clock,
    login: loginOf(adapter, key),
    acquire: (request) => limiter.acquire(adapter.origin, adapter.isSandbox === true ? undefined : rate, request),
  });
  // A good status suffices: the script itself reads what it needs.
  const rulebook = { rules, wantsJson: false, errorFails: false };
  const judged = (answer: VendorAnswer): Judgement => {
    const judgement = judge(answer, rulebook);
    const { verdict, rule } = judgement;
    if (verdict === "success" || verdict === "miss") return judgement;
    const failure = failureOf(answer, verdict, rule, retryAfterMs(answer.headers, clock.epochMs()));
    throw new VendorFailure(client.answers > 1 ? { ...failure, mayHaveRun: true } : failure);
  };
  const request = (spec: RequestSpec, at: number, values: Readonly<Record<string, unknown>>) => {
    const wire = buildRequest({ adapter, spec, params: values, row: null, soFar: undefined });
    return { ...wire, ownConnection: true as const, headers: { ...wire.headers, ...headersOf(order, at) } };
  };
  const stop = () => client.abort();
  signal.addEventListener("abort", stop, { once: true });
  let came: { readonly value: T } | null = null;
  try {
    const counted = { params: {}, key, callId: requestId, msMax, signal, judge: judged };
    const all: Script = async (context) => {
      came = { value: await script(context) };
      return {};
    };
    await runScript(all, {
      ...counted,
      ask: ({ spec, values, at, ...how }) => {
        const redirectsMax = spec.redirectsMax ?? 0;
        return client.ask({ ...how, build: () => request(spec, at, values), redirectsMax, splice: null });
      },
    });
    if (came === null) throw new VendorFailure(failureOfKind("provider_malformed", "the vendor found nothing"));
    return (came as { readonly value: T }).value;
  } catch (error) {
    if (!(error instanceof VendorFailure)) throw error;
    const told = readableFailure(error.failure, key);
    if (told.restMs !== undefined && adapter.isSandbox !== true) limiter.rest(adapter.origin, told.restMs);
    throw new VendorFailure(told.status === 0 ? told : restKey(adapter, key, told));
  } finally {
    signal.removeEventListener("abort", stop);
    client.abort();
  }
}
