// Adapts a body of OpenAI's wire to its vendor: translates fields into the vendor's form where it has one, and drops the others.
import type { ChatTakes, ChatWire } from "../../catalog/chat-wire.ts";
import { isRecord, type Json, numberOf, stringOf } from "../../core/json.ts";
import { JSON_ONLY, jsonBySchema } from "./json-words.ts";
import { effortOfBudget } from "./thinking-budget.ts";

/** The message fields that every vendor accepts. */
const MESSAGE_FIELDS = new Set(["role", "content", "tool_calls", "tool_call_id"]);
/** The two names of visible reasoning; a vendor that accepts it back knows one of them. */
const THOUGHT_NAMES = [
  ["reasoning", "reasoning_content"],
  ["reasoning_content", "reasoning"],
] as const;
/** In ascending order. */
const EFFORT_WORDS: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

function without(from: Json, isLeftOut: (field: string) => boolean): Json {
  return Object.fromEntries(Object.entries(from).filter(([field]) => !isLeftOut(field)));
}

/** Converts parts from other vendors' answers into a form that all accept. */
function fitContent(parts: readonly unknown[], known: readonly string[]): readonly unknown[] {
  const keepsMarks = known.includes("cache_control");
  return parts.flatMap((part) => {
    if (!isRecord(part)) return [part];
    if (part.type === "reasoning") return [];
    if (part.type === "refusal") return [{ type: "text", text: part.refusal }];
    return [keepsMarks ? part : without(part, (field) => field === "cache_control")];
  });
}

/** Whether the vendor accepts a message unchanged, as is usual; it is not copied then. */
function fits(message: Json, takes: ChatTakes): boolean {
  const { messageFields: known, developerRole, thoughtsWithCalls } = takes;
  if (message.role === "developer" && developerRole !== undefined) return false;
  if (message.tool_calls !== undefined && thoughtsWithCalls !== undefined) return false;
  if (known === undefined) return true;
  for (const field of Object.keys(message)) if (!MESSAGE_FIELDS.has(field) && !known.includes(field)) return false;
  return !Array.isArray(message.content) || message.content.every((part) => isRecord(part) && isPlain(part));
}

function isPlain({ type, cache_control }: Json): boolean {
  return type !== "refusal" && type !== "reasoning" && cache_control === undefined;
}

function fitMessage(message: unknown, takes: ChatTakes): unknown {
  if (!isRecord(message) || fits(message, takes)) return message;
  const { messageFields: known, developerRole, thoughtsWithCalls } = takes;
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
  if (!Array.isArray(message.tool_calls) || message.tool_calls.length === 0) return fitted;
  if (thoughtsWithCalls !== undefined && typeof fitted[thoughtsWithCalls] !== "string")
    fitted[thoughtsWithCalls] = stringOf(message.reasoning) ?? "";
  return fitted;
}

function fitMessages(messages: readonly unknown[], takes: ChatTakes): readonly unknown[] {
  const fitted = messages.map((message) => fitMessage(message, takes));
  return fitted.some((message, at) => message !== messages[at]) ? fitted : messages;
}

/** The instruction that replaces an unsupported response format, and the format to send instead; null if not needed. */
function formatWords(
  format: unknown,
  { formats }: ChatTakes,
): { readonly words: string; readonly format?: Json } | null {
  if (formats === undefined || !isRecord(format) || format.type === formats) return null;
  if (format.type === "json_object") return { words: JSON_ONLY };
  if (format.type !== "json_schema") return null;
  const schema = isRecord(format.json_schema) ? format.json_schema.schema : {};
  return { words: jsonBySchema(schema), format: { type: "json_object" } };
}

/** Why the vendor cannot take a request; null if it can. */
export function unfit(
  asked: { readonly tools: unknown; readonly choices: unknown },
  { takes }: ChatWire,
): string | null {
  const { refuses } = takes ?? {};
  if (refuses === undefined) return null;
  const { tools, choices } = asked;
  if (refuses.includes("tools") && Array.isArray(tools) && tools.length > 0) return "tools are none of its own";
  return refuses.includes("n") && Number(choices ?? 1) > 1 ? "n above 1 is refused by it" : null;
}

/** The known word nearest to the effort; of two, the one that thinks more. A model that always thinks gets its lowest effort. */
export function nearestEffort(word: string, known: readonly string[]): string | undefined {
  if (known.includes(word)) return word;
  const at = EFFORT_WORDS.indexOf(word);
  if (at < 0) return undefined;
  const off = (one: string) => Math.abs(EFFORT_WORDS.indexOf(one) - at);
  const thinking = known.filter((one) => one !== "none");
  return thinking.toSorted((a, b) => off(a) - off(b) || EFFORT_WORDS.indexOf(b) - EFFORT_WORDS.indexOf(a))[0];
}

/** The fields in which callers of OpenAI's wire set the reasoning effort: OpenAI's, OpenRouter's, and Claude clients'. */
const THINKING_FIELDS = ["reasoning_effort", "reasoning", "thinking"] as const;

const NO_FIELDS: readonly string[] = [];

function asksThinking(body: Json): boolean {
  for (const field of THINKING_FIELDS) if (body[field] != null) return true;
  return false;
}

/** The effort that a body requests, in OpenAI's words; undefined if none. */
function askedEffort({ reasoning_effort, reasoning, thinking }: Json): string | undefined {
  const told = isRecord(reasoning) ? reasoning : {};
  const word = stringOf(reasoning_effort) ?? stringOf(told.effort);
  if (word !== undefined) return word;
  const own = isRecord(thinking) ? thinking : {};
  if (told.enabled === false || own.type === "disabled") return "none";
  const budget = numberOf(told.max_tokens) ?? numberOf(own.budget_tokens);
  return budget === undefined ? undefined : effortOfBudget(budget);
}

/** The fields that carry this effort to the vendor; null if it has none. */
function toldEffort(asked: string | undefined, { efforts, noThinking }: ChatTakes): Json | null {
  if (asked === "none" && noThinking !== undefined) return { ...noThinking };
  const word = asked === undefined || efforts === undefined ? undefined : nearestEffort(asked, efforts);
  return word === undefined ? null : { reasoning_effort: word };
}

/** True if the vendor has no field for the requested effort. */
export function losesEffort(asked: string | undefined, { takes }: ChatWire): boolean {
  return asked !== undefined && takes?.efforts !== undefined && toldEffort(asked, takes) === null;
}

/** The fields of a body, by their names in OpenAI's chat wire, that are not sent to this vendor. */
export function unsentFields(body: Json, wire: ChatWire): readonly string[] {
  const { dropFields = NO_FIELDS, takes } = wire;
  const isTold = takes?.efforts !== undefined && asksThinking(body) && toldEffort(askedEffort(body), takes) !== null;
  const unsent =
    dropFields.length === 0
      ? NO_FIELDS
      : dropFields.filter(
          (field) => body[field] != null && !(isTold && THINKING_FIELDS.some((name) => name === field)),
        );
  if (takes?.efforts === undefined || isTold || !asksThinking(body)) return unsent;
  return [...unsent, ...THINKING_FIELDS.filter((field) => body[field] != null && !unsent.includes(field))];
}

/** The fields that the vendor takes in another form, replaced; undefined removes a field. */
export function fittedFields(body: Json, { takes }: ChatWire): Json | null {
  if (takes === undefined) return null;
  const { efforts, renamed } = takes;
  const fitted: Json = {};
  const sent = Array.isArray(body.messages) ? fitMessages(body.messages, takes) : [];
  const told = formatWords(body.response_format, takes);
  if (told !== null) fitted.response_format = told.format;
  const messages = told === null ? sent : [{ role: "system", content: told.words }, ...sent];
  if (messages !== body.messages) fitted.messages = messages;
  Object.assign(fitted, takes.fit?.(body));
  if (efforts !== undefined && THINKING_FIELDS.some((field) => body[field] !== undefined)) {
    for (const field of THINKING_FIELDS) fitted[field] = undefined;
    Object.assign(fitted, toldEffort(askedEffort(body), takes));
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
