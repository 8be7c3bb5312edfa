// Serves free endpoints.
import type { Answer, StreamAnswer } from "../../core/endpoint.ts";
import { inSlices, jsonOf, ownSlice } from "../../core/slices.ts";
import { addHeaders, type Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { sendStream } from "./send-stream.ts";
import { whileGood } from "./still-good.ts";

/** Leaves endpoints with a plan to the later phases. */
export function answerFree(call: Call, deps: ServeDeps): Promise<void> | void {
  if (!("plan" in call.endpoint)) return answer(call, deps);
}

async function answer(call: Call, deps: ServeDeps): Promise<void> {
  const { request, endpoint, caller, reply } = call;
  if ("plan" in endpoint) return;
  call.isAnswered = true;
  const isAdmin = endpoint.auth === "admin";
  // Yields to calls, however many operator requests there are.
  if (isAdmin) await ownSlice();
  if (!("stream" in endpoint)) {
    const answered = call.orRefuse(await endpoint.answer(call));
    return send(isAdmin ? await inSmallSteps(answered) : answered, call);
  }
  const gone = new AbortController();
  reply.onGone(() => gone.abort());
  const answered = call.orRefuse(await endpoint.stream({ request, caller, gone: gone.signal }));
  const lasts = "bytes" in answered && answered.bytesTotal === undefined;
  if (!lasts || caller === null || endpoint.auth !== "key")
    return send(isAdmin ? await inSmallSteps(answered) : answered, call);
  const stop = whileGood({ request, endpoint, caller }, deps, () => gone.abort());
  return send(answered, call).finally(stop);
}

/** The operator's lists may be of any length, and calls must not wait while one is serialized. */
async function inSmallSteps(answered: Answer | StreamAnswer): Promise<Answer | StreamAnswer> {
  if ("bytes" in answered || typeof answered.body === "string" || answered.body instanceof Uint8Array) return answered;
  return { ...answered, body: await inSlices(jsonOf(answered.body, 2)) };
}

/** Sends the answer whole, or as a stream where it is too long for memory. */
async function send(answered: Answer | StreamAnswer, { reply, rateLimit, record }: Call): Promise<void> {
  rateLimit.tell();
  if ("bytes" in answered) return sendStream(answered, reply, record);
  addHeaders(reply, answered.headers);
  for (const cookie of answered.cookies ?? []) reply.header("set-cookie", cookie);
  if (answered.headers?.["content-type"] === undefined && answered.status !== 304)
    reply.header("content-type", "application/json");
  const { body } = answered;
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  record.status = answered.status;
  record.bytesOut = Buffer.byteLength(bytes);
  reply.send(answered.status, bytes);
}
