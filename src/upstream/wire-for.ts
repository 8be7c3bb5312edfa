// Adapts a vendor's wire to one request, and lists the request fields that the vendor does not get.
import type { ChatWire, DialectName } from "../catalog/chat-wire.ts";
import { isRecord } from "../core/json.ts";
import type { CallerRequest } from "../core/neutral.ts";
import { losesEffort, unsentFields } from "./format-kit/chat-completions-fit.ts";
import { effortOf } from "./format-kit/thinking-budget.ts";

const SAMPLING: readonly string[] = ["temperature", "top_p", "presence_penalty", "frequency_penalty"];
/** Fields that other wires share with OpenAI's chat wire, by name. */
const SHARED: readonly string[] = [...SAMPLING, "top_k"];

/** Drops the fields that the model refuses while it thinks, if this request makes it think. */
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

/** The known top-level fields of a caller's body that are not sent to the vendor. */
export function unsentOf(asked: CallerRequest, wire: ChatWire, dialect: DialectName): readonly string[] {
  const { body } = asked;
  if (asked.wire === "chat-completions") return unsentFields(body, wire);
  const sampled = SHARED.filter((field) => body[field] != null && wire.dropFields?.includes(field));
  const isLost = dialect === "chat-completions" && losesEffort(effortOf(asked.reasoning()), wire);
  return isLost ? [...sampled, ...thinkingFields(body)] : sampled;
}
