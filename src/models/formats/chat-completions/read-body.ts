// Reads a chat request: validates the fields that matter here, refuses those that change the price, drops unknown ones.

import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import { HOSTS_NOTHING, type Hosts, readActions, type WantedHosted } from "../action-tools.ts";
import { readBody } from "../check-fields.ts";
import type { ModelRequest } from "../model-request.ts";
import { invalid, parseJson } from "../parse-json.ts";
import { shapeOf } from "../prompt-text.ts";
import { commonParts, wantedNames } from "../request-parts.ts";
import { ChatFrame, chatAnswers } from "./answers.ts";
import { CHAT_FIELDS, type ChatBody } from "./fields.ts";
import { chatRequest } from "./request.ts";

// Web search in the chat completions format, which has no tool for it: follows OpenRouter's conventions.

const ONLINE = ":online";

/** The model's name without the suffix that requests a search. */
function withoutOnline(name: string, hosts: Hosts): string {
  return name.endsWith(ONLINE) && hosts("web_search") ? name.slice(0, -ONLINE.length) : name;
}

function isWeb(plugins: unknown): boolean {
  return Array.isArray(plugins) && plugins.length > 0 && plugins.every((one) => isRecord(one) && one.id === "web");
}

function searchAt(param: string): WantedHosted {
  return { param, tool: "web_search", callsMax: null, domains: [], without: [] };
}

function hostedIn({ plugins, model, models }: Json, hosts: Hosts): readonly WantedHosted[] {
  if (plugins !== undefined && plugins !== null) {
    if (isWeb(plugins) && hosts("web_search")) return [searchAt("plugins")];
    const why = isWeb(plugins) ? "no search of the web is configured here" : "of plugins only web is sold";
    throw new GatewayError("unsupported_field", { param: "plugins", detail: why });
  }
  const names = [model, ...(Array.isArray(models) ? models : [])];
  const isOnline = names.some((name) => typeof name === "string" && name.endsWith(ONLINE));
  return isOnline && hosts("web_search") ? [searchAt("model")] : [];
}

const OUTPUT_TOKENS_DEFAULT = 4_096;
const OUTPUT_TOKENS_MAX = 16_384;

const OURS = new Set([...(CHAT_FIELDS.fields ?? [])].flatMap(([name, { ours }]) => (ours ? [name] : [])));

/** The whole body without the gateway's own fields. */
export function unsifted(sent: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(sent).filter(([field]) => field !== "__proto__" && !OURS.has(field)));
}

function outputAsked({ max_tokens: older, max_completion_tokens: newer }: ChatBody): number | null {
  return older == null || newer == null ? (older ?? newer ?? null) : Math.min(older, newer);
}

export function readChatBody(bytes: Buffer, hosts: Hosts = HOSTS_NOTHING): ModelRequest {
  const sent = parseJson(bytes) as Json;
  const known = readBody<ChatBody>(sent, CHAT_FIELDS);
  const actions = readActions(sent, { oneText: true, hosted: hostedIn(sent, hosts) });
  const { body } = known;
  const names = wantedNames(body.model, body.models);
  if (names.length === 0) throw invalid("model", "name a model or a tier, such as core/cheap");
  const stream = body.stream === true;
  // OpenRouter's clients request usage in this field.
  const asksForUsage = isRecord(sent.usage) && sent.usage.include === true;
  const includeUsage = stream && (body.stream_options?.include_usage === true || asksForUsage);
  return {
    ...commonParts(sent, known, CHAT_FIELDS, actions),
    operation: "chat",
    idPrefix: "chatcmpl-",
    asked: chatRequest(body),
    unsifted: () => chatRequest(unsifted(sent) as ChatBody),
    named: body,
    promptField: "messages",
    shape: shapeOf(known),
    wanted: actions === null ? names : names.map(({ name, param }) => ({ name: withoutOnline(name, hosts), param })),
    stream,
    choices: body.n ?? 1,
    output: { asked: outputAsked(body), fallback: OUTPUT_TOKENS_DEFAULT, cap: OUTPUT_TOKENS_MAX, shared: false },
    answers: chatAnswers,
    frame: ({ id, createdS, trace }) => new ChatFrame({ completionId: id, createdS, stream, includeUsage, trace }),
  };
}
