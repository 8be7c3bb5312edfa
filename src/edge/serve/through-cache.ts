// A call whose caller lets the answer be one that was given before: a hit is told again, a miss is made, and kept if it is whole and good.
import type { FramedOpenPlan } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import { launchCharge } from "../../kernel/replay.ts";
import { ANSWER_BYTES_MAX, CACHE_HEADER, type CachedAnswer, type CacheOrder } from "./answer-cache.ts";
import { type Answering, addHeaders } from "./answering.ts";
import type { ServeDeps } from "./deps.ts";
import { TeeReply } from "./tee-reply.ts";

const FREE = { chargeNano: ZERO, upstreamNano: ZERO, estimated: false, priceVersion: "" };

/** `make` makes the answer as always, into the reply that it is given; `plan` makes its plan alone. */
export async function throughCache(
  order: CacheOrder,
  answering: Answering,
  { cache, onBroken, answerGuard }: ServeDeps & { readonly cache: NonNullable<ServeDeps["cache"]> },
  {
    make,
    plan,
  }: {
    make(answering: Answering): Promise<GatewayError | null>;
    plan(): FramedOpenPlan | GatewayError | Promise<FramedOpenPlan | GatewayError>;
  },
): Promise<GatewayError | null> {
  const { reply, record } = answering;
  const inForm = async (kept: CachedAnswer | null) => {
    if (kept === null || kept.form === order.form) return kept;
    // The guard sees whole answers alone: one that was streamed past it is not told whole.
    return answerGuard === undefined ? retold(kept, await plan()) : null;
  };
  const entered = await cache.enter(order);
  if (typeof entered !== "function") {
    const told = await inForm(entered);
    return told === null ? make(answering) : tellAgain(told, answering, cache.ageSeconds(told));
  }
  let answer: CachedAnswer | null = null;
  try {
    // A store that is away keeps no caller from being answered.
    answer = await inForm(await cache.find(order).catch(() => null));
    if (answer !== null) return tellAgain(answer, answering, cache.ageSeconds(answer));
    reply.header(CACHE_HEADER, "miss");
    const tee = new TeeReply(reply, ANSWER_BYTES_MAX);
    const refused = await make({ ...answering, reply: tee });
    const { copied } = tee;
    if (refused === null && copied !== null && record.outcome === "success" && record.status === 200) {
      answer = cache.answerOf(copied, { form: order.form, usage: record.usage, legs: record.attempts });
      await cache.keep(order, answer).catch((error: unknown) => onBroken(error, record.requestId));
    }
    return refused;
  } finally {
    entered(answer);
  }
}

/** A kept answer in the form of a plan; null: it cannot be told so. */
function retold(kept: CachedAnswer, framed: FramedOpenPlan | GatewayError): CachedAnswer | null {
  if (framed instanceof GatewayError) return null;
  framed.ended?.();
  const { headers, text, usage, legs, keptAtMs } = kept;
  const model = headers["x-tollgate-model"] ?? legs.at(-1)?.model ?? "";
  const form = { text, type: headers["content-type"] ?? "", model, createdS: Math.floor(keptAtMs / 1_000) };
  const told =
    framed.retell?.({
      ...form,
      cost: { ...FREE, usage },
      charge: launchCharge("", null),
      legs,
    }) ?? null;
  if (told === null) return null;
  const type = framed.plan.streamed && framed.frame.keepAlive !== null ? "text/event-stream" : "application/json";
  return { ...kept, headers: { ...headers, "content-type": type }, text: Buffer.from(told as string).toString("utf8") };
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
