// The responses format: whole answers or event streams, stored on request, with free token counts.
import type { Answer, Call, EndpointSpec, OverSocket } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { idAfter } from "../../../core/ids.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import { says } from "../../../core/json-bytes.ts";
import { NO_USAGE } from "../../../core/token-usage.ts";
import { at } from "../paths.ts";
import type { CountContext, CountRead, ModelWire, WireHost } from "../wire.ts";
import { createIn, itemsIn, objectIn, remember } from "./conversation.ts";
import { responsesErrors } from "./errors.ts";
import { namedItems } from "./input.ts";
import { ID_PREFIX, readResponsesBody } from "./read-body.ts";
import { readCompaction, readResponses, readSent } from "./read-call.ts";
import { WIRE } from "./request.ts";
import { responseObject, usageJson } from "./response-object.ts";

// The responses format over a WebSocket (Open Responses 2026-04-24): `response.create` in, events out, one answer at a time.

/** Agents open a socket early with such a request: it is only remembered, and the first real request continues it. */
const GENERATE = '"generate"';
const NO_COST = { ...usageJson(NO_USAGE), cost: 0 };

function wantsNothing(message: Buffer): boolean {
  return says(message, GENERATE, "false");
}

/** The empty answer to a request that is only remembered. */
async function ready({ request, caller }: Call, host: WireHost): Promise<Answer> {
  const sent = createIn(request.body);
  if (caller === null) throw new GatewayError("invalid_token");
  const one = await readSent(sent, { request, audience: caller }, host);
  const name = one.request.wanted[0]?.name ?? "";
  const row = host.models.one(name, caller);
  const createdS = Math.floor(host.epochMs() / 1000);
  const head = { id: idAfter(request.id, ID_PREFIX), createdS, model: row.id };
  const state = { status: "completed", output: [], completedS: createdS } as const;
  const response = { ...responseObject(head, one.call.echo(), state), usage: NO_COST };
  if (request.memory !== undefined) remember(request.memory, head.id, itemsIn(one.body));
  return { status: 200, body: response };
}

function eventsOf(response: Json): readonly string[] {
  const open = { ...response, status: "in_progress", completed_at: null, usage: null };
  return [
    { type: "response.created", sequence_number: 0, response: open },
    { type: "response.completed", sequence_number: 1, response },
  ].map((event) => JSON.stringify(event));
}

function overSocket(host: WireHost): OverSocket {
  return {
    wantsNothing,
    ready: (call) => ready(call, host),
    whole(status, text, headers) {
      const body: unknown = JSON.parse(text);
      if (!isRecord(body)) throw new Error("an answer in this wire is an object");
      if (status === 200) return eventsOf(body);
      return [JSON.stringify({ type: "error", status, error: body.error, headers })];
    },
  };
}

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
        if (found === null) throw notFound(id);
        return { status: 200, body: found.response };
      },
    },
    {
      ...one,
      method: "DELETE",
      async answer({ request, caller }) {
        const id = request.params.id ?? "";
        const gone = await kept.forget(caller?.payer.id ?? "", id);
        if (!gone) throw notFound(id);
        return { status: 200, body: { id, object: "response", deleted: true } };
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
