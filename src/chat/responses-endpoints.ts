// The endpoints of the responses wire.
import type { Answer, Call, Endpoint, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { isRecord } from "../json.ts";
import { invalid, parseJson } from "../wires/parse-json.ts";
import { responsesErrors } from "../wires/responses/errors.ts";
import { tokenEstimates } from "./estimate-tokens.ts";
import { at, PAID } from "./paths.ts";
import { compactPlan, type ResponsesDeps, readCall, responsesPlan } from "./responses-plan.ts";

/** What vendors write around every item. */
const TOKENS_PER_MESSAGE = 4;
/** Nobody pays for a count, so what is read for one is less than what is read for an answer. */
const COUNTED_BYTES_MAX = 4 * 1024 * 1024;

function notFound(id: string): GatewayError {
  const detail = `no response ${id.slice(0, 80)} is kept; one is where store: true was said, for a day`;
  return new GatewayError("not_found", { of: "path", detail: { detail } });
}

/** How many tokens a request would send, by our own count: an estimate, and free. */
async function inputTokens(
  { request, caller }: Call,
  deps: ResponsesDeps,
  estimate: ReturnType<typeof tokenEstimates>,
): Promise<Answer | GatewayError> {
  const sent = parseJson(request.body);
  if (sent instanceof GatewayError) return sent;
  if (!isRecord(sent)) return invalid("", "must be an object");
  if (caller === null) return new GatewayError("invalid_token", { detail: { detail: "a key is needed" } });
  const call: PlanCall = { request, audience: caller };
  // Whatever the model, the count is ours.
  const read = await readCall({ model: "any", ...sent, stream: false }, call, deps);
  if (read instanceof GatewayError) return read;
  const { shape } = read.request;
  const text = await estimate(read.request.readText());
  const tokens = text + TOKENS_PER_MESSAGE * shape.messages;
  return { status: 200, body: { object: "response.input_tokens", input_tokens: tokens } };
}

export function responsesEndpoints(deps: ResponsesDeps): readonly Endpoint[] {
  const paid = { ...PAID, errors: responsesErrors } as const;
  const estimate = tokenEstimates(deps.counter);
  const one = { auth: "key", bodyBytesMax: 0, errors: responsesErrors, ...at("/responses/{id}") } as const;
  return [
    { ...paid, ...at("/responses"), plan: (call) => responsesPlan(call, deps) },
    { ...paid, ...at("/responses/compact"), plan: (call) => compactPlan(call, deps) },
    {
      ...paid,
      bodyBytesMax: COUNTED_BYTES_MAX,
      ...at("/responses/input_tokens"),
      answer: (call) => inputTokens(call, deps, estimate),
    },
    {
      ...one,
      method: "GET",
      async answer({ request, caller }) {
        const id = request.params.id ?? "";
        const kept = await deps.kept.find(caller?.payer.id ?? "", id);
        return kept === null ? notFound(id) : { status: 200, body: kept.response };
      },
    },
    {
      ...one,
      method: "DELETE",
      async answer({ request, caller }) {
        const id = request.params.id ?? "";
        const gone = await deps.kept.forget(caller?.payer.id ?? "", id);
        return gone ? { status: 200, body: { id, object: "response", deleted: true } } : notFound(id);
      },
    },
  ];
}
