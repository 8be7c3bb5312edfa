// Translates a request to OpenAI's responses wire.

import { defined, isRecord, type Json, stringOf } from "../../../core/json.ts";
import type {
  MediaBlock,
  NeutralBlock,
  NeutralRequest,
  NeutralTurn,
  ReasoningAsk,
  ToolResultBlock,
} from "../../../core/neutral.ts";
import { unfit } from "../../../upstream/format-kit/chat-completions-fit.ts";
import type { ChatContext, UpstreamBody } from "../../../upstream/format-kit/dialect.ts";
import { withoutDropped } from "../../../upstream/format-kit/dropped-fields.ts";
import { JSON_ONLY } from "../../../upstream/format-kit/json-words.ts";
import { formatOf } from "../../../upstream/format-kit/open-blocks.ts";
import { effortOf } from "../../../upstream/format-kit/thinking-budget.ts";
import { fitOf, NEUTRAL_TOOLS } from "../../../upstream/format-kit/tool-fit.ts";
import { resultText } from "../../../upstream/format-kit/tool-results.ts";
import { reasoningItem } from "./vendor-answer.ts";

// Conversations in OpenAI's responses wire: a list of items, of which messages are one kind.

interface Input {
  readonly items: readonly Json[];
  /** The first element that this wire cannot express. */
  readonly reason: string | null;
}

/** A message part, or why the wire cannot express it. */
function mediaPart({ kind, source, filename }: MediaBlock): Json | string {
  if (kind === "audio") return "audio input";
  const url = source.at === "url" ? source.url : `data:${source.mediaType};base64,${source.base64}`;
  if (kind === "image") return { type: "input_image", image_url: url, detail: "auto" };
  if (source.at === "url" && !source.url.startsWith("data:")) return { type: "input_file", file_url: url };
  return defined({ type: "input_file", filename: filename ?? "file", file_data: url });
}

class InputBuilder {
  readonly items: Json[] = [];
  readonly #format: string;
  reason: string | null = null;
  /** The content of the message being built; null: the next part starts one. */
  #content: Json[] | null = null;

  constructor(format: string) {
    this.#format = format;
  }

  add({ role, blocks }: NeutralTurn): void {
    this.#content = null;
    for (const block of blocks) this.#block(role, block);
  }

  #refuse(what: string): void {
    this.reason ??= `${what} cannot be put into its wire`;
  }

  #item(item: Json): void {
    this.#content = null;
    this.items.push(item);
  }

  #part(role: NeutralTurn["role"], part: Json): void {
    if (this.#content === null) {
      this.#content = [];
      this.items.push({ role, content: this.#content });
    }
    this.#content.push(part);
  }

  #block(role: NeutralTurn["role"], block: NeutralBlock): void {
    switch (block.kind) {
      case "text":
        if (block.text !== "")
          this.#part(role, { type: role === "assistant" ? "output_text" : "input_text", text: block.text });
        return;
      case "image":
      case "file":
      case "audio": {
        const part = mediaPart(block);
        if (role !== "user") this.#refuse(`media in messages of role ${role}`);
        else if (typeof part === "string") this.#refuse(part);
        else this.#part(role, part);
        return;
      }
      case "tool-call": {
        const { id, name, arguments: text } = block;
        this.#item({ type: "function_call", call_id: id, name, arguments: text || "{}" });
        return;
      }
      case "tool-result":
        this.#item({ type: "function_call_output", call_id: block.callId, output: this.#output(block) });
        return;
      case "reasoning": {
        // A thought without a seal is plain text, which the model does not accept back.
        const item = block.format === this.#format && block.sealed !== null ? reasoningItem(block.sealed) : null;
        if (item !== null) this.#item(item);
        return;
      }
      case "native":
        this.#refuse(`parts in the format ${block.format}`);
        return;
      case "foreign":
        this.#refuse(block.what);
    }
  }

  #output({ content, isError }: ToolResultBlock): string | readonly Json[] {
    if (typeof content === "string") return resultText(content, isError);
    const parts: Json[] = [];
    for (const block of content) {
      if (block.kind === "text")
        parts.push({ type: "input_text", text: resultText(block.text, isError && parts.length === 0) });
      else if (block.kind === "image" || block.kind === "file" || block.kind === "audio") {
        const part = mediaPart(block);
        if (typeof part === "string") this.#refuse(part);
        else parts.push(part);
      } else this.#refuse(`${block.kind} in a tool's result`);
    }
    return parts.length === 0 ? resultText("", isError) : parts;
  }
}

/** Writes a conversation as input items, in order. */
function inputOf(turns: readonly NeutralTurn[], format: string): Input {
  const builder = new InputBuilder(format);
  for (const turn of turns) builder.add(turn);
  return { items: builder.items, reason: builder.reason };
}

// The plain form of OpenAI's responses wire, used by vendors that search before they answer: typed messages with one text each.

/** A message with its parts joined into one text. Media was refused earlier: no such vendor accepts it. */
function plainItem(item: Json): Json {
  if (item.role === undefined) return item;
  const parts = Array.isArray(item.content) ? item.content.filter(isRecord) : [];
  return { type: "message", role: item.role, content: parts.map(({ text }) => stringOf(text) ?? "").join("") };
}

/** The request fields that differ in this form; undefined ones are removed. */
function plainFields(items: readonly Json[], { format }: NeutralRequest): Json {
  const input = items.map(plainItem);
  if (format === null) return { input, text: undefined };
  // It cannot request arbitrary JSON objects, only ones that match a schema.
  if (format.kind === "json") return { input, text: undefined, instructions: JSON_ONLY };
  const { name, schema, strict } = format;
  const json_schema = defined({ name: name ?? "answer", schema, strict: strict ?? undefined });
  return { input, text: undefined, response_format: { type: "json_schema", json_schema } };
}

/** The wire's lowest output limit. */
const OUTPUT_TOKENS_MIN = 16;

/** Fields with the same name in OpenAI's chat wire. All other foreign fields are dropped. */
const SHARED = ["prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "metadata"];

function toolFields({ tools, toolChoice, parallelToolCalls }: NeutralRequest): Json {
  const functions = tools.filter((tool) => tool.kind === "function");
  if (functions.length === 0) return {};
  return {
    // Unlike chat completions, this format treats functions as strict by default.
    tools: functions.map(({ name, description, parameters, strict }) =>
      defined({
        type: "function",
        name,
        description: description ?? undefined,
        parameters: parameters ?? { type: "object", properties: {} },
        strict,
      }),
    ),
    tool_choice: toolChoice?.mode === "named" ? { type: "function", name: toolChoice.name } : toolChoice?.mode,
    parallel_tool_calls: parallelToolCalls ?? undefined,
  };
}

function textOf({ format, extra }: NeutralRequest): Json | undefined {
  const text = defined({ format: formatField(format), verbosity: extra.verbosity });
  return Object.keys(text).length > 0 ? text : undefined;
}

function formatField(format: NeutralRequest["format"]): Json | undefined {
  if (format === null) return undefined;
  if (format.kind === "json") return { type: "json_object" };
  const { name, schema, strict } = format;
  return defined({ type: "json_schema", name: name ?? "answer", schema, strict: strict ?? undefined });
}

function reasoningOf(ask: ReasoningAsk | null, { wire }: ChatContext): Json | undefined {
  const effort = wire.reasoning === "none" ? undefined : effortOf(ask);
  // Vendors give summaries only to verified organisations, and reject requests of others; the adapter says whether to request them.
  const summary = ask !== null && !ask.off && !ask.exclude ? wire.reasoningSummary : undefined;
  const reasoning = defined({ effort, summary });
  return Object.keys(reasoning).length > 0 ? reasoning : undefined;
}

/** The request in the responses wire. Nothing is stored at the vendor: what later turns need comes back sealed. */
export function responsesRequest(request: NeutralRequest, context: ChatContext): UpstreamBody {
  const asked = withoutDropped(fitOf(context, "responses").fitted(request, NEUTRAL_TOOLS), context);
  const { reasoning, sampling, user, extra } = asked;
  const { spec, wire } = context;
  const { items } = inputOf(asked.turns, formatOf(context, "responses"));
  const sent = defined({
    model: context.upstreamModel,
    input: items,
    max_output_tokens: context.outputTokensMax,
    store: false,
    include: wire.reasoning === "none" ? undefined : ["reasoning.encrypted_content"],
    ...toolFields(asked),
    text: textOf(asked),
    ...(wire.takes?.responsesForm === "plain" ? plainFields(items, asked) : {}),
    reasoning: reasoningOf(reasoning, context),
    temperature: sampling.temperature ?? undefined,
    top_p: sampling.topP ?? undefined,
    user: user ?? undefined,
    ...Object.fromEntries(SHARED.map((field) => [field, extra[field]])),
    stream: context.stream ? true : undefined,
    stream_options: context.stream ? spec.streamOptions : undefined,
  });
  return { path: "/responses", body: Object.assign(sent, wire.extraFields) };
}

export function responsesUnsupported(request: NeutralRequest, context: ChatContext): string | null {
  const asked = withoutDropped(request, context);
  const [foreign] = asked.foreign;
  if (foreign !== undefined) return foreign.reason;
  const why = unfit({ tools: asked.tools, choices: asked.choices }, context.wire);
  if (why !== null) return why;
  if (asked.choices > 1) return "n above 1 has no place in its wire";
  if (asked.stops.length > 0) return "stop has no place in its wire";
  if (context.outputTokensMax < OUTPUT_TOKENS_MIN)
    return `max_tokens below ${OUTPUT_TOKENS_MIN} are refused by its wire`;
  const server = asked.tools.find((tool) => tool.kind === "server");
  if (server?.kind === "server") return `tools of type ${server.type} have no place in its wire`;
  return inputOf(asked.turns, formatOf(context, "responses")).reason;
}
