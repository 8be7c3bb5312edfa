// The responses format: whole answers or event streams, stored on request, with free token counts.
import type { EndpointSpec } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { at } from "../paths.ts";
import type { CountContext, CountRead, ModelWire, WireHost } from "../wire.ts";
import { objectIn } from "./conversation.ts";
import { responsesErrors } from "./errors.ts";
import { namedItems } from "./input.ts";
import { readResponsesBody } from "./read-body.ts";
import { readCompaction, readResponses } from "./read-call.ts";
import { WIRE } from "./request.ts";
import { overSocket } from "./socket.ts";

/** Counts are free, so their bodies have a tighter limit. */
const COUNTED_BYTES_MAX = 4 * 1024 * 1024;

function notFound(id: string): GatewayError {
  const detail = `no stored response ${id.slice(0, 80)}; responses are stored for one day, and only with store: true`;
  return new GatewayError("not_found", { of: "path", detail });
}

function countRead(bytes: Buffer, { seal, earlier, named }: CountContext): CountRead {
  const sent = objectIn(bytes);
  const { previous_response_id: previous } = sent;
  if (typeof previous === "string" && earlier === null) return { previous };
  const ids = named === null ? namedItems(sent.input, earlier?.items ?? []) : [];
  if (ids.length > 0) return { ids };
  // We count tokens ourselves, for any model. The clock is fixed at 0, because a count does not depend on the time.
  const read = readResponsesBody({ model: "any", ...sent, stream: false }, { seal, nowS: () => 0, earlier, named });
  return { model: null, shape: read.request.shape, text: read.request.readText() };
}

function keptEndpoints({ kept }: WireHost): readonly EndpointSpec[] {
  const one = { auth: "key", bodyBytesMax: 0, ...at("/responses/{id}") } as const;
  return [
    {
      ...one,
      method: "GET",
      async answer({ request, caller }) {
        const id = request.params.id ?? "";
        const found = await kept.find(caller?.payer.id ?? "", id);
        return found === null ? notFound(id) : { status: 200, body: found.response };
      },
    },
    {
      ...one,
      method: "DELETE",
      async answer({ request, caller }) {
        const id = request.params.id ?? "";
        const gone = await kept.forget(caller?.payer.id ?? "", id);
        return gone ? { status: 200, body: { id, object: "response", deleted: true } } : notFound(id);
      },
    },
  ];
}

export const responsesWire: ModelWire = {
  name: WIRE,
  errors: responsesErrors,
  calls: [
    { ...at("/responses"), read: readResponses, overSocket },
    { ...at("/responses/compact"), read: readCompaction },
  ],
  counts: [
    {
      ...at("/responses/input_tokens"),
      bodyBytesMax: COUNTED_BYTES_MAX,
      read: countRead,
      answer: (tokens) => ({ object: "response.input_tokens", input_tokens: tokens }),
    },
  ],
  free: keptEndpoints,
};
