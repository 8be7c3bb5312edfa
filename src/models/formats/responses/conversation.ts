// Conversations across requests: what a request contains, and what its socket keeps for the next one.
import type { SocketMemory } from "../../../core/endpoint.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import { tooMuchIn } from "../../../core/json-bytes.ts";
import { invalid, parseJson } from "../parse-json.ts";
import type { Earlier } from "../wire.ts";
import type { ResponsesBody } from "./fields.ts";

const CREATE = "response.create";
const OUTPUTS: ReadonlySet<unknown> = new Set(["function_call_output", "custom_tool_call_output"]);
const CALLS: ReadonlySet<unknown> = new Set(["function_call", "custom_tool_call"]);

export function objectIn(bytes: Buffer): Json {
  const sent = parseJson(bytes);
  if (isRecord(sent)) return sent;
  throw invalid("", "must be an object");
}

/** The body of a socket message, which states its kind and is always answered with events. */
export function createIn(bytes: Buffer): Json {
  const { type, generate: _generate, ...body } = objectIn(bytes);
  if (type !== CREATE) throw invalid("type", `must be ${CREATE}, the only kind of message that is taken here`);
  return { ...body, stream: true };
}

export function itemsIn({ input }: Pick<ResponsesBody, "input">): readonly unknown[] {
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
}

/** Throws for a tool output without its call, which models misread. An item referred to by id may be the call. */
export function requireCalls(input: unknown, earlier: readonly unknown[]): void {
  const own = Array.isArray(input) ? input : [];
  if (own.some((item) => isRecord(item) && item.type === "item_reference")) return;
  const calls = [...earlier, ...own].filter(isRecord).filter(({ type }) => CALLS.has(type));
  const called = new Set(calls.map(({ call_id }) => call_id));
  const at = own.findIndex((item) => isRecord(item) && OUTPUTS.has(item.type) && !called.has(item.call_id));
  if (at >= 0) throw invalid(`input.${at}.call_id`, "no call of this id is in the conversation");
}

/** Keeps a conversation if it would fit into one body. */
export function remember(memory: SocketMemory, id: string, items: readonly unknown[]): void {
  const text = JSON.stringify(items);
  if (tooMuchIn(Buffer.from(text)) === null) memory.keep(id, text);
}

export function remembered(text: string): Earlier {
  const items: unknown = JSON.parse(text);
  return { items: Array.isArray(items) ? items : [], bytes: Buffer.byteLength(text) };
}
