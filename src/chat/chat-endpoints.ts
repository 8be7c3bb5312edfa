// The language-model endpoints: chat and embeddings make plans, models and pricing answer for free.

import type { Endpoint } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { chatErrors } from "../wires/chat-completions/errors.ts";
import { type ChatDeps, chatPlan } from "./chat-plan.ts";
import { embeddingsPlan } from "./embeddings-plan.ts";

const BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Builders of the free answers, from the catalog. */
export interface PriceAnswers {
  models(): unknown;
  model(slug: string): unknown;
  pricing(): unknown;
}

const OPEN = { auth: "none", bodyBytesMax: 0, errors: chatErrors } as const;
const PAID = { method: "POST", auth: "key", bodyBytesMax: BODY_BYTES_MAX, errors: chatErrors } as const;

function notYet(path: string): Endpoint {
  const detail = `${path} is not offered yet; use POST /api/llm/v1/chat/completions.`;
  return { ...PAID, path, answer: () => new GatewayError("not_found", { detail: { detail } }) };
}

export function chatEndpoints(deps: ChatDeps, answers: PriceAnswers): readonly Endpoint[] {
  return [
    { ...PAID, path: "/api/llm/v1/chat/completions", plan: (call) => chatPlan(call, deps) },
    { ...PAID, path: "/api/llm/v1/embeddings", plan: (call) => embeddingsPlan(call, deps) },
    { ...OPEN, method: "GET", path: "/api/llm/v1/models", answer: () => ({ status: 200, body: answers.models() }) },
    {
      ...OPEN,
      method: "GET",
      path: "/api/llm/v1/models/{slug...}",
      answer({ request }) {
        const slug = request.params.slug ?? "";
        const model = answers.model(slug);
        if (model === null) return new GatewayError("model_not_found", { param: "slug", detail: { model: slug } });
        return { status: 200, body: model };
      },
    },
    { ...OPEN, method: "GET", path: "/api/llm/v1/pricing", answer: () => ({ status: 200, body: answers.pricing() }) },
    notYet("/api/llm/v1/responses"),
    notYet("/api/llm/v1/messages"),
  ];
}
