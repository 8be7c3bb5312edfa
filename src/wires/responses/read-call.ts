// Reads a call in the responses wire: where it names an answer that is kept, that conversation goes before its own.
import type { PlanCall } from "../../endpoint.ts";
import { GatewayError } from "../../errors.ts";
import { isRecord, type Json } from "../../json.ts";
import type { ThoughtSeal } from "../../neutral.ts";
import type { Plan } from "../../plan.ts";
import type { FinalPart } from "../../route.ts";
import type { Hosts } from "../action-tools.ts";
import type { ModelRequest } from "../model-request.ts";
import { invalid, parseJson } from "../parse-json.ts";
import type { Earlier, KeptItems, WireHost } from "../wire.ts";
import { lastEvent } from "./answers.ts";
import { compacted, summarizing } from "./compaction.ts";
import { namedItems } from "./input.ts";
import { type ReadResponses, readResponsesBody } from "./read-body.ts";
import { usageJson } from "./usage.ts";

type Prepare = NonNullable<Plan["prepare"]>;
type Read = ReadResponses | GatewayError;

export function objectIn(bytes: Buffer): Json | GatewayError {
  const sent = parseJson(bytes);
  if (sent instanceof GatewayError || isRecord(sent)) return sent;
  return invalid("", "must be an object");
}

/** Reads a request; one that names items which are not in it when those have been looked for. */
function read(sent: Json, call: PlanCall, host: WireHost, earlier: Earlier | null): Read | Promise<Read> {
  const nowS = () => Math.floor(host.epochMs() / 1000);
  const { payer } = call.audience;
  const hosts: Hosts = (tool) => host.hosts(tool, call.audience);
  const seal = host.seals(payer);
  const now = (named: KeptItems | null) => readResponsesBody(sent, { seal, nowS, earlier, named, hosts });
  const ids = namedItems(sent.input, earlier?.items ?? []);
  return ids.length === 0 ? now(null) : host.kept.findItems(payer?.id ?? null, ids, seal).then(now);
}

/** Reads a request; one that names an earlier answer when that has been found. */
function readSent(sent: Json, call: PlanCall, host: WireHost): Read | Promise<Read> {
  const { previous_response_id: previous } = sent;
  if (typeof previous !== "string") return read(sent, call, host, null);
  return host.kept
    .earlier(call.audience.payer?.id ?? null, previous)
    .then((earlier) => (earlier instanceof GatewayError ? earlier : read(sent, call, host, earlier)));
}

function responseIn(final: FinalPart): Json {
  const response = final.kind === "body" ? final.body : lastEvent(final.tail)?.response;
  if (response === undefined) throw new Error("an answer ends with its response");
  return response;
}

/** The same last part where the answer could not be kept after all. */
function notKept(final: FinalPart): FinalPart {
  if (final.kind === "body") return { kind: "body", body: { ...final.body, store: false } };
  const event = lastEvent(final.tail);
  if (event === null) return final;
  event.response.store = false;
  return { kind: "stream", tail: Buffer.concat([event.before, Buffer.from(`${JSON.stringify(event.data)}\n\n`)]) };
}

/** Keeps an answer before its last byte goes out: the next request may come at once. */
function keeping({ body }: ReadResponses, payer: string, kept: Keeper): Prepare {
  const input = typeof body.input === "string" ? [{ type: "message", role: "user", content: body.input }] : body.input;
  return async (final, _served, { usage }) => {
    const response = { ...responseIn(final), usage: usage === null ? null : usageJson(usage, null) };
    return (await kept.answers.keep(payer, input, response, kept.seal)) ? final : notKept(final);
  };
}

interface Keeper {
  readonly answers: WireHost["kept"];
  readonly seal: ThoughtSeal;
}

/**
 * Keeps the items of an answer whose request does not speak of storing. The answer does not wait for that: the store takes what it is
 * asked in order, so the items are there before the charge is, and no caller was promised that they are.
 */
function keepingItems(payer: string, { answers, seal }: Keeper): Prepare {
  return async (final) => {
    void answers.keepItems(payer, responseIn(final), seal);
    return final;
  };
}

function requestOf(one: Read, host: WireHost): ModelRequest | GatewayError {
  if (one instanceof GatewayError || one.keeps === "nothing") return one instanceof GatewayError ? one : one.request;
  return {
    ...one.request,
    prepareFor(payer) {
      const keeper = { answers: host.kept, seal: host.seals(payer) };
      return one.keeps === "answer" ? keeping(one, payer.id, keeper) : keepingItems(payer.id, keeper);
    },
  };
}

/** Checks a request, or says what is wrong with it. */
export function readResponses(
  call: PlanCall,
  host: WireHost,
): ModelRequest | GatewayError | Promise<ModelRequest | GatewayError> {
  const sent = objectIn(call.request.body);
  if (sent instanceof GatewayError) return sent;
  const one = readSent(sent, call, host);
  return one instanceof Promise ? one.then((done) => requestOf(done, host)) : requestOf(one, host);
}

/** The vendor has done its work: where no summary came of it, the caller is told that, and is charged. */
function summarized(final: FinalPart, seal: ThoughtSeal): FinalPart | GatewayError {
  const body = compacted(responseIn(final), seal);
  return body instanceof GatewayError ? body : { kind: "body", body };
}

/** A call of the same model that sums the conversation up. */
export async function readCompaction(call: PlanCall, host: WireHost): Promise<ModelRequest | GatewayError> {
  const sent = objectIn(call.request.body);
  if (sent instanceof GatewayError) return sent;
  const one = await readSent(summarizing(sent), call, host);
  if (one instanceof GatewayError) return one;
  const { actions: _, ...request } = one.request;
  return { ...request, prepareFor: (payer) => async (final) => summarized(final, host.seals(payer)) };
}
