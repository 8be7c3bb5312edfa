// The route of an action that we serve ourselves: a function in the place of a vendor.
import type { Params } from "../catalog/action.ts";
import type { LocalAction, LocalCall } from "../catalog/local-action.ts";
import { GatewayError } from "../errors.ts";
import type { AnswerSink, Attempt, AttemptFailure, Reading, Route } from "../plan.ts";

/** Ourselves, where other routes name their vendor. */
const PROVIDER = "tollgate";

const NOTHING = { usage: null, delivered: { text: "", bytes: 0 }, upstreamCostNano: null, skippedEvents: 0 };

function refusal(told: GatewayError): AttemptFailure {
  return {
    kind: told.status < 500 ? "caller_invalid" : "gateway_internal",
    status: told.status,
    message: told.message,
    retryAfterMs: null,
    mayHaveRun: false,
    told,
  };
}

/** Runs the function once; what it throws is our own failure and is told as `internal_error`. */
export function localRoute(
  local: LocalAction,
  params: Params,
  call: LocalCall,
  { msMax, onBroken }: { readonly msMax: number; readonly onBroken: (error: unknown) => void },
): Route {
  const id = `${local.service}/${local.action}`;
  return {
    provider: PROVIDER,
    model: id,
    healthKey: `${PROVIDER}:${id}`,
    firstTokenMsMax: msMax,
    lastFirstTokenMsMax: msMax,
    pointlessAfter: () => false,
    open(sink: AnswerSink): Attempt {
      let over = false;
      let answer: unknown;
      const end = (failure: AttemptFailure | null): void => {
        if (over) return;
        over = true;
        if (failure !== null) return sink.failed(failure);
        sink.done({ kind: "body", body: { json: JSON.stringify(answer ?? null) } });
      };
      const run = async (): Promise<void> => {
        try {
          answer = await local.run(params, call);
          end(answer instanceof GatewayError ? refusal(answer) : null);
        } catch (error) {
          onBroken(error);
          const told = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
          end({ ...refusal(told), mayHaveRun: true });
        }
      };
      void run();
      return {
        pause() {},
        resume() {},
        abort() {
          over = true;
        },
        reading: (): Reading => ({ ...NOTHING, answer, miss: false }),
      };
    },
  };
}
