// What is served beside actions, said as actions say themselves: models by endpoint, and what an account asks of its own books.
// core/discover searches it and /llms.txt lists it.

import type { Kind } from "../catalog/slug.ts";
import type { UnitKind } from "../catalog/unit-model.ts";

export interface OwnEndpoint {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** `llm`: models; `account`: what is known of the account and costs nothing. */
  readonly service: "llm" | "account";
  /** What it is called in the place of an action's name. */
  readonly action: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly required: readonly string[];
  /** Which models it takes; null: none. */
  readonly models: Kind | UnitKind | null;
}

const LLM = "/api/llm/v1";

function model(
  action: string,
  models: OwnEndpoint["models"],
  said: Pick<OwnEndpoint, "description" | "keywords" | "required">,
): OwnEndpoint {
  return { method: "POST", path: `${LLM}/${action}`, service: "llm", action, models, ...said };
}

function account(
  action: string,
  path: string,
  said: Pick<OwnEndpoint, "description" | "keywords"> & { readonly required?: readonly string[] },
): OwnEndpoint {
  return { method: "GET", path, service: "account", action, models: null, required: [], ...said };
}

export const OWN_ENDPOINTS: readonly OwnEndpoint[] = [
  model("chat/completions", "chat", {
    description:
      "Asks a language model in the chat wire of most clients: text, pictures, tools, JSON; streamed or whole",
    keywords: [
      "LLM",
      "chat with a model",
      "language model",
      "cheap model",
      "translate text",
      "summarise an article",
      "rewrite",
      "write code",
      "prompt",
    ],
    required: ["model", "messages"],
  }),
  model("responses", "chat", {
    description: "Asks a language model in the responses wire, with answers that are kept and gone on with",
    keywords: ["coding agent"],
    required: ["model", "input"],
  }),
  model("messages", "chat", {
    description: "Asks a language model in the messages wire, with thinking and tools",
    keywords: ["coding agent"],
    required: ["model", "messages", "max_tokens"],
  }),
  model("embeddings", "embeddings", {
    description: "Makes vectors of texts, for search by meaning in your own data",
    keywords: ["embed", "vector", "embedding", "RAG index"],
    required: ["model", "input"],
  }),
  model("images/generations", "images", {
    description: "Makes images from words",
    keywords: ["generate an image", "illustration", "logo", "text to image"],
    required: ["model", "prompt"],
  }),
  model("images/edits", "images", {
    description: "Changes images by words: a form with files",
    keywords: ["edit a picture", "inpainting"],
    required: ["model", "prompt", "image"],
  }),
  model("audio/transcriptions", "transcription", {
    description: "Transcribes an audio file: speech to text, with subtitles and timestamps",
    keywords: [
      "transcribe",
      "transcription",
      "speech to text",
      "convert speech to text",
      "dictation",
      "recording of a meeting",
      "podcast to text",
    ],
    required: ["model", "file"],
  }),
  model("audio/translations", "transcription", {
    description: "Turns speech in another language into English text",
    keywords: ["translate audio", "foreign recording"],
    required: ["model", "file"],
  }),
  model("audio/speech", "speech", {
    description: "Reads a text aloud: text to speech, as sound",
    keywords: ["text to speech", "voice over", "narration", "read aloud"],
    required: ["model", "input", "voice"],
  }),
  model("completions", "completion", {
    description: "Completes a bare text or code, fill-in-the-middle",
    keywords: ["autocomplete code", "FIM", "prefix and suffix"],
    required: ["model", "prompt"],
  }),
  model("rerank", "rerank", {
    description: "Puts documents into the order of a query",
    keywords: ["rerank", "sort by relevance", "relevance score"],
    required: ["model", "query", "documents"],
  }),
  model("moderations", "moderation", {
    description: "Says what is harmful in texts and pictures; free, 60 a minute",
    keywords: ["moderate content", "unsafe", "hate speech", "harmful"],
    required: ["input"],
  }),
  account("models", `${LLM}/models`, {
    description: "Every model and tier with its prices, context and what it takes",
    keywords: ["list models", "which models", "model prices", "context length"],
  }),
  account("account", "/api/v1/account", {
    description: "The balance, what is held, and the key in use",
    keywords: ["balance", "credit left", "how much money do I have", "spending limit"],
  }),
  account("usage", "/api/v1/usage", {
    description: "What was spent, by key, model, provider, day or tag",
    keywords: ["usage report", "how much have I spent", "costs per day", "my spending", "bill"],
  }),
  account("transactions", "/api/v1/transactions", {
    description: "What each call was charged, newest first",
    keywords: ["receipts", "charges", "billing history", "what did that call cost"],
  }),
  account("agents", "/api/v1/agents", {
    description: "The account's keys, with their ceilings; POST makes one for an agent",
    keywords: ["API keys", "create a key", "sub-key", "spending limit of a key"],
  }),
];
