// Identifies the conversation of a call: by the session that the client names, else by its first messages.
import { hash } from "node:crypto";
import type { PlanCall } from "../../core/endpoint.ts";
import { isRecord, type Json } from "../../core/json.ts";

/** Headers in which clients send a session id; the last two are those of Codex and Claude Code. */
const SESSION_HEADERS = ["x-session-id", "session_id", "session-id", "x-claude-code-session-id"];
/** Enough to tell conversations apart; hashing a whole long message would be slow. */
const CHARACTERS_MAX = 128;

function wordOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function sessionOf({ request }: PlanCall, body: Json): string | null {
  const named = wordOf(body.prompt_cache_key) ?? wordOf(body.session_id);
  if (named !== null) return named;
  for (const name of SESSION_HEADERS) {
    const said = request.headers.get(name);
    if (said) return said;
  }
  return isRecord(body.metadata) ? wordOf(body.metadata.user_id) : null;
}

/** The beginning and the length of a message or a list of parts; the length usually separates texts with the same beginning. */
function beginningOf(value: unknown): string {
  if (typeof value === "string") return `${value.length}:${value.slice(0, CHARACTERS_MAX)}`;
  if (isRecord(value)) return beginningOf(value.parts);
  if (!Array.isArray(value)) return "";
  const [first] = value;
  const text = isRecord(first) ? beginningOf(first.text) : beginningOf(first);
  return `${value.length}:${text}`;
}

function turnsIn({ messages, contents, input }: Json): unknown {
  return [messages, contents].find(Array.isArray) ?? input;
}

/** The content of the first message with one of these roles, in any wire. */
function firstOf(body: Json, roles: readonly string[]): unknown {
  const turns = turnsIn(body);
  if (!Array.isArray(turns)) return roles.includes("user") ? turns : null;
  for (const turn of turns) if (isRecord(turn) && roles.includes(String(turn.role))) return turn.content ?? turn.parts;
  return null;
}

/** True for turns that only a model writes, in any wire. */
function isAssistants(turn: unknown): boolean {
  if (!isRecord(turn)) return false;
  return (
    turn.role === "assistant" ||
    turn.role === "model" ||
    ["function_call", "custom_tool_call", "reasoning"].includes(String(turn.type))
  );
}

/**
 * True if a call continues a conversation, so that it should go to the route that served it before. A lone prompt does not: when the same
 * one repeats, such as a health check, each call is a new conversation.
 */
export function goesOn(call: PlanCall, body: Json): boolean {
  const turns = turnsIn(body);
  return (
    sessionOf(call, body) !== null ||
    wordOf(body.previous_response_id) !== null ||
    (Array.isArray(turns) && turns.some(isAssistants))
  );
}

/** For one account and one model name: the session, else a hash of the system message and the first user message. */
export function conversationKey(call: PlanCall, asked: string, body: Json): string {
  // While the payer is unknown, the address separates callers.
  const payer = call.audience.payer?.id ?? call.request.address;
  const session = sessionOf(call, body);
  if (session !== null) return hash("sha1", `${payer}\n${asked}\n${session}`, "base64");
  const system = body.system ?? body.systemInstruction ?? body.instructions ?? firstOf(body, ["system", "developer"]);
  const begin = `${beginningOf(system)}\n${beginningOf(firstOf(body, ["user"]))}`;
  return hash("sha1", `${payer}\n${asked}\n\n${begin}`, "base64");
}
