// Serves a call from the answer cache, where its caller allows that. Of misses, complete successful answers are cached.
import { GatewayError, refusalIn } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import { launchCharge } from "../../kernel/replay.ts";
import {
  ANSWER_BYTES_MAX,
  type AnswerCache,
  CACHE_HEADER,
  type CachedAnswer,
  type CacheOrder,
  cacheOrder,
} from "./answer-cache.ts";
import { addHeaders, type Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { TeeReply } from "./tee-reply.ts";

const FREE = { chargeNano: ZERO, upstreamNano: ZERO, estimated: false, priceVersion: "" };

export function answerFromCache(call: Call, { cache, guard, answerGuard, onBroken }: ServeDeps): Promise<void> | void {
  const { caller, endpoint, request } = call;
  if (cache === undefined || caller === null || endpoint.cached !== true) return;
  const order = call.orRefuse(cacheOrder(request, caller, guard !== undefined));
  if (order !== null) return findOrKeep(call, order, { cache, isAnswerGuarded: answerGuard !== undefined, onBroken });
}

async function findOrKeep(
  call: Call,
  order: CacheOrder,
  {
    cache,
    isAnswerGuarded,
    onBroken,
  }: { cache: AnswerCache; isAnswerGuarded: boolean; onBroken: ServeDeps["onBroken"] },
): Promise<void> {
  const { record } = call;
  const inForm = async (kept: CachedAnswer | null) => {
    if (kept === null || kept.form === order.form) return kept;
    // The guard sees only whole answers: one that was streamed past it must not be returned whole.
    return isAnswerGuarded ? null : inFormOf(call, kept);
  };
  const entered = await cache.enter(order);
  if (typeof entered !== "function") {
    const answer = await inForm(entered);
    if (answer !== null) send(call, answer, cache.ageSeconds(answer));
    return;
  }
  let answer: CachedAnswer | null = null;
  call.onEnd(() => entered(answer));
  // While the store is down, serve the call without the cache.
  answer = await inForm(await cache.find(order).catch(() => null));
  if (answer !== null) return send(call, answer, cache.ageSeconds(answer));
  call.reply.header(CACHE_HEADER, "miss");
  const tee = new TeeReply(call.reply, ANSWER_BYTES_MAX);
  call.reply = tee;
  call.onEnd(async (error) => {
    const { copied } = tee;
    if (error !== null || copied === null || record.outcome !== "success" || record.status !== 200) return;
    answer = cache.answerOf(copied, { form: order.form, usage: record.usage, legs: record.attempts });
    await cache.keep(order, answer).catch((fault: unknown) => onBroken(fault, record.requestId));
  });
}

/** A cached answer in the form that this call requests; null: it cannot be converted. */
async function inFormOf(call: Call, kept: CachedAnswer): Promise<CachedAnswer | null> {
  const { endpoint } = call;
  if (!("plan" in endpoint)) return null;
  const planning = async () => endpoint.plan(call);
  const framed = await planning().catch(refusalIn);
  if (framed instanceof GatewayError) return null;
  framed.ended?.();
  const { headers, text, usage, legs, keptAtMs } = kept;
  const again = framed.retell?.({
    text,
    type: headers["content-type"] ?? "",
    model: headers["x-tollgate-model"] ?? legs.at(-1)?.model ?? "",
    createdS: Math.floor(keptAtMs / 1_000),
    cost: { ...FREE, usage },
    charge: launchCharge("", null),
    legs,
  });
  if (again === null || again === undefined) return null;
  const type = framed.plan.streamed && framed.frame.keepAlive !== null ? "text/event-stream" : "application/json";
  return {
    ...kept,
    headers: { ...headers, "content-type": type },
    text: Buffer.from(again as string).toString("utf8"),
  };
}

function send(call: Call, { headers, text }: CachedAnswer, ageSeconds: number): void {
  const { reply, rateLimit, record } = call;
  call.isAnswered = true;
  rateLimit.tell();
  addHeaders(reply, headers);
  addHeaders(reply, { [CACHE_HEADER]: "hit", age: String(ageSeconds), "x-tollgate-cost-usd": "0" });
  record.outcome = "replayed";
  record.status = 200;
  record.bytesOut = Buffer.byteLength(text);
  if (headers["content-type"]?.startsWith("text/event-stream")) {
    reply.begin(200);
    reply.end(text);
  } else reply.send(200, text);
}
