// Runs an adapter's script outside any call: as an attempt at an action that consists of the script.
import type { ActionOffer, Adapter } from "../catalog/catalog.ts";
import type { SessionContext } from "../catalog/session.ts";
import type { AnswerSink } from "../core/route.ts";
import { openActionAttempt } from "./action-attempt.ts";
import type { ActionCandidateParts } from "./action-candidate.ts";
import { cancelled, failureOfKind, VendorFailure } from "./vendor-failure.ts";

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

/** Returns the script's result. Throws VendorFailure, or an exception of the script's. */
export async function runVendorScript<T>(
  script: (context: SessionContext) => Promise<T>,
  { adapter, name, requestId, msMax, sandboxFault, signal }: ScriptOrder,
  parts: ActionCandidateParts,
): Promise<T> {
  let came: { readonly value: T } | null = null;
  let thrown: unknown = null;
  async function run(context: SessionContext): Promise<object> {
    try {
      came = { value: await script(context) };
    } catch (error) {
      thrown = error;
      throw error;
    }
    return {};
  }
  // A good status suffices: the script itself reads what it needs.
  const spec = { run, answer: { kind: "bytes" }, example: { answers: [] } };
  const offer = { id: `${adapter.id}/${name}`, adapter, spec } as unknown as ActionOffer;
  const sandbox = adapter.isSandbox === true ? { fault: sandboxFault } : null;
  const order = { soldId: offer.id, params: {}, row: null, requestId, restore: asItIs, preamble: null, sandbox };
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const sink: AnswerSink = {
    content() {},
    done() {
      if (came !== null) resolve(came.value);
      else reject(new VendorFailure(failureOfKind("provider_malformed", "the vendor found nothing")));
    },
    failed: (failure) =>
      reject(thrown === null || thrown instanceof VendorFailure ? new VendorFailure(failure) : thrown),
  };
  const key = parts.ringOf(adapter).take();
  const attempt = openActionAttempt({ offer, order, parts, key }, msMax, sink);
  const stop = () => reject(cancelled());
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return promise.finally(() => {
    signal.removeEventListener("abort", stop);
    attempt.abort();
  });
}

const asItIs = (json: string) => json;
