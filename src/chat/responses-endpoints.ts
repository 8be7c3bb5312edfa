// The endpoints of the responses wire.
import type { Answer, Call, Endpoint } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { responsesErrors } from "../wires/responses/errors.ts";
import type { FreeCounts } from "./free-counts.ts";
import { at, PAID } from "./paths.ts";
import { compactPlan, earlierOf, type ResponsesDeps, responsesPlan } from "./responses-plan.ts";

/** What vendors write around every item. */
const TOKENS_PER_MESSAGE = 4;
/** A count is free, so what is read for one is less than what is read for an answer. */
const COUNTED_BYTES_MAX = 4 * 1024 * 1024;

function notFound(id: string): GatewayError {
  const detail = `no response ${id.slice(0, 80)} is kept; one is where store: true was said, for a day`;
  return new GatewayError("not_found", { of: "path", detail: { detail } });
}

/** How many tokens a request would send, by our own count: an estimate, and free. */
async function inputTokens(
  { request, caller }: Call,
  deps: ResponsesDeps,
  counts: FreeCounts,
): Promise<Answer | GatewayError> {
  if (caller === null) return new GatewayError("invalid_token", { detail: { detail: "a key is needed" } });
  const { payer } = caller;
  const named = {
    earlier: (id: string) => earlierOf(id, payer.id, deps),
    items: (ids: readonly string[]) => deps.kept.findItems(payer.id, ids, deps.seals(payer)),
  };
  const read = await counts("responses", request, payer, named);
  if (read instanceof GatewayError) return read;
  const tokens = read.tokens + TOKENS_PER_MESSAGE * read.shape.messages;
  return { status: 200, body: { object: "response.input_tokens", input_tokens: tokens } };
}

export function responsesEndpoints(deps: ResponsesDeps, counts: FreeCounts): readonly Endpoint[] {
  const paid = { ...PAID, errors: responsesErrors } as const;
  const one = { auth: "key", bodyBytesMax: 0, errors: responsesErrors, ...at("/responses/{id}") } as const;
  return [
    { ...paid, ...at("/responses"), plan: (call) => responsesPlan(call, deps) },
    { ...paid, ...at("/responses/compact"), plan: (call) => compactPlan(call, deps) },
    {
      ...paid,
      bodyBytesMax: COUNTED_BYTES_MAX,
      ...at("/responses/input_tokens"),
      longWithCredit: true,
      answer: (call) => inputTokens(call, deps, counts),
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
