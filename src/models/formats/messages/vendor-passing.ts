// Pass-through with the messages wire on both sides: forwards the caller's bytes and the vendor's, and replaces their names with ours.

import { isRecord, type Json, numberOf, stringOf } from "../../../core/json.ts";
import { withMembers } from "../../../core/json-bytes.ts";
import type { SentRequest } from "../../../core/neutral.ts";
import type { ChatContext, OwnSeal, Passing, UnaryAnswer, UpstreamBody } from "../../../upstream/format-kit/dialect.ts";
import { fitOf, type ToolPlaces } from "../../../upstream/format-kit/tool-fit.ts";
import {
  bodyLinksOf,
  bodyWithMedia,
  type LinkPlace,
  type Media,
  type MediaLink,
} from "../../../upstream/media-links.ts";
import { emptiness, malformed } from "../../../upstream/vendor-failure.ts";
import { failureInside, finishOf, messagesError, tellUnpriced, usageOf } from "./vendor-answer.ts";
import { messagesPassingReader, originalName } from "./vendor-passing-stream.ts";

/** Few bodies contain a link, and a byte search is cheaper than walking the messages. */
const MAYBE_LINKED = Buffer.from('"url"');

const KINDS: ReadonlyMap<unknown, MediaLink["kind"]> = new Map([
  ["image", "image"],
  ["document", "file"],
]);

function linkIn(block: Json): LinkPlace | null {
  const { type, source } = block;
  const kind = KINDS.get(type);
  if (kind === undefined || !isRecord(source) || source.type !== "url" || typeof source.url !== "string") return null;
  return { url: source.url, kind, put: (media) => ({ ...block, source: sourceOf(media) }) };
}

function sourceOf({ mediaType, base64 }: Media): Json {
  if (mediaType !== "text/plain") return { type: "base64", media_type: mediaType, data: base64 };
  return { type: "text", media_type: mediaType, data: Buffer.from(base64, "base64").toString("utf8") };
}

/** The gateway's own fields, and those that are set here. */
const OWN_FIELDS = ["max_cost_cents", "provider", "models"];
/** The lowest thinking budget that the wire accepts. */
const BUDGET_MIN = 1_024;
/** The prefix of our seals, which a caller may send back in place of a vendor's signature. */
const SEALED = /^tgs\d_/;
const MAYBE_SEALED = Buffer.from('"tgs');

/** A thinking budget is part of the output limit, and must stay below it. */
function thinkingWithin(thinking: unknown, outputTokensMax: number): Json | null {
  if (!isRecord(thinking) || thinking.type !== "enabled") return null;
  const budget = numberOf(thinking.budget_tokens) ?? 0;
  if (budget < outputTokensMax) return null;
  if (outputTokensMax <= BUDGET_MIN) return { type: "disabled" };
  return { ...thinking, budget_tokens: outputTokensMax - 1 };
}

/** A sealed thought in its vendor's signed form; null if it is another vendor's. */
function openedThought(block: Json, seal: OwnSeal | undefined): Json | null {
  const sealed = stringOf(block.signature) ?? stringOf(block.data) ?? "";
  const thought = seal?.open(sealed) ?? null;
  if (thought?.sealed != null) return { type: "redacted_thinking", data: thought.sealed };
  if (thought?.signature == null) return null;
  return { type: "thinking", thinking: thought.text, signature: thought.signature };
}

function isSealed(block: unknown): block is Json {
  if (!isRecord(block) || (block.type !== "thinking" && block.type !== "redacted_thinking")) return false;
  return SEALED.test(stringOf(block.signature) ?? stringOf(block.data) ?? "");
}

/** Opens sealed thoughts that translated turns left in the conversation; drops those of other vendors. */
function openedMessages(messages: readonly unknown[], seal: OwnSeal | undefined): readonly unknown[] {
  return messages.flatMap((message) => {
    if (!isRecord(message) || !Array.isArray(message.content) || !message.content.some(isSealed)) return [message];
    const content = message.content.flatMap((block: unknown) => {
      const opened = isSealed(block) ? openedThought(block, seal) : block;
      return opened === null ? [] : [opened];
    });
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

const TOOLS: ToolPlaces = {
  messages: [
    {
      content: [
        {
          id: ({ type }) => (type === "tool_use" ? "call" : null),
          name: ({ type }) => (type === "tool_use" ? "name" : null),
          tool_use_id: ({ type }) => (type === "tool_result" ? "result" : null),
        },
      ],
    },
  ],
  tools: [{ name: "name", input_schema: "schema" }],
  tool_choice: { name: "name" },
};

/** The fields to change in the forwarded body; undefined: removed. */
function changesOf(asked: Json, context: ChatContext, maybeSealed: boolean): Json {
  const { wire } = context;
  const body = fitOf(context, "messages").fitted(asked, TOOLS);
  const changes: Json = { model: context.upstreamModel, max_tokens: context.outputTokensMax };
  for (const field of [...OWN_FIELDS, ...(wire.dropFields ?? [])]) changes[field] = undefined;
  changes.stream = context.stream ? true : undefined;
  for (const field of Object.keys(TOOLS)) if (body[field] !== asked[field]) changes[field] = body[field];
  const thinking = thinkingWithin(body.thinking, context.outputTokensMax);
  if (thinking !== null) changes.thinking = thinking;
  // A model that always thinks rejects a request to turn thinking off.
  const told = thinking ?? body.thinking;
  if (wire.reasoning === "effort-always" && isRecord(told) && told.type === "disabled") changes.thinking = undefined;
  if (maybeSealed && Array.isArray(body.messages) && body.messages.some(holdsSealed))
    changes.messages = openedMessages(body.messages, context.seal);
  return Object.assign(changes, wire.extraFields);
}

function holdsSealed(message: unknown): boolean {
  return isRecord(message) && Array.isArray(message.content) && message.content.some(isSealed);
}

function request(body: Json, context: ChatContext, sent?: SentRequest): UpstreamBody {
  const path = "/messages";
  if (sent === undefined) {
    const { stream, ...changed } = { ...body, ...changesOf(body, context, true) } as Json;
    return { path, body: stream === undefined ? changed : { ...changed, stream } };
  }
  const changes = changesOf(body, context, sent.bytes.includes(MAYBE_SEALED));
  return { path, body, bytes: withMembers(sent.bytes, changes), headers: sent.headers };
}

function textOf(content: readonly unknown[]): string {
  return content
    .filter(isRecord)
    .map(({ text, thinking, input, name }) => {
      const call = input === undefined ? "" : `${stringOf(name) ?? ""}${JSON.stringify(input)}`;
      return `${stringOf(text) ?? ""}${stringOf(thinking) ?? ""}${call}`;
    })
    .join("");
}

function gives(block: unknown): boolean {
  return isRecord(block) && (block.type === "text" ? block.text !== "" : !/thinking$/.test(String(block.type)));
}

function answer(json: unknown, context: ChatContext): UnaryAnswer {
  if (!isRecord(json)) return malformed("the answer is no JSON object");
  if (json.type === "error" || isRecord(json.error)) return failureInside(json);
  const native = stringOf(json.stop_reason);
  if (!Array.isArray(json.content) || native === undefined)
    return malformed("the answer has no content or stop_reason");
  const empty = json.content.some(gives) ? null : emptiness(finishOf(native), native);
  const usage = isRecord(json.usage) ? usageOf(json.usage) : null;
  if (isRecord(json.usage)) tellUnpriced(json.usage, context);
  // Changes the vendor's object in place.
  json.id = context.completionId;
  json.model = context.servedSlug;
  for (const block of json.content)
    if (isRecord(block) && block.name !== undefined) block.name = originalName(block, context);
  const text = usage === null ? textOf(json.content) : "";
  return { usage, upstreamCostNano: null, body: json, text, ...(empty === null ? {} : { empty }) };
}

export const messagesPassing: Passing = {
  request,
  links: (body, { wire: { fetches = "https" } }, sent) =>
    sent?.bytes.includes(MAYBE_LINKED) === false ? [] : bodyLinksOf(body, fetches, linkIn),
  withMedia: (body, media) => bodyWithMedia(body, media, linkIn),
  answer,
  restoresNames: true,
  error: messagesError,
  reader: messagesPassingReader,
};
