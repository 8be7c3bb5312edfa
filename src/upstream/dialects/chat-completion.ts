// Builds the OpenAI chat completion that a translated answer becomes.
import { detailOf, type SignedThought } from "./chat-reasoning.ts";
import { defined, type Json } from "./chat-request.ts";
import type { ChatContext, FinishReason } from "./dialect.ts";

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** A JSON object, as text. */
  readonly arguments: string;
}

/** What one choice of an answer holds, free of any wire. */
export interface ChoiceParts {
  readonly index: number;
  readonly text: string;
  readonly reasoning: string;
  readonly thoughts: readonly SignedThought[];
  /** As `data:` URLs. */
  readonly images: readonly string[];
  readonly calls: readonly ToolCall[];
  readonly finish: FinishReason;
  /** The vendor's own word for why it ended. */
  readonly native: string;
}

/** An image that a model made, in OpenRouter's form. */
export function imageOf(url: string, index: number): Json {
  return { type: "image_url", index, image_url: { url } };
}

function messageOf(parts: ChoiceParts, format: string): Json {
  const { text, reasoning, thoughts, images, calls } = parts;
  return defined({
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    reasoning: reasoning === "" ? undefined : reasoning,
    reasoning_details: thoughts.length > 0 ? thoughts.map((thought, at) => detailOf(thought, format, at)) : undefined,
    images: images.length > 0 ? images.map(imageOf) : undefined,
    tool_calls:
      calls.length > 0
        ? calls.map(({ id, name, arguments: text }) => ({ id, type: "function", function: { name, arguments: text } }))
        : undefined,
  });
}

/** A `chat.completion` without its usage, and the text that a token count needs where none came. */
export function completionOf(choices: readonly ChoiceParts[], format: string, context: ChatContext) {
  const body = {
    id: context.completionId,
    object: "chat.completion",
    created: context.createdS,
    model: context.servedSlug,
    choices: choices.map((parts) => ({
      index: parts.index,
      message: messageOf(parts, format),
      logprobs: null,
      finish_reason: parts.finish,
      native_finish_reason: parts.native,
    })),
  };
  const text = choices
    .map(
      (parts) =>
        `${parts.reasoning}${parts.text}${parts.calls.map((call) => `${call.name}${call.arguments}`).join("")}`,
    )
    .join("");
  return { body, text };
}
