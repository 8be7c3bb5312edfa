// Writes the end of a paid answer: its last bytes, or the error instead.
import type { Framing, Reply } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Ended } from "../../core/plan.ts";
import { jsonText } from "../../core/raw-json.ts";
import { addHeaders, type Call } from "./call.ts";
import { addHead, type ReplyReader } from "./reply-reader.ts";

/** Writes the last bytes, which confirm what the funds have committed. Returns an error where no head was written yet. */
export function finish(call: Call, ended: Ended, reader: ReplyReader): GatewayError | null {
  const { framed, reply, record } = call;
  if (framed === null) throw new Error("only a planned call is finished");
  const { frame } = framed;
  record.bytesOut = reader.bytes;
  if (ended.outcome === "left_before_content") return null;
  if (ended.outcome === "left_after_content") {
    record.status = 200;
    return null;
  }
  if (ended.error !== null) {
    if (!reader.begun) return ended.error;
    record.status = 200;
    record.code = ended.error.code;
    record.told = ended.error.message;
    const told = frame.broken(ended.error, ended.legs);
    if (told === null) {
      reply.cut();
      return null;
    }
    record.bytesOut += Buffer.byteLength(told);
    reply.end(told);
    return null;
  }
  const { final, cost, charge, served, legs } = ended;
  if (final === null || cost === null || charge === null) throw new Error("an answer has its last part and its price");
  const replaysAsStream = served === null && framed.plan.streamed;
  const replayed = replaysAsStream ? keptAsStream(ended, framed, reply) : null;
  if (replaysAsStream && replayed === null && final.kind === "body") {
    const detail = "Idempotency-Key: the answer that is kept under it cannot be told as a stream; ask for it whole";
    return new GatewayError("bad_request", { param: "Idempotency-Key", detail: { detail } });
  }
  const last = replayed ?? frame.last(final, cost, charge, legs);
  if (!reader.begun) {
    call.tellRun();
    addHeaders(reply, charge.headers);
  }
  record.status = 200;
  record.bytesOut += Buffer.byteLength(last);
  if (final.kind === "stream") {
    // Without any content the head is still to be written.
    if (served !== null) reader.begin(served, legs);
    reply.end(last);
    return null;
  }
  if (served !== null) addHead(framed, reply, { served, legs, charge });
  else if (replayed === null) reply.header("content-type", "application/json");
  reply.send(200, last);
  return null;
}

/** Converts a whole answer, stored under the call's idempotency key, to the stream that this call requests; null: it is sent whole. */
function keptAsStream({ final, cost, charge, legs }: Ended, { frame, retell }: Framing, reply: Reply) {
  if (final?.kind !== "body" || cost === null || charge === null) return null;
  const { json = jsonText(final.body), created, created_at: createdAt = created } = final.body;
  const kept = { text: String(json), type: "application/json", model: legs.at(-1)?.model ?? "" };
  const stream = retell?.({ ...kept, createdS: Number(createdAt ?? 0), cost, charge, legs }) ?? null;
  if (stream !== null) frame.keepAlive?.headers(reply);
  return stream;
}
