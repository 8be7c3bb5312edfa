// Makes the plan of a request in the responses wire: where it names an answer that is kept, that conversation goes before its own.
import type { FramedOpenPlan, FramedPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { isRecord, type Json } from "../json.ts";
import type { ThoughtSeal } from "../neutral.ts";
import type { Payer, Plan } from "../plan.ts";
import type { FinalPart } from "../route.ts";
import { invalid, parseJson } from "../wires/parse-json.ts";
import { lastEvent } from "../wires/responses/answers.ts";
import { usageJson } from "../wires/responses/usage.ts";
import { compacted, summarizing } from "./compaction.ts";
import type { KeptItems, KeptResponses } from "./kept-responses.ts";
import { type ChatDeps, modelPlan } from "./model-plan.ts";
import { type ReadResponses, readResponsesBody } from "./responses-body.ts";
import { namedItems } from "./responses-input.ts";

export interface ResponsesDeps extends ChatDeps {
  readonly kept: KeptResponses;
}

type Earlier = { readonly items: readonly unknown[]; readonly bytes: number };

function bodyOf({ request }: PlanCall): Json | GatewayError {
  const sent = parseJson(request.body);
  if (sent instanceof GatewayError || isRecord(sent)) return sent;
  return invalid("", "must be an object");
}

type Read = ReadResponses | GatewayError;

/** Reads a request; one that names items which are not in it when those have been looked for. */
function read(sent: Json, call: PlanCall, deps: ResponsesDeps, earlier: Earlier | null): Read | Promise<Read> {
  const nowS = () => Math.floor(deps.clock.epochMs() / 1000);
  const { payer } = call.audience;
  const seal = deps.seals(payer);
  const now = (named: KeptItems | null) => readResponsesBody(sent, { seal, nowS, earlier, named });
  const ids = namedItems(sent.input, earlier?.items ?? []);
  return ids.length === 0 ? now(null) : deps.kept.findItems(payer?.id ?? null, ids, seal).then(now);
}

/** The conversation up to an answer that is kept, and that answer. */
export async function earlierOf(
  id: string,
  payer: string | null,
  { kept }: ResponsesDeps,
): Promise<Earlier | GatewayError> {
  const found = await kept.find(payer, id);
  if (found === null) return new GatewayError("previous_response_not_found", { param: "previous_response_id" });
  const output = Array.isArray(found.response.output) ? found.response.output : [];
  return { items: [...found.input, ...output], bytes: found.bytes };
}

/** Reads a request; one that names an earlier answer when that has been found. */
function readCall(sent: Json, call: PlanCall, deps: ResponsesDeps): Read | Promise<Read> {
  const { previous_response_id: previous } = sent;
  if (typeof previous !== "string") return read(sent, call, deps, null);
  return earlierOf(previous, call.audience.payer?.id ?? null, deps).then((earlier) =>
    earlier instanceof GatewayError ? earlier : read(sent, call, deps, earlier),
  );
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
function keeping({ body }: ReadResponses, payer: Payer, deps: ResponsesDeps): NonNullable<Plan["prepare"]> {
  const input = typeof body.input === "string" ? [{ type: "message", role: "user", content: body.input }] : body.input;
  return async (final, _served, { usage }) => {
    const response = { ...responseIn(final), usage: usage === null ? null : usageJson(usage, null) };
    return (await deps.kept.keep(payer.id, input, response, deps.seals(payer))) ? final : notKept(final);
  };
}

/**
 * Keeps the items of an answer whose request does not speak of storing. The answer does not wait for that: the store takes what it is
 * asked in order, so the items are there before the charge is, and no caller was promised that they are.
 */
function keepingItems(payer: Payer, deps: ResponsesDeps): NonNullable<Plan["prepare"]> {
  return async (final) => {
    void deps.kept.keepItems(payer.id, responseIn(final), deps.seals(payer));
    return final;
  };
}

function planOf(one: Read, call: PlanCall, deps: ResponsesDeps): FramedOpenPlan | GatewayError {
  if (one instanceof GatewayError) return one;
  const framed = modelPlan(call, one.request, deps);
  if (framed instanceof GatewayError || one.keeps === "nothing") return framed;
  return preparedFor(framed, (payer) =>
    one.keeps === "answer" ? keeping(one, payer, deps) : keepingItems(payer, deps),
  );
}

/** The plan with a last step that needs to know the payer. */
function preparedFor(framed: FramedPlan, prepareFor: (payer: Payer) => NonNullable<Plan["prepare"]>): FramedOpenPlan {
  const { plan } = framed;
  const forPayer = (payer: Payer): Plan => ({ ...plan, prepare: prepareFor(payer) });
  return { ...framed, plan: { ...plan, forPayer } };
}

/** Checks a request and makes its plan, or says what is wrong with it. */
export function responsesPlan(
  call: PlanCall,
  deps: ResponsesDeps,
): FramedOpenPlan | GatewayError | Promise<FramedOpenPlan | GatewayError> {
  const sent = bodyOf(call);
  if (sent instanceof GatewayError) return sent;
  const one = readCall(sent, call, deps);
  return one instanceof Promise ? one.then((done) => planOf(done, call, deps)) : planOf(one, call, deps);
}

/** A call of the same model that sums the conversation up. */
export async function compactPlan(call: PlanCall, deps: ResponsesDeps): Promise<FramedOpenPlan | GatewayError> {
  const sent = bodyOf(call);
  if (sent instanceof GatewayError) return sent;
  const one = await readCall(summarizing(sent), call, deps);
  const framed = one instanceof GatewayError ? one : modelPlan(call, one.request, deps);
  if (framed instanceof GatewayError) return framed;
  return preparedFor(framed, (payer) => async (final) => summarized(final, deps.seals(payer)));
}

/** The vendor has done its work: where no summary came of it, the caller is told that, and is charged. */
function summarized(final: FinalPart, seal: ThoughtSeal): FinalPart | GatewayError {
  const body = compacted(responseIn(final), seal);
  return body instanceof GatewayError ? body : { kind: "body", body };
}
