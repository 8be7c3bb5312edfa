// Shared by the stand-ins of models sold by units: requests without turns, and checking bodies.

import type { z } from "zod";
import type { Answer } from "../answer.ts";
import type { Ask, Turn } from "../ask.ts";
import { CHAT_COMPLETIONS } from "../conventions.ts";
import { type Dialect, type DialectEvent, type DialectReading, schemaRefusal, type Target } from "../dialect.ts";
import type { Conduct } from "../faults.ts";
import type { Refusal } from "../refusals.ts";

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

export function unitReading(
  ask: Ask,
  whole: (answer: Answer, conduct: Conduct) => Record<string, unknown>,
  events: () => Iterable<DialectEvent> = () => [],
): DialectReading {
  return { ask, whole, events };
}

type UnitRead<Asked> = (asked: Asked, target: Target) => DialectReading | Refusal;

/** Reads by a schema; refuses what it does not accept. */
export function strictly<Asked>(schema: z.ZodType<Asked>, read: UnitRead<Asked>): Dialect["read"] {
  return (json, target) => {
    const parsed = schema.safeParse(json);
    return parsed.success ? read(parsed.data, target) : schemaRefusal(parsed.error);
  };
}

/** A dialect with the errors and credentials of chat completions. */
export function unitDialect<Asked>(path: RegExp, schema: z.ZodType<Asked>, read: UnitRead<Asked>): Dialect {
  return { ...CHAT_COMPLETIONS, path, read: strictly(schema, read) };
}
