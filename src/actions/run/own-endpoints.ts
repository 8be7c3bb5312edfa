// What we serve besides actions, in the form of actions. core/discover searches it and /llms.txt lists it.

import type { Kind } from "../../catalog/slug.ts";
import type { UnitKind } from "../../catalog/unit-price.ts";

export interface OwnEndpoint {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** `llm`: models; `account`: free data about the account. */
  readonly service: "llm" | "account";
  /** Takes the place of an action's name. */
  readonly action: string;
  readonly description: string;
  readonly keywords: string;
  /** How people who do not know the endpoints would ask for it: phrases, separated by semicolons. */
  readonly asked: string;
  readonly required: readonly string[];
  /** The models that it takes; null: none. */
  readonly models: Kind | UnitKind | null;
}

const LLM = "/api/llm/v1";

function model(
  action: string,
  models: OwnEndpoint["models"],
  said: Pick<OwnEndpoint, "description" | "keywords" | "asked" | "required">,
): OwnEndpoint {
  return { method: "POST", path: `${LLM}/${action}`, service: "llm", action, models, ...said };
}

function account(
  action: string,
  path: string,
  said: Pick<OwnEndpoint, "description" | "keywords" | "asked"> & { readonly required?: readonly string[] },
): OwnEndpoint {
  return { method: "GET", path, service: "account", action, models: null, required: [], ...said };
}

export const OWN_ENDPOINTS: readonly OwnEndpoint[] = [
  model("chat/completions", "chat", {
    asked:
      "translate; summarise; rewrite; proofread; write an email, essay, poem, story, code; explain; shorten; fix grammar; ask a chatbot; brainstorm names; answer from this text; draft a reply; make it sound better; into spanish, french, german; turn notes into a list; classify; tweet, speech, joke, slogan; homework; describe a picture; debug; sql",
    description:
      "Asks a language model in the chat wire of most clients: text, pictures, tools, JSON; streamed or whole",
    keywords:
      "LLM; chat with a model; language model; cheap model; translate text; summarise an article; rewrite; write code; prompt; translate into another language; proofread; write a text; brainstorm; check spelling; cover letter; write an email; explain something; classify; extract from text; ask an AI",
    required: ["model", "messages"],
  }),
  model("responses", "chat", {
    asked: "agent loop with kept answers; go on with an earlier answer",
    description: "Calls a language model in the responses format, with stored answers that later requests can continue",
    keywords: "coding agent",
    required: ["model", "input"],
  }),
  model("messages", "chat", {
    asked: "thinking aloud",
    description: "Asks a language model in the messages wire, with thinking and tools",
    keywords: "coding agent",
    required: ["model", "messages", "max_tokens"],
  }),
  model("embeddings", "embeddings", {
    asked:
      "turn texts into vectors; embed my documents; search my notes by meaning; find duplicates; cluster texts; knowledge base; rag; similarity",
    description: "Makes vectors of texts, for search by meaning in your own data",
    keywords: "embed; vector; embedding; RAG index; semantic search",
    required: ["model", "input"],
  }),
  model("images/generations", "images", {
    asked:
      "draw a picture; make a logo, poster, illustration, icon, drawing, painting, portrait, wallpaper; image of; picture for my blog; cartoon; design a cover; photo of",
    description: "Makes images from words",
    keywords:
      "generate an image; illustration; logo; text to image; draw; painting; artwork; poster; banner; cover picture; icon",
    required: ["model", "prompt"],
  }),
  model("images/edits", "images", {
    asked:
      "edit my photo; remove somebody from a picture; change the background; retouch; make it look like; colorize; selfie; add a hat",
    description: "Changes images by words: a form with files",
    keywords:
      "edit a picture; inpainting; retouch a photo; remove a person from a photo; change the background; remove the background",
    required: ["model", "prompt", "image"],
  }),
  model("audio/transcriptions", "transcription", {
    asked:
      "write down a recording; transcript of a podcast, meeting, call, lecture; speech to text; subtitles; voicemail; what is said; dictate; voice note; type up",
    description: "Transcribes an audio file: speech to text, with subtitles and timestamps",
    keywords:
      "transcribe; transcription; speech to text; convert speech to text; dictation; recording of a meeting; podcast to text; voice message; minutes of a meeting; what is said in a video; subtitles for a video; captions; write down an interview",
    required: ["model", "file"],
  }),
  model("audio/translations", "transcription", {
    asked: "foreign recording into english; speech of another language in english; what does she say in english",
    description: "Turns speech in another language into English text",
    keywords: "translate audio; foreign recording",
    required: ["model", "file"],
  }),
  model("audio/speech", "speech", {
    asked:
      "read this aloud; text to speech; voice over; narrate; audiobook; say it; speak; spoken version; announcement; mp3 of my text",
    description: "Reads a text aloud: text to speech, as sound",
    keywords:
      "text to speech; voice over; narration; read aloud; audiobook; audio version of an article; mp3 of a text; voice for a story; audio guide",
    required: ["model", "input", "voice"],
  }),
  model("completions", "completion", {
    asked: "complete code; autocomplete",
    description: "Completes a bare text or code, fill-in-the-middle",
    keywords: "autocomplete code; FIM; prefix and suffix",
    required: ["model", "prompt"],
  }),
  model("rerank", "rerank", {
    asked: "which of these documents fits best; sort results by relevance; order passages; rank candidates; best match",
    description: "Puts documents into the order of a query",
    keywords: "rerank; sort by relevance; relevance score",
    required: ["model", "query", "documents"],
  }),
  model("moderations", "moderation", {
    asked:
      "is this text harmful; hate speech; insults; toxic, rude, abusive; filter posts; safe for children; nsfw; bad words; is it ok to publish",
    description: "Says what is harmful in texts and pictures; free, 60 a minute",
    keywords:
      "moderate content; unsafe; hate speech; harmful; toxic text; offensive; abusive; insulting; spam; bullying; violent",
    required: ["input"],
  }),
  account("models", `${LLM}/models`, {
    asked: "which models are there; model prices; cheapest model; biggest context; which ai can see pictures",
    description: "Every model and tier with its prices, context and what it takes",
    keywords:
      "list models; which models; model prices; context length; cheapest model; model with vision; biggest context; compare models",
  }),
  account("account", "/api/v1/account", {
    asked: "how much money is left; my balance; credit; am I broke; funds remaining; who am I",
    description: "The balance, what is held, and the key in use",
    keywords:
      "balance; credit left; how much money do I have; spending limit; running out of credit; do I have enough credit",
  }),
  account("usage", "/api/v1/usage", {
    asked:
      "what did I spend; costs by day, key, model; my bill; spending this month; where did my money go; most expensive calls; burn",
    description: "What was spent, by key, model, provider, day or tag",
    keywords:
      "usage report; how much have I spent; costs per day; my spending; bill; who spent most; spend per team; spend by key",
  }),
  account("transactions", "/api/v1/transactions", {
    asked: "receipts; charges; why was I charged; history of payments; statement; what did that call cost",
    description: "What each call was charged, newest first",
    keywords: "receipts; charges; billing history; what did that call cost",
  }),
  account("agents", "/api/v1/agents", {
    asked:
      "api keys; make a key; key for a colleague, agent; spending limit of a key; revoke; allowance; cap; lost my key",
    description: "The account's keys, with their ceilings; POST makes one for an agent",
    keywords: "API keys; create a key; sub-key; spending limit of a key; bound what a key may spend; revoke a key",
  }),
  account("groups", "/api/v1/groups", {
    asked: "team budget; department; share a budget; project limit",
    description: "Teams and projects: keys that share ceilings, lists and rates; POST makes one",
    keywords: "budget of a team; department; project budget; group keys",
  }),
  account("budgets", "/api/v1/budgets", {
    asked: "budget; monthly cap; limit spending; warn me when money is low; ceiling; don't spend more than",
    description: "Every ceiling and what it has come to; PATCH sets ceilings and the low balance",
    keywords: "monthly budget; spending cap; budget alert; warn me when credit is low",
  }),
  account("events", "/api/v1/events", {
    asked: "what happened; notifications; alerts; log of events",
    description: "What has happened: budgets, refusals, ended jobs; as a list or a stream",
    keywords: "notifications; activity feed; history of what happened",
  }),
  account("webhooks", "/api/v1/webhooks", {
    asked: "tell my server; callback; notify me when; alert slack",
    description: "Where events are sent, signed; POST makes one",
    keywords: "notify my server; callback; alert when something happens; be notified",
  }),
  account("jobs", "/api/v1/jobs", {
    asked: "my jobs; what is running; background tasks",
    description: "Jobs of the last seven days, newest first",
    keywords: "list my jobs; running jobs; background work",
  }),
];
