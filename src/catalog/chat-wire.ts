// How a vendor's wire differs from what others take and give, as an adapter says it of all its models or of one.

/** A wire format: the name of a file in src/upstream/dialects. */
export type DialectName = "chat-completions" | "responses" | "messages" | "generate-content" | "converse";

/** What a vendor takes of OpenAI's chat wire, where it refuses some of what others take. Without a field it takes all. */
export interface ChatTakes {
  /** Of messages, beside role, content, tool_calls and tool_call_id. Where `cache_control` is not among them, parts have none. */
  readonly messageFields?: readonly string[];
  /** What messages of role `developer` are sent as. */
  readonly developerRole?: "system";
  /** Ids of tool calls are nine letters and digits; or calls and results have none, in a wire where their names do as well. */
  readonly toolIds?: "nine" | "none";
  /** The field in which a message with tool calls must have the thoughts before them, and be they none. */
  readonly thoughtsWithCalls?: "reasoning_content";
  /**
   * `plain`: in the wire `responses` a message is typed and its content one text, and the format of the answer stands where the chat wire has
   * it. Its answers are told anew, never passed on. Default: as OpenAI has it.
   */
  readonly responsesForm?: "plain";
  /** The one form of an answer that can be asked for: a schema goes into the prompt, or the wish for any JSON object does. */
  readonly formats?: "json_object" | "json_schema";
  /** Its words for `reasoning_effort`, of none, minimal, low, medium, high, xhigh and max; none of them: it takes no effort. */
  readonly efforts?: readonly string[];
  /** The fields that tell it not to think, where `none` is no word of its. */
  readonly noThinking?: Readonly<Record<string, unknown>>;
  /** Its names for fields that it has under others. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** What it does not do, and an answer depends on: a request that uses it (`n` above 1) is none for it. */
  readonly refuses?: readonly ("tools" | "n")[];
  /** User and assistant take turns, after all that is the system's. Default: in any order. */
  readonly turns?: "alternate";
  /** `none`: tools may not say whether their arguments must fit their schema exactly. */
  readonly strictTools?: "none";
  /** In the wire `converse`: what a cache point may stand in; a mark elsewhere is left out. Default: nothing. */
  readonly cachePoints?: readonly ("system" | "messages" | "tools")[];
  /** In the wire `converse`: the field that the model's maker has for effort. Default: none, so that no effort is asked for. */
  readonly effortField?: "reasoning_effort" | "reasoningConfig";
}

/** Where the calls of a model go, if not to the wire's own path; `{model}` is the vendor's name of it, others are of the adapter's settings. */
export interface ModelPaths {
  readonly whole: string;
  readonly stream: string;
  /** Fields of the body that the path says already, and that are refused beside it. */
  readonly without: readonly string[];
}

/** How a model's wire differs from its vendor's default; every field is also a field of `ChatSpec`. */
export interface ChatWire {
  /** What is taken of OpenAI's chat wire, and of the wire `converse` as far as it has the like. */
  readonly takes?: ChatTakes;
  /** Its answers may come in parts, thoughts among them, where OpenAI's clients expect a string: they are told anew, never passed on. */
  readonly answersInParts?: boolean;
  /**
   * Which links of images and documents the vendor opens itself: any at `https`, those at `https` whose ending names a type (`https-typed`),
   * or none. The others are opened by us and sent as what stands there. Default: in the wires `messages` and `generate-content` the first and
   * the second, in `converse` none, in the others all.
   */
  readonly fetches?: "https" | "https-typed" | "none";
  /** Requests with tools go in this wire in place of the vendor's other one. */
  readonly toolsDialect?: DialectName;
  readonly paths?: ModelPaths;
  /** The field that bounds the output. Default `max_tokens`. */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
  /** Request fields, by their names in OpenAI's wire, that this vendor refuses or ignores at a price; they are left out. */
  readonly dropFields?: readonly string[];
  /**
   * When a model that can think takes temperature, top_p and penalties; in other requests they are left out. `unless-thinking`: it thinks
   * when it is asked to; `without-thinking`: it thinks unless it is told not to. Default: in the wire
   * `responses` the former, in others always, but for `dropFields`.
   */
  readonly sampling?: "unless-thinking" | "without-thinking";
  /** Fields added to every request. */
  readonly extraFields?: Readonly<Record<string, unknown>>;
  /** The model reasons without showing it, and charges for that: what was delivered says little of what an answer costs. */
  readonly hidesReasoning?: boolean;
  /**
   * How a wire that is not OpenAI's tells the model to think: by a budget of tokens, or by a word (`effort`).
   * `-always`: the model refuses to be told not to. `none`: it does not think. Default `budget`.
   */
  readonly reasoning?: "none" | "budget" | "budget-always" | "effort" | "effort-always";
  /** How much of its thoughts a wire that shows summaries is asked for, where the caller wants to see them. Default: none. */
  readonly reasoningSummary?: "auto" | "concise" | "detailed";
}
