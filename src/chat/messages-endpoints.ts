// The endpoints of the messages wire.
import type { Endpoint, FramedPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { messagesErrors } from "../wires/messages/errors.ts";
import { countTokens } from "./count-tokens.ts";
import type { FreeCounts } from "./free-counts.ts";
import { readMessages } from "./messages-body.ts";
import { type ChatDeps, modelPlan } from "./model-plan.ts";
import { at, PAID } from "./paths.ts";

const paid = { ...PAID, errors: messagesErrors } as const;

/** A count is free, so there is less to read for it. */
const COUNTED_BYTES_MAX = 8 * 1024 * 1024;

/** Agents look below their base address whether anybody is there, before they have shown a key. */
const HELLO: Endpoint = {
  method: "GET",
  path: "/api/hello",
  alias: "/api/llm/api/hello",
  auth: "none",
  bodyBytesMax: 0,
  errors: messagesErrors,
  answer: () => ({ status: 200, body: { message: "hello" } }),
};

/** Checks a request and makes its plan, or says what is wrong with it. */
function messagesPlan(call: PlanCall, deps: ChatDeps): FramedPlan | GatewayError {
  const read = readMessages(call, deps.seals(call.audience.payer));
  return read instanceof GatewayError ? read : modelPlan(call, read, deps);
}

export function messagesEndpoints(deps: ChatDeps, counts: FreeCounts): readonly Endpoint[] {
  return [
    { ...paid, ...at("/messages"), plan: (call) => messagesPlan(call, deps) },
    {
      ...paid,
      ...at("/messages/count_tokens"),
      bodyBytesMax: COUNTED_BYTES_MAX,
      longWithCredit: true,
      answer: countTokens(deps, counts),
    },
    HELLO,
  ];
}
