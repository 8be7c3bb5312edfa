// Reads a call in the responses format, with the stored conversation that it continues.
import type { PlanCall, SocketMemory } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import type { ThoughtSeal } from "../../../core/neutral.ts";
import type { Plan } from "../../../core/plan.ts";
import type { FinalPart } from "../../../core/route.ts";
import type { Hosts } from "../action-tools.ts";
import type { ModelRequest } from "../model-request.ts";
import type { Earlier, KeptItems, WireHost } from "../wire.ts";
import { lastEvent } from "./answers.ts";
import { compacted, summarizing } from "./compaction.ts";
import { createIn, itemsIn, objectIn, remember, remembered, requireCalls } from "./conversation.ts";
import { namedItems } from "./input.ts";
import { type ReadResponses, readResponsesBody } from "./read-body.ts";
import { usageJson } from "./response-object.ts";

type Prepare = NonNullable<Plan["prepare"]>;
type Read = ReadResponses | Promise<ReadResponses>;

/** Reads a request after looking up the stored items that it refers to. */
function read(sent: Json, call: PlanCall, host: WireHost, earlier: Earlier | null): Read {
  const nowS = () => Math.floor(host.epochMs() / 1000);
  const { payer } = call.audience;
  const hosts: Hosts = (tool) => host.hosts(tool, call.audience);
  const seal = host.seals(payer);
  const onSocket = call.request.memory !== undefined;
  const now = (named: KeptItems | null) => readResponsesBody(sent, { seal, nowS, onSocket, earlier, named, hosts });
  const ids = namedItems(sent.input, earlier?.items ?? []);
  return ids.length === 0 ? now(null) : host.kept.findItems(payer?.id ?? null, ids, seal).then(now);
}

/** Reads a request that continues an earlier answer. */
function readAfter(sent: Json, call: PlanCall, host: WireHost, earlier: Earlier): Read {
  requireCalls(sent.input, earlier.items);
  return read(sent, call, host, earlier);
}

/** Reads a request after finding the earlier answer that it refers to: in the socket's memory or in the store. */
export function readSent(sent: Json, call: PlanCall, host: WireHost): Read {
  const { previous_response_id: previous } = sent;
  if (typeof previous !== "string") return read(sent, call, host, null);
  const near = call.request.memory?.take(previous) ?? null;
  if (near !== null) return readAfter(sent, call, host, remembered(near));
  return host.kept
    .earlier(call.audience.payer?.id ?? null, previous)
    .then((earlier) => readAfter(sent, call, host, earlier));
}

function responseIn(final: FinalPart): Json {
  const response = final.kind === "body" ? final.body : lastEvent(final.tail)?.response;
  if (response === undefined) throw new Error("an answer ends with its response");
  return response;
}

/** The final part of an answer that could not be stored. */
function notKept(final: FinalPart): FinalPart {
  if (final.kind === "body") return { kind: "body", body: { ...final.body, store: false } };
  const event = lastEvent(final.tail);
  if (event === null) return final;
  event.response.store = false;
  return { kind: "stream", tail: Buffer.concat([event.before, Buffer.from(`${JSON.stringify(event.data)}\n\n`)]) };
}

/** Stores an answer before its last byte is sent, because the next request may follow at once. */
function keeping({ body }: ReadResponses, payer: string, kept: Keeper): Prepare {
  const input = itemsIn(body);
  return async (final, _served, { usage }) => {
    const response = { ...responseIn(final), usage: usage === null ? null : usageJson(usage) };
    return (await kept.answers.keep(payer, input, response, kept.seal)) ? final : notKept(final);
  };
}

interface Keeper {
  readonly answers: WireHost["kept"];
  readonly seal: ThoughtSeal;
}

/**
 * Stores the items of an answer whose request does not mention storing. The answer does not wait for it: the store works in order, so the
 * items are there before the charge, and the caller was promised nothing.
 */
function keepingItems(payer: string, { answers, seal }: Keeper): Prepare {
  return async (final) => {
    void answers.keepItems(payer, responseIn(final), seal);
    return final;
  };
}

function requestOf(one: ReadResponses, host: WireHost, memory: SocketMemory | undefined): ModelRequest {
  const { request, keeps } = one;
  if (keeps === "nothing")
    return memory === undefined ? request : { ...request, prepareFor: () => remembering(one, memory, null) };
  return {
    ...request,
    prepareFor(payer) {
      const keeper = { answers: host.kept, seal: host.seals(payer) };
      const keep = keeps === "answer" ? keeping(one, payer.id, keeper) : keepingItems(payer.id, keeper);
      return memory === undefined ? keep : remembering(one, memory, keep);
    },
  };
}

/** Also keeps the conversation and its answer in the socket's memory. */
function remembering({ body }: ReadResponses, memory: SocketMemory, keep: Prepare | null): Prepare {
  return async (final, served, reading) => {
    const { id, output } = responseIn(final);
    remember(memory, String(id), [...itemsIn(body), ...(Array.isArray(output) ? output : [])]);
    return keep === null ? final : keep(final, served, reading);
  };
}

export function readResponses(call: PlanCall, host: WireHost): ModelRequest | Promise<ModelRequest> {
  const { body, memory } = call.request;
  const one = readSent(memory === undefined ? objectIn(body) : createIn(body), call, host);
  return one instanceof Promise ? one.then((done) => requestOf(done, host, memory)) : requestOf(one, host, memory);
}

/** The compacted answer. The vendor's work is charged even if there is no summary. */
function summarized(final: FinalPart, seal: ThoughtSeal): FinalPart | GatewayError {
  const body = compacted(responseIn(final), seal);
  return body instanceof GatewayError ? body : { kind: "body", body };
}

/** Reads a compaction: a call of the same model, to write a summary. */
export async function readCompaction(call: PlanCall, host: WireHost): Promise<ModelRequest> {
  const one = await readSent(summarizing(objectIn(call.request.body)), call, host);
  const { actions: _, ...request } = one.request;
  return { ...request, prepareFor: (payer) => async (final) => summarized(final, host.seals(payer)) };
}
