// The answer of an endpoint that costs nothing, and was not refused.
import type { Answer, StreamAnswer } from "../../core/endpoint.ts";
import { type Answering, addHeaders } from "./answering.ts";
import { sendStream } from "./send-stream.ts";

/** Sends it whole, or as a stream where it is too long to keep. */
export async function sendAnswer(answered: Answer | StreamAnswer, { reply, window, record }: Answering): Promise<null> {
  window.tell();
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
  return null;
}
