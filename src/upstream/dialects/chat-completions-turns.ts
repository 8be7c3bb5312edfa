// The messages of OpenAI's wire for vendors that want user and assistant to take turns.
import { isRecord, type Json } from "../../json.ts";

function partsOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content;
  return typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : [];
}

function joined(before: unknown, after: unknown): unknown {
  if (typeof before === "string" && typeof after === "string") return `${before}\n\n${after}`;
  return [...partsOf(before), ...partsOf(after)];
}

/** What is the system's comes first; several messages of one side in a row are one; the user begins. */
export function alternating(messages: readonly unknown[]): readonly unknown[] {
  const system: Json[] = [];
  const turns: Json[] = [];
  for (const message of messages) {
    if (!isRecord(message)) continue;
    const last = turns.at(-1);
    if (message.role === "system") system.push(message);
    else if (last !== undefined && last.role === message.role) last.content = joined(last.content, message.content);
    else turns.push({ ...message });
  }
  const [first] = turns;
  if (first === undefined) return system.map((message) => ({ ...message, role: "user" }));
  return first.role === "user" ? [...system, ...turns] : [...system, { role: "user", content: "." }, ...turns];
}
