// A call whose caller lets the answer be one that was given before: a hit is told again, a miss is made, and kept if it is whole and good.
import type { GatewayError } from "../errors.ts";
import { ANSWER_BYTES_MAX, CACHE_HEADER, type CachedAnswer, type CacheOrder } from "./answer-cache.ts";
import { type Answering, addHeaders } from "./answering.ts";
import type { ServeDeps } from "./deps.ts";
import { TeeReply } from "./tee-reply.ts";

/** `make` makes the answer as always, into the reply that it is given. */
export async function throughCache(
  order: CacheOrder,
  answering: Answering,
  { cache, onBroken }: ServeDeps & { readonly cache: NonNullable<ServeDeps["cache"]> },
  make: (answering: Answering) => Promise<GatewayError | null>,
): Promise<GatewayError | null> {
  const { reply, record } = answering;
  const entered = await cache.enter(order);
  if (typeof entered !== "function") return tellAgain(entered, answering, cache.ageSeconds(entered));
  let answer: CachedAnswer | null = null;
  try {
    // A store that is away keeps no caller from being answered.
    answer = await cache.find(order).catch(() => null);
    if (answer !== null) return tellAgain(answer, answering, cache.ageSeconds(answer));
    reply.header(CACHE_HEADER, "miss");
    const tee = new TeeReply(reply, ANSWER_BYTES_MAX);
    const refused = await make({ ...answering, reply: tee });
    const { copied } = tee;
    if (refused === null && copied !== null && record.outcome === "success" && record.status === 200) {
      answer = cache.answerOf(copied);
      await cache.keep(order, answer).catch((error: unknown) => onBroken(error, record.requestId));
    }
    return refused;
  } finally {
    entered(answer);
  }
}

function tellAgain({ headers, text }: CachedAnswer, { reply, window, record }: Answering, age: number): null {
  window.tell();
  addHeaders(reply, headers);
  addHeaders(reply, { [CACHE_HEADER]: "hit", age: String(age), "x-tollgate-cost-usd": "0" });
  record.outcome = "replayed";
  record.status = 200;
  record.bytesOut = Buffer.byteLength(text);
  if (headers["content-type"]?.startsWith("text/event-stream")) {
    reply.begin(200);
    reply.end(text);
  } else reply.send(200, text);
  return null;
}
