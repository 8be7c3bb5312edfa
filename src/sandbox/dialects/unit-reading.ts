// What the wires of models that are sold by units have in common for the sandbox: a request without turns, and answers of its own making.
import type { Answer } from "../answer.ts";
import type { Ask, Turn } from "../ask.ts";
import { CHAT_COMPLETIONS } from "../conventions.ts";
import type { Dialect, DialectEvent, DialectReading } from "../dialect.ts";
import type { Conduct } from "../faults.ts";

/** What is read of such a request. */
export function inputAsk(model: string, texts: readonly string[], stream = false): Ask {
  return {
    model,
    turns: texts.map((text): Turn => ({ role: "input", text, parts: 0 })),
    stream,
    usageAsked: true,
    outputTokensMax: null,
    stops: [],
    choices: 0,
    tools: [],
    toolUse: "none",
    parallelTools: false,
    schema: null,
    thinkingTokens: 0,
    extraTokens: 0,
  };
}

/** A good request of theirs. */
export function unitReading(
  ask: Ask,
  whole: (answer: Answer, conduct: Conduct) => Record<string, unknown>,
  events: () => Iterable<DialectEvent> = () => [],
): DialectReading {
  return { ask, whole, events };
}

/** Errors and credentials are as OpenAI's. */
export function unitDialect(path: RegExp, read: Dialect["read"]): Dialect {
  return { ...CHAT_COMPLETIONS, path, read };
}
