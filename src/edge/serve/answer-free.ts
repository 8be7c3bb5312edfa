// Serves free endpoints.
import type { Answer, Reply, StreamAnswer } from "../../core/endpoint.ts";
import { inSlices, jsonOf, ownSlice } from "../../core/slices.ts";
import type { RequestRecord } from "../../platform/observe/record.ts";
import { addHeaders, type Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { whileGood } from "./still-good.ts";

/** Cuts the connection where the source fails or yields fewer bytes than announced. */
export async function sendStream(answer: StreamAnswer, reply: Reply, record: RequestRecord): Promise<void> {
  for (const [name, value] of Object.entries(answer.headers)) reply.header(name, value);
  let wake = () => {};
  reply.onGone(() => wake());
  reply.onRoom(() => wake());
  record.status = reply.closed ? 0 : answer.status;
  const { bytesTotal = Number.POSITIVE_INFINITY } = answer;
  reply.begin(answer.status, answer.bytesTotal);
  try {
    for await (const part of answer.bytes) {
      if (reply.closed) break;
      record.bytesOut += part.length;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      if (!reply.write(part) && record.bytesOut < bytesTotal && !reply.closed) await promise;
    }
    if (answer.bytesTotal === undefined || record.bytesOut === bytesTotal) reply.end();
  } finally {
    // Only a cut connection shows that bytes are missing.
    if (!reply.closed) reply.cut();
  }
}

/** Leaves endpoints with a plan to the later phases. */
export function answerFree(call: Call, deps: ServeDeps): Promise<void> | void {
  if (!("plan" in call.endpoint)) return answer(call, deps);
}

async function answer(call: Call, deps: ServeDeps): Promise<void> {
  const { request, endpoint, caller, notAdmitted, reply } = call;
  if ("plan" in endpoint) return;
  call.isAnswered = true;
  const isAdmin = endpoint.auth === "admin";
  // Yields to calls, however many operator requests there are.
  if (isAdmin) await ownSlice();
  if (!("stream" in endpoint)) {
    const answered = await endpoint.answer(call);
    return send(isAdmin ? await inSmallSteps(answered) : answered, call);
  }
  const gone = new AbortController();
  reply.onGone(() => gone.abort());
  const answered = await endpoint.stream({ request, caller, notAdmitted, gone: gone.signal });
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
