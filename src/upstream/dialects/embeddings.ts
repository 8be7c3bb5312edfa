// OpenAI's embeddings wire, read with the same means as a chat answer: whole, with usage.
import { isRecord, type Json } from "../../json.ts";
import type { TokenUsage } from "../../route.ts";
import { classify } from "../classify.ts";
import { readError, readUsage, statusInside } from "./chat-completions-wire.ts";
import type { ChatContext, Passing, UnaryAnswer, UpstreamBody } from "./dialect.ts";

function request(body: Json, context: ChatContext): UpstreamBody {
  return { path: "/embeddings", body: { ...body, model: context.upstreamModel } };
}

function answer(json: unknown, context: ChatContext): UnaryAnswer {
  if (isRecord(json) && json.error) return classify(statusInside(json), readError(json), null);
  if (!isRecord(json) || !Array.isArray(json.data) || json.data.length === 0) {
    return { kind: "provider_malformed", status: 200, message: "the answer has no embeddings", retryAfterMs: null };
  }
  const { usage: _usage, ...body } = json;
  return { ...readUsage(json, context), body: { ...body, model: context.servedSlug }, text: "" };
}

/** What an answer without embeddings says that it used all the same; null: it does not say. */
export function toldOfEmbeddings(context: ChatContext): (json: unknown) => { readonly usage: TokenUsage } | null {
  return (json) => {
    const { usage } = readUsage(json, context);
    return usage === null ? null : { usage };
  };
}

export const embeddings: Passing = {
  request,
  answer,
  error: readError,
  reader: () => ({ event: () => false }),
};
