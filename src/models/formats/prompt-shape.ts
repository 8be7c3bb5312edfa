// The properties of a prompt other than its text that a token bound needs.
import type { KnownBody } from "./known-fields.ts";

export interface PromptShape extends Pick<KnownBody, "parts" | "dataChars" | "jsonTokens"> {
  readonly messages: number;
  /** The prompt has tools or a response format. */
  readonly hasSchemas: boolean;
}

export function shapeOf({ body, parts, dataChars, jsonTokens }: KnownBody): PromptShape {
  const { messages, tools, response_format: format } = body;
  return {
    parts,
    dataChars,
    jsonTokens,
    messages: Array.isArray(messages) ? messages.length : 0,
    hasSchemas: (Array.isArray(tools) && tools.length > 0) || (format !== undefined && format !== null),
  };
}
