// The end of a paid answer: its last bytes, or what tells that there are none.
import type { FramedOpenPlan, Framing, Reply } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Ended } from "../../core/plan.ts";
import { jsonText } from "../../core/raw-json.ts";
import type { Answering } from "./answering.ts";
import { addHead, type ReplyReader } from "./reply-reader.ts";

/** Writes the last bytes, which acknowledge what the funds have committed. An error comes back where no head is out yet. */
export function finish(
  ended: Ended,
  framed: FramedOpenPlan,
  reader: ReplyReader,
  { reply, record }: Answering,
): GatewayError | null {
  const { frame } = framed;
  record.bytesOut = reader.bytes;
  const isLeft = ended.outcome === "left_before_content" || ended.outcome === "left_after_content";
  if (isLeft) {
    if (ended.outcome === "left_after_content") record.status = 200;
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
  const { final, cost, charge } = ended;
  if (final === null || cost === null || charge === null) throw new Error("an answer has its last part and its price");
  const again = ended.served === null && framed.plan.streamed ? toldAgain(ended, framed, reply) : null;
  if (again === null && ended.served === null && framed.plan.streamed && final.kind === "body") {
    const detail = "Idempotency-Key: the answer that is kept under it cannot be told as a stream; ask for it whole";
    return new GatewayError("bad_request", { param: "Idempotency-Key", detail: { detail } });
  }
  const last = again ?? frame.last(final, cost, charge, ended.legs);
  if (!reader.begun) for (const [name, value] of Object.entries(charge.headers ?? {})) reply.header(name, value);
  record.status = 200;
  record.bytesOut += Buffer.byteLength(last);
  if (final.kind === "stream") {
    // Where no content came, the head is still to be written.
    if (ended.served !== null) reader.begin(ended.served, ended.legs);
    reply.end(last);
  } else if (ended.served === null) {
    if (again === null) reply.header("content-type", "application/json");
    reply.send(200, last);
  } else {
    addHead(framed, reply, { served: ended.served, legs: ended.legs, charge });
    reply.send(200, last);
  }
  return null;
}

/** A whole answer that was kept under the call's key, as the stream that is asked for now; null: it is told whole. */
function toldAgain({ final, cost, charge, legs }: Ended, { frame, retell }: Framing, reply: Reply) {
  if (final?.kind !== "body" || cost === null || charge === null) return null;
  const { json = jsonText(final.body), created, created_at: createdAt = created } = final.body;
  const kept = { text: String(json), type: "application/json", model: legs.at(-1)?.model ?? "" };
  const told = retell?.({ ...kept, createdS: Number(createdAt ?? 0), cost, charge, legs }) ?? null;
  if (told !== null) frame.keepAlive?.headers(reply);
  return told;
}
