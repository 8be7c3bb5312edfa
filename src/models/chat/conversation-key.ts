// Which conversation a call is of: the session that its client names, or how the conversation begins.
import { hash } from "node:crypto";
import type { PlanCall } from "../../core/endpoint.ts";
import { isRecord, type Json } from "../../core/json.ts";

/** What clients put a session's name into; the two last are Codex's and Claude Code's. */
const SESSION_HEADERS = ["x-session-id", "session_id", "session-id", "x-claude-code-session-id"];
/** Enough of a beginning to tell conversations apart; all of a long one would be slow to look at. */
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

/** How a message or a list of parts begins, with its length, so that what differs further on is most often told apart too. */
function beginningOf(value: unknown): string {
  if (typeof value === "string") return `${value.length}:${value.slice(0, CHARACTERS_MAX)}`;
  if (isRecord(value)) return beginningOf(value.parts);
  if (!Array.isArray(value)) return "";
  const [first] = value;
  const text = isRecord(first) ? beginningOf(first.text) : beginningOf(first);
  return `${value.length}:${text}`;
}

/** The conversation, wherever the wire has it. */
function turnsIn({ messages, contents, input }: Json): unknown {
  return [messages, contents].find(Array.isArray) ?? input;
}

/** The first message of a role, wherever the wire has its messages. */
function firstOf(body: Json, roles: readonly string[]): unknown {
  const turns = turnsIn(body);
  if (!Array.isArray(turns)) return roles.includes("user") ? turns : null;
  for (const turn of turns) if (isRecord(turn) && roles.includes(String(turn.role))) return turn.content ?? turn.parts;
  return null;
}

/** What only a model has said, in any wire. */
function isAssistants(turn: unknown): boolean {
  if (!isRecord(turn)) return false;
  return (
    turn.role === "assistant" ||
    turn.role === "model" ||
    ["function_call", "custom_tool_call", "reasoning"].includes(String(turn.type))
  );
}

/**
 * Whether a call goes on with a conversation, and so to where that was served. A prompt by itself does not: of the same one asked again and
 * again, such as a question of health, each call is a conversation of its own.
 */
export function goesOn(call: PlanCall, body: Json): boolean {
  const turns = turnsIn(body);
  return (
    sessionOf(call, body) !== null ||
    wordOf(body.previous_response_id) !== null ||
    (Array.isArray(turns) && turns.some(isAssistants))
  );
}

/** Of one account and one name of a model: the session, else a hash of the system's message and the user's first one. */
export function conversationKey(call: PlanCall, asked: string, body: Json): string {
  // Before the payer is known an address tells callers apart.
  const payer = call.audience.payer?.id ?? call.request.address;
  const session = sessionOf(call, body);
  if (session !== null) return hash("sha1", `${payer}\n${asked}\n${session}`, "base64");
  const system = body.system ?? body.systemInstruction ?? body.instructions ?? firstOf(body, ["system", "developer"]);
  const begin = `${beginningOf(system)}\n${beginningOf(firstOf(body, ["user"]))}`;
  return hash("sha1", `${payer}\n${asked}\n\n${begin}`, "base64");
}
