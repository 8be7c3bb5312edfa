// How a vendor's wire format differs from the common one, declared by an adapter for all its models or for one.
import { z } from "zod";
import { fn, type Said } from "./said.ts";

export const dialect = z.enum(["chat-completions", "responses", "messages", "generate-content", "converse"]);

const effort: z.ZodType<string> = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

/** The parts of OpenAI's chat wire that a vendor accepts. An absent field means no restriction. */
const takes = z.strictObject({
  /** Accepted message fields besides role, content, tool_calls and tool_call_id. Without `cache_control`, parts lose it too. */
  messageFields: z.array(z.string()).optional(),
  /** The role that replaces `developer`. */
  developerRole: z.literal("system").optional(),
  /**
   * The format of tool call ids: `nine` letters and digits; `word`: up to 64 letters, digits, `_` and `-`; `none`: calls and results are
   * paired by name only. Default: the wire's own rule.
   */
  toolIds: z.enum(["nine", "none", "word"]).optional(),
  /** The field that must hold the reasoning in a message with tool calls, even if it is empty. */
  thoughtsWithCalls: z.literal("reasoning_content").optional(),
  /**
   * `plain`: in the `responses` wire, a message has a type and its content is one string, and the response format is where the chat wire
   * has it. Answers are re-encoded, never passed through. Default: as in OpenAI's wire.
   */
  responsesForm: z.literal("plain").optional(),
  /** The only supported response format; otherwise a schema, or the request for any JSON object, is added to the prompt. */
  formats: z.enum(["json_object", "json_schema"]).optional(),
  /** Its values for `reasoning_effort`, out of none, minimal, low, medium, high, xhigh and max; empty if it has no effort setting. */
  efforts: z.array(effort).optional(),
  /** The fields that turn thinking off, where `none` is not one of its values. */
  noThinking: z.record(z.string(), z.unknown()).optional(),
  /** Fields that the vendor names differently. */
  renamed: z.record(z.string(), z.string()).optional(),
  /** Unsupported features that change the answer: requests that use them (`n` above 1) are not sent to this vendor. */
  refuses: z.array(z.enum(["tools", "n"])).optional(),
  /** Adjusts a body's fields where no field can express it; undefined values are omitted. One vendor's code belongs in its file. */
  fit: fn<(body: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>>().optional(),
  /** In the `converse` wire: where cache points are accepted; others are dropped. Default: nowhere. */
  cachePoints: z.array(z.enum(["system", "messages", "tools"])).optional(),
  /** In the `converse` wire: the model maker's field for effort. Default: none, so effort is not sent. */
  effortField: z.enum(["reasoning_effort", "reasoningConfig"]).optional(),
});

/** The paths of a model's calls, if not the wire's own. `{model}`: the vendor's name for it; others: the adapter's settings. */
const paths = z.strictObject({
  whole: z.string().startsWith("/"),
  stream: z.string().startsWith("/"),
  /** Body fields that the path already contains, and that the vendor rejects in the body. */
  without: z.array(z.string()),
});

export const wireFields = {
  /** The accepted parts of OpenAI's chat wire, and of the `converse` wire where it has an equivalent. */
  takes: takes.optional(),
  /**
   * `strict`: the vendor's tool calls always follow its wire format (unique valid ids, complete names, arguments as text), so answers to
   * requests with tools pass through unchanged if the caller uses the same wire. Default: such answers are parsed and re-encoded.
   */
  toolCalls: z.literal("strict").optional(),
  /** `plain`: a chat-completions vendor that rejects tool schemas with `anyOf` and the like at the top level. */
  toolSchemas: z.literal("plain").optional(),
  /** Answers may have content parts, including reasoning, where OpenAI's clients expect a string: always re-encoded. */
  answersInParts: z.boolean().optional(),
  /**
   * Which image and document URLs the vendor fetches itself: any `https` URL, `https` URLs with a file extension that names a type
   * (`https-typed`), or none. The gateway fetches the others and sends their content. Default: `https` in the `messages` wire,
   * `https-typed` in `generate-content`, none in `converse`, all in the others.
   */
  fetches: z.enum(["https", "https-typed", "none"]).optional(),
  /** The wire for requests with tools, if it differs from the vendor's usual one. */
  toolsDialect: dialect.optional(),
  paths: paths.optional(),
  /** The field that limits the output. Default `max_tokens`. */
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
  /** Request fields (OpenAI's names) that this vendor rejects, or that have harmful effects there; they are dropped. */
  dropFields: z.array(z.string()).optional(),
  /**
   * When a model that can think accepts temperature, top_p and penalties; they are dropped from other requests. `unless-thinking`: the
   * model thinks only on request; `without-thinking`: it thinks unless told not to. Default: `unless-thinking` in the `responses` wire,
   * otherwise always, except for `dropFields`.
   */
  sampling: z.enum(["unless-thinking", "without-thinking"]).optional(),
  /** Added to every request. */
  extraFields: z.record(z.string(), z.unknown()).optional(),
  /** The model charges for reasoning that it does not show, so the delivered text says little about an answer's cost. */
  hidesReasoning: z.boolean().optional(),
  /**
   * How a wire other than OpenAI's turns thinking on: by a token budget or by a word (`effort`). `-always`: thinking cannot be turned off.
   * `none`: the model does not think. Default `budget`.
   */
  reasoning: z.enum(["none", "budget", "budget-always", "effort", "effort-always"]).optional(),
  /** The level of detail to request from a wire that shows reasoning summaries, if the caller wants them. Default: none. */
  reasoningSummary: z.enum(["auto", "concise", "detailed"]).optional(),
};
const wire = z.strictObject(wireFields);

/** A wire format, named after its file in src/upstream/dialects. */
export type DialectName = z.infer<typeof dialect>;
export type ChatTakes = Said<z.infer<typeof takes>>;
export type ModelPaths = Said<z.infer<typeof paths>>;
/** How a model's wire differs from its vendor's default. */
export type ChatWire = Said<z.infer<typeof wire>>;
