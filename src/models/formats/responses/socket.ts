// The responses format over a WebSocket (Open Responses 2026-04-24): `response.create` in, events out, one answer at a time.
import type { Answer, Call, OverSocket } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { idAfter } from "../../../core/ids.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import { says } from "../../../core/json-bytes.ts";
import { NO_USAGE } from "../../../core/token-usage.ts";
import type { WireHost } from "../wire.ts";
import { createIn, itemsIn, remember } from "./conversation.ts";
import { ID_PREFIX } from "./read-body.ts";
import { readSent } from "./read-call.ts";
import { responseObject, usageJson } from "./response-object.ts";

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

export function overSocket(host: WireHost): OverSocket {
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
