// The language-model endpoints: chat and embeddings make plans, models and pricing answer for free.
import { BY_KEY, seenBy } from "../catalog/audience.ts";
import type { Audience } from "../catalog/catalog.ts";
import type { Answer, Call, Endpoint, EndpointSpec } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { chatErrors } from "../wires/chat-completions/errors.ts";
import { type ChatDeps, chatPlan } from "./chat-plan.ts";
import { embeddingsPlan } from "./embeddings-plan.ts";
import { unitEndpoints } from "./unit-endpoints.ts";

const BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Builders of the free answers, from the catalog as whoever asks sees it. */
export interface PriceAnswers {
  models(audience: Audience): unknown;
  /** By any name that a call may give it. */
  model(name: string, audience: Audience): unknown;
  pricing(audience: Audience): unknown;
}

const FREE = { method: "GET", auth: "none", bodyBytesMax: 0, errors: chatErrors } as const;
const PAID = { method: "POST", auth: "key", bodyBytesMax: BODY_BYTES_MAX, errors: chatErrors } as const;

/** Also below `/v1`, so that a client whose base URL ends as everybody else's does works unchanged. */
function at(path: string) {
  return { path: `/api/llm/v1${path}`, alias: `/v1${path}` };
}

/** An endpoint that knows no wire, below the language models' path and in OpenAI's words for errors. */
export function inChatWire(spec: EndpointSpec): Endpoint {
  return { ...spec, ...at(spec.path), errors: chatErrors };
}

function free(path: string, make: (call: Call) => unknown): Endpoint {
  return {
    ...FREE,
    ...at(path),
    answer(call): Answer | GatewayError {
      const body = make(call);
      return body instanceof GatewayError ? body : { status: 200, body, headers: BY_KEY };
    },
  };
}

function notYet(path: string): Endpoint {
  const served = at(path);
  const detail = `${served.path} is not offered yet; use POST /api/llm/v1/chat/completions.`;
  return { ...PAID, ...served, answer: () => new GatewayError("not_found", { of: "path", detail: { detail } }) };
}

export function chatEndpoints(deps: ChatDeps, answers: PriceAnswers): readonly Endpoint[] {
  return [
    { ...PAID, ...at("/chat/completions"), plan: (call) => chatPlan(call, deps) },
    { ...PAID, ...at("/embeddings"), plan: (call) => embeddingsPlan(call, deps) },
    ...unitEndpoints(deps).map(inChatWire),
    free("/models", ({ caller }) => answers.models(seenBy(caller))),
    free("/models/{slug...}", ({ request, caller }) => answers.model(request.params.slug ?? "", seenBy(caller))),
    free("/pricing", ({ caller }) => answers.pricing(seenBy(caller))),
    notYet("/responses"),
    notYet("/messages"),
  ];
}
