// How a vendor's wire differs from what others take and give, as an adapter says it of all its models or of one.
import { z } from "zod";
import { fn, type Said } from "./said.ts";

export const dialect = z.enum(["chat-completions", "responses", "messages", "generate-content", "converse"]);

const effort: z.ZodType<string> = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

/** What a vendor takes of OpenAI's chat wire, where it refuses some of what others take. Without a field it takes all. */
const takes = z.strictObject({
  /** Of messages, beside role, content, tool_calls and tool_call_id. Where `cache_control` is not among them, parts have none. */
  messageFields: z.array(z.string()).optional(),
  /** What messages of role `developer` are sent as. */
  developerRole: z.literal("system").optional(),
  /**
   * Ids of tool calls: nine letters and digits, `word` for up to 64 letters, digits, `_` and `-`, or `none` where names alone pair calls with
   * results. Default: the wire's own rule.
   */
  toolIds: z.enum(["nine", "none", "word"]).optional(),
  /** The field in which a message with tool calls must have the thoughts before them, and be they none. */
  thoughtsWithCalls: z.literal("reasoning_content").optional(),
  /**
   * `plain`: in the wire `responses` a message is typed and its content one text, and the format of the answer stands where the chat wire has
   * it. Its answers are told anew, never passed on. Default: as OpenAI has it.
   */
  responsesForm: z.literal("plain").optional(),
  /** The one form of an answer that can be asked for: a schema goes into the prompt, or the wish for any JSON object does. */
  formats: z.enum(["json_object", "json_schema"]).optional(),
  /** Its words for `reasoning_effort`, of none, minimal, low, medium, high, xhigh and max; none of them: it takes no effort. */
  efforts: z.array(effort).optional(),
  /** The fields that tell it not to think, where `none` is no word of its. */
  noThinking: z.record(z.string(), z.unknown()).optional(),
  /** Its names for fields that it has under others. */
  renamed: z.record(z.string(), z.string()).optional(),
  /** What it does not do, and an answer depends on: a request that uses it (`n` above 1) is none for it. */
  refuses: z.array(z.enum(["tools", "n"])).optional(),
  /** What no field says: fields of a body as this vendor wants them; undefined ones are left out. What one vendor needs is code in its file. */
  fit: fn<(body: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>>().optional(),
  /** In the wire `converse`: what a cache point may stand in; a mark elsewhere is left out. Default: nothing. */
  cachePoints: z.array(z.enum(["system", "messages", "tools"])).optional(),
  /** In the wire `converse`: the field that the model's maker has for effort. Default: none, so that no effort is asked for. */
  effortField: z.enum(["reasoning_effort", "reasoningConfig"]).optional(),
});

/** Where the calls of a model go, if not to the wire's own path; `{model}` is the vendor's name of it, others are of the adapter's settings. */
const paths = z.strictObject({
  whole: z.string().startsWith("/"),
  stream: z.string().startsWith("/"),
  /** Fields of the body that the path says already, and that are refused beside it. */
  without: z.array(z.string()),
});

/** The fields of a ChatWire, each of which is also one of a ChatSpec. */
export const wireFields = {
  /** What is taken of OpenAI's chat wire, and of the wire `converse` as far as it has the like. */
  takes: takes.optional(),
  /**
   * `strict`: the vendor's tool calls always follow its wire (unique valid ids, whole names, arguments as text), so answers to requests with
   * tools pass untouched where the caller speaks the same wire. Default: such answers are read and written again.
   */
  toolCalls: z.literal("strict").optional(),
  /** `plain`: a chat-completions vendor that refuses tool schemas with `anyOf` and its kind at the top level. */
  toolSchemas: z.literal("plain").optional(),
  /** Its answers may come in parts, thoughts among them, where OpenAI's clients expect a string: they are told anew, never passed on. */
  answersInParts: z.boolean().optional(),
  /**
   * Which links of images and documents the vendor opens itself: any at `https`, those at `https` whose ending names a type (`https-typed`),
   * or none. The others are opened by us and sent as what stands there. Default: in the wires `messages` and `generate-content` the first and
   * the second, in `converse` none, in the others all.
   */
  fetches: z.enum(["https", "https-typed", "none"]).optional(),
  /** Requests with tools go in this wire in place of the vendor's other one. */
  toolsDialect: dialect.optional(),
  paths: paths.optional(),
  /** The field that bounds the output. Default `max_tokens`. */
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
  /** Request fields, by their names in OpenAI's wire, that this vendor refuses or ignores at a price; they are left out. */
  dropFields: z.array(z.string()).optional(),
  /**
   * When a model that can think takes temperature, top_p and penalties; in other requests they are left out. `unless-thinking`: it thinks
   * when it is asked to; `without-thinking`: it thinks unless it is told not to. Default: in the wire
   * `responses` the former, in others always, but for `dropFields`.
   */
  sampling: z.enum(["unless-thinking", "without-thinking"]).optional(),
  /** Fields added to every request. */
  extraFields: z.record(z.string(), z.unknown()).optional(),
  /** The model reasons without showing it, and charges for that: what was delivered says little of what an answer costs. */
  hidesReasoning: z.boolean().optional(),
  /**
   * How a wire that is not OpenAI's tells the model to think: by a budget of tokens, or by a word (`effort`).
   * `-always`: the model refuses to be told not to. `none`: it does not think. Default `budget`.
   */
  reasoning: z.enum(["none", "budget", "budget-always", "effort", "effort-always"]).optional(),
  /** How much of its thoughts a wire that shows summaries is asked for, where the caller wants to see them. Default: none. */
  reasoningSummary: z.enum(["auto", "concise", "detailed"]).optional(),
};
const wire = z.strictObject(wireFields);

/** A wire format: the name of a file in src/upstream/dialects. */
export type DialectName = z.infer<typeof dialect>;
export type ChatTakes = Said<z.infer<typeof takes>>;
export type ModelPaths = Said<z.infer<typeof paths>>;
/** How a model's wire differs from its vendor's default. */
export type ChatWire = Said<z.infer<typeof wire>>;
