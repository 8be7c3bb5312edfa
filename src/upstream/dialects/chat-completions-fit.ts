// Fits a body of OpenAI's wire to what its vendor takes of it: said in the vendor's own way where it has one, else left out.
import { createHash } from "node:crypto";
import type { ChatTakes, ChatWire } from "../../catalog/adapter.ts";
import { isRecord, type Json, stringOf } from "../../json.ts";
import { jsonBySchema } from "./json-words.ts";

/** What every vendor takes in a message. */
const MESSAGE_FIELDS = new Set(["role", "content", "tool_calls", "tool_call_id"]);
/** What a model thought aloud has two names; a vendor that takes it back knows one of them. */
const THOUGHT_NAMES = [
  ["reasoning", "reasoning_content"],
  ["reasoning_content", "reasoning"],
] as const;
const NINE = /^[a-zA-Z0-9]{9}$/;
/** From no thinking to the most. */
const EFFORT_WORDS: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** The same id always becomes the same, so calls and results still meet. */
function nineOf(id: unknown): unknown {
  if (typeof id !== "string" || NINE.test(id)) return id;
  return createHash("sha256").update(id).digest("base64url").replace(/[-_]/g, "x").slice(0, 9);
}

function without(from: Json, isLeftOut: (field: string) => boolean): Json {
  return Object.fromEntries(Object.entries(from).filter(([field]) => !isLeftOut(field)));
}

/** Parts that other vendors' answers have in them, in a form that all take. */
function fitContent(parts: readonly unknown[], known: readonly string[]): readonly unknown[] {
  const keepsMarks = known.includes("cache_control");
  return parts.flatMap((part) => {
    if (!isRecord(part)) return [part];
    if (part.type === "reasoning") return [];
    if (part.type === "refusal") return [{ type: "text", text: part.refusal }];
    return [keepsMarks ? part : without(part, (field) => field === "cache_control")];
  });
}

function nineCall(call: unknown): unknown {
  return isRecord(call) ? { ...call, id: nineOf(call.id) } : call;
}

/** Whether a message is already as its vendor takes it, as most are: nothing is copied then. */
function fits(message: Json, takes: ChatTakes): boolean {
  const { messageFields: known, developerRole, toolIds, thoughtsWithCalls } = takes;
  if (message.role === "developer" && developerRole !== undefined) return false;
  const hasIds = message.tool_calls !== undefined || message.tool_call_id !== undefined;
  if (hasIds && (toolIds !== undefined || thoughtsWithCalls !== undefined)) return false;
  if (known === undefined) return true;
  for (const field of Object.keys(message)) if (!MESSAGE_FIELDS.has(field) && !known.includes(field)) return false;
  return !Array.isArray(message.content) || message.content.every((part) => isRecord(part) && isPlain(part));
}

function isPlain({ type, cache_control }: Json): boolean {
  return type !== "refusal" && type !== "reasoning" && cache_control === undefined;
}

function fitMessage(message: unknown, takes: ChatTakes): unknown {
  if (!isRecord(message) || fits(message, takes)) return message;
  const { messageFields: known, developerRole, toolIds, thoughtsWithCalls } = takes;
  const fitted = without(
    message,
    (field) => known !== undefined && !MESSAGE_FIELDS.has(field) && !known.includes(field),
  );
  if (known !== undefined && Array.isArray(message.content)) fitted.content = fitContent(message.content, known);
  for (const [name, other] of THOUGHT_NAMES) {
    if (known?.includes(name) && typeof fitted[name] !== "string" && typeof message[other] === "string")
      fitted[name] = message[other];
  }
  if (message.role === "developer" && developerRole !== undefined) fitted.role = developerRole;
  if (toolIds !== undefined && message.tool_call_id !== undefined) fitted.tool_call_id = nineOf(message.tool_call_id);
  if (!Array.isArray(message.tool_calls) || message.tool_calls.length === 0) return fitted;
  if (toolIds !== undefined) fitted.tool_calls = message.tool_calls.map(nineCall);
  if (thoughtsWithCalls !== undefined && typeof fitted[thoughtsWithCalls] !== "string") {
    fitted[thoughtsWithCalls] = stringOf(message.reasoning) ?? "";
  }
  return fitted;
}

function fitMessages(messages: readonly unknown[], takes: ChatTakes): readonly unknown[] {
  let copy: unknown[] | null = null;
  for (const [at, message] of messages.entries()) {
    const fitted = fitMessage(message, takes);
    if (fitted !== message) copy ??= [...messages];
    if (copy !== null) copy[at] = fitted;
  }
  return copy ?? messages;
}

/** The word nearest to the one asked for, of those that the vendor knows; at equal distance the one that thinks more. */
export function nearestEffort(word: string, known: readonly string[]): string | undefined {
  if (known.includes(word)) return word;
  const at = EFFORT_WORDS.indexOf(word);
  // Whoever wants no thinking does not want the least of it.
  if (at <= 0) return undefined;
  const off = (one: string) => Math.abs(EFFORT_WORDS.indexOf(one) - at);
  const thinking = known.filter((one) => one !== "none");
  return thinking.toSorted((a, b) => off(a) - off(b) || EFFORT_WORDS.indexOf(b) - EFFORT_WORDS.indexOf(a))[0];
}

/** `reasoning_effort`, or `reasoning: {effort, enabled}` as OpenRouter has it, as one word of the vendor's. */
function effortOf(body: Json, known: readonly string[]): string | undefined {
  const told = isRecord(body.reasoning) ? body.reasoning : {};
  const word =
    stringOf(body.reasoning_effort) ?? stringOf(told.effort) ?? (told.enabled === false ? "none" : undefined);
  return word === undefined ? undefined : nearestEffort(word, known);
}

/** The fields of a body, as OpenAI's chat wire names them, that this vendor is not sent. */
export function unsentFields(body: Json, { dropFields = [], takes }: ChatWire): readonly string[] {
  const unsent = dropFields.filter((field) => body[field] !== undefined && body[field] !== null);
  const { efforts } = takes ?? {};
  if (efforts === undefined || effortOf(body, efforts) !== undefined) return unsent;
  const asked = ["reasoning_effort", "reasoning"].filter((field) => body[field] != null && !unsent.includes(field));
  return [...unsent, ...asked];
}

/** The fields that differ from the body's where its vendor takes it in another form; undefined ones are left out. */
export function fittedFields(body: Json, { takes }: ChatWire): Json | null {
  if (takes === undefined) return null;
  const { formats, efforts, renamed } = takes;
  const fitted: Json = {};
  const messages = Array.isArray(body.messages) ? fitMessages(body.messages, takes) : [];
  if (messages !== body.messages) fitted.messages = messages;
  const format = body.response_format;
  if (formats === "json_object" && isRecord(format) && format.type === "json_schema") {
    const schema = isRecord(format.json_schema) ? format.json_schema.schema : {};
    fitted.response_format = { type: "json_object" };
    fitted.messages = [{ role: "system", content: jsonBySchema(schema) }, ...messages];
  }
  if (efforts !== undefined && (body.reasoning !== undefined || body.reasoning_effort !== undefined)) {
    fitted.reasoning = undefined;
    fitted.reasoning_effort = effortOf(body, efforts);
  }
  if (renamed !== undefined) {
    for (const ours of Object.keys(renamed)) {
      if (body[ours] === undefined) continue;
      fitted[renamed[ours] ?? ours] = body[ours];
      fitted[ours] = undefined;
    }
  }
  return fitted;
}
