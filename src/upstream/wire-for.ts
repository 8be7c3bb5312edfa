// A vendor's wire as one request finds it, and what of the request it is not sent.
import type { ChatWire, DialectName } from "../catalog/chat-wire.ts";
import { isRecord } from "../core/json.ts";
import type { CallerRequest } from "../core/neutral.ts";
import { losesEffort, unsentFields } from "./dialects/chat-completions-fit.ts";
import { effortOf } from "./dialects/thinking-budget.ts";

const SAMPLING: readonly string[] = ["temperature", "top_p", "presence_penalty", "frequency_penalty"];
/** What the other wires call by the names of OpenAI's chat wire. */
const SHARED: readonly string[] = [...SAMPLING, "top_k"];

/** The wire without what the model refuses while it thinks, where this request makes it think. */
export function wireFor(
  asked: Pick<CallerRequest, "body" | "reasoning">,
  wire: ChatWire,
  dialect: DialectName,
): ChatWire {
  const sampling = wire.sampling ?? (dialect === "responses" ? "unless-thinking" : undefined);
  if (sampling === undefined || SAMPLING.every((field) => asked.body[field] == null)) return wire;
  const ask = asked.reasoning();
  const thinks = ask === null ? sampling === "without-thinking" : !ask.off;
  return thinks ? { ...wire, dropFields: [...new Set([...(wire.dropFields ?? []), ...SAMPLING])] } : wire;
}

function thinkingFields({ thinking, reasoning, output_config: config }: CallerRequest["body"]): readonly string[] {
  if (reasoning != null) return ["reasoning"];
  if (thinking != null) return ["thinking"];
  return isRecord(config) && config.effort != null ? ["output_config"] : [];
}

/** The top-level fields of a caller's body that its vendor is not sent, though the caller's wire knows them. */
export function unsentOf(asked: CallerRequest, wire: ChatWire, dialect: DialectName): readonly string[] {
  const { body } = asked;
  if (asked.wire === "chat-completions") return unsentFields(body, wire);
  const sampled = SHARED.filter((field) => body[field] != null && wire.dropFields?.includes(field));
  const isLost = dialect === "chat-completions" && losesEffort(effortOf(asked.reasoning()), wire);
  return isLost ? [...sampled, ...thinkingFields(body)] : sampled;
}
