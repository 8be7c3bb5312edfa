// OpenAI's responses wire on both sides: forwards bytes, and parses only events with our names, seals, or the end.

import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { PassedAnswer } from "../../../core/neutral.ts";
import type {
  BytesOut,
  ChatContext,
  Passing,
  StreamReader,
  UnaryAnswer,
  UpstreamBody,
} from "../../../upstream/format-kit/dialect.ts";
import { readError, upstreamCostFrom } from "../../../upstream/format-kit/error-body.ts";
import { fitOf, type ToolPlaces } from "../../../upstream/format-kit/tool-fit.ts";
import { emptiness, malformed } from "../../../upstream/vendor-failure.ts";
import { endOf, failureInside, reasoningItem, sealOf, tellUnpriced, unended, usageOf } from "./vendor-answer.ts";

const SEALS = "reasoning.encrypted_content";
const LOGPROBS = "message.output_text.logprobs";

/** Fields that we set ourselves, that this wire lacks, or that vendors must not see. */
const OWN_FIELDS = new Set([
  "model",
  "models",
  "input",
  "include",
  "reasoning",
  "max_output_tokens",
  "stream",
  "stream_options",
  "store",
  "previous_response_id",
  "presence_penalty",
  "frequency_penalty",
  "service_tier",
]);

/** Vendors reject a tool choice without tools. */
const TOOL_FIELDS = new Set(["tools", "tool_choice", "parallel_tool_calls"]);

/** Returns thoughts only to the vendor that made them; drops others. */
function inputOf(input: unknown, { seal }: ChatContext): unknown {
  if (!Array.isArray(input)) return input;
  return input.flatMap((item) => {
    if (!isRecord(item) || item.type !== "reasoning") return [item];
    const thought = seal?.open(stringOf(item.encrypted_content) ?? "") ?? null;
    const own = thought?.sealed == null ? null : reasoningItem(thought.sealed);
    return own === null ? [] : [own];
  });
}

/** Requests a summary only where the adapter allows it: other vendors reject the field. */
function reasoningOf(reasoning: unknown, { wire }: ChatContext): Json | undefined {
  if (!isRecord(reasoning) || wire.reasoning === "none") return undefined;
  const { summary, generate_summary, ...asked } = reasoning;
  const shown = summary ?? generate_summary;
  if (wire.reasoningSummary !== undefined && typeof shown === "string") asked.summary = shown;
  return Object.keys(asked).length > 0 ? asked : undefined;
}

function includeOf(include: unknown, { wire }: ChatContext): string[] | undefined {
  const asked = Array.isArray(include) && include.includes(LOGPROBS) ? [LOGPROBS] : [];
  if (wire.reasoning !== "none") asked.push(SEALS);
  return asked.length > 0 ? asked : undefined;
}

const DECLARED: ToolPlaces = { name: "name", parameters: "schema" };

const TOOLS: ToolPlaces = {
  input: [
    {
      call_id: ({ type, call_id }) => {
        if (String(type).endsWith("_output")) return "result";
        return type === "function_call" || call_id !== undefined ? "call" : null;
      },
      name: ({ type }) => (String(type).endsWith("_call") ? "name" : null),
      arguments: "arguments",
      tools: [DECLARED],
    },
  ],
  tools: [{ ...DECLARED, tools: [DECLARED] }],
  tool_choice: { name: "name", tools: [{ name: "name" }] },
};

function request(asked: Json, context: ChatContext): UpstreamBody {
  const { spec, wire } = context;
  const body = fitOf(context, "responses").fitted(asked, TOOLS);
  const noTools = Array.isArray(body.tools) && body.tools.length === 0;
  const sent: Json = { model: context.upstreamModel };
  for (const field of Object.keys(body)) {
    if (OWN_FIELDS.has(field) || wire.dropFields?.includes(field) || (noTools && TOOL_FIELDS.has(field))) continue;
    if (body[field] !== null) sent[field] = body[field];
  }
  sent.input = inputOf(body.input, context);
  sent.reasoning = reasoningOf(body.reasoning, context);
  sent.include = includeOf(body.include, context);
  sent.max_output_tokens = context.outputTokensMax;
  sent.store = false;
  if (context.stream) {
    sent.stream = true;
    const told = isRecord(body.stream_options) ? body.stream_options : {};
    const options = { ...told, ...spec.streamOptions };
    if (Object.keys(options).length > 0) sent.stream_options = options;
  }
  return { path: "/responses", body: Object.assign(sent, wire.extraFields) };
}

/** A call's item or event with the caller's tool name. */
function restored(named: Json, { tools }: ChatContext): Json {
  const { name } = named;
  const original = typeof name === "string" ? tools?.original(name) : undefined;
  return original === undefined || original === name ? named : { ...named, name: original };
}

/** A reasoning item gets our seal; without one, such as for a thought that is too long, it loses its encrypted content. */
function sealedItem(item: unknown, context: ChatContext): unknown {
  if (!isRecord(item)) return item;
  if (item.type !== "reasoning") return restored(item, context);
  if (item.encrypted_content === undefined) return item;
  const { encrypted_content: _theirs, ...shown } = item;
  const thought = sealOf(item, context);
  const sealed = thought === null ? null : (context.seal?.seal(thought) ?? null);
  return sealed === null ? shown : { ...shown, encrypted_content: sealed };
}

function bears(item: unknown): boolean {
  return isRecord(item) && item.type !== "reasoning" && item.type !== "message";
}

function textIn(value: unknown): string {
  if (Array.isArray(value)) return value.map(textIn).join("");
  if (!isRecord(value)) return "";
  const said = [value.text, value.refusal, value.name, value.arguments, value.input].map((one) => stringOf(one) ?? "");
  return said.join("") + textIn(value.content) + textIn(value.summary);
}

function hasCalls(output: unknown): boolean {
  return Array.isArray(output) && output.some(bears);
}

/** A response object with these items, under our ids and names. */
function adopted(response: Json, output: readonly unknown[], passed: PassedAnswer | undefined): Json {
  const told = { ...response, output };
  return passed === undefined ? told : passed.adopt(told);
}

function answer(json: unknown, context: ChatContext): UnaryAnswer {
  if (!isRecord(json)) return malformed("the answer is no JSON object");
  if (isRecord(json.error)) return failureInside(json.error);
  if (!Array.isArray(json.output)) return malformed("the answer has no output");
  const end = endOf(json, hasCalls(json.output));
  if (end === null) return unended(json);
  const text = textIn(json.output);
  const empty = text === "" && !hasCalls(json.output) ? emptiness(end.reason, end.native) : null;
  const output = json.output.map((item) => sealedItem(item, context));
  const usage = usageOf(json.usage);
  tellUnpriced(json, context);
  const body = adopted(json, output, context.passed?.());
  const upstreamCostNano = upstreamCostFrom(json.usage, context);
  return { body, usage, upstreamCostNano, text, ...(empty === null ? {} : { empty }) };
}

const DELTA = ".delta";
const DELTA_FIELD = '"delta":"';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_END = 0x0a;
/** `event: ` and the name: the common start of all events of this name. */
const HEADS = new Map<string, Buffer>();
/** Vendors choose the names, so the cache is bounded. */
const HEADS_MAX = 256;
const THOUGHTS_MAX = 1_024;
const AFTER = Buffer.from("\n\n");

function headOf(name: string): Buffer {
  const known = HEADS.get(name);
  if (known !== undefined) return known;
  // A line break in the name would let a vendor add fields or events.
  const head = Buffer.from(`event: ${name.replace(/[\r\n]/g, " ")}\ndata: `);
  if (HEADS.size < HEADS_MAX) HEADS.set(name, head);
  return head;
}

/** The index where the string that starts at `from` ends; -1 if it does not end here. */
function endOfString(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(QUOTE, from); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return -1;
}

class PassingReader implements StreamReader {
  readonly #context: ChatContext;
  readonly #out: BytesOut;
  readonly #passed: PassedAnswer | undefined;
  /** Finished thoughts as sent to the caller, by id. */
  readonly #thoughts = new Map<string, unknown>();
  #bore = false;
  #over = false;

  constructor(context: ChatContext, out: BytesOut) {
    this.#context = context;
    this.#out = out;
    this.#passed = context.passed?.();
  }

  event(bytes: Buffer, start: number, end: number, name: string | null): boolean {
    if (this.#over) return true;
    const text = bytes.toString("utf8", start, end);
    let data: unknown;
    try {
      data = JSON.parse(text);
    } catch {
      return text.trim() === "[DONE]";
    }
    if (!isRecord(data)) return false;
    this.#read(stringOf(data.type) ?? name ?? "", data, bytes.subarray(start, end));
    return true;
  }

  /** Nine of ten events: they were parsed only to validate them, and need no changes. */
  #delta(data: Buffer, name: string, delta: unknown): void {
    this.#bore = true;
    this.#out.choice(0, false);
    this.#pass(name, data, "content");
    const at = data.indexOf(DELTA_FIELD);
    // Some vendors put a space after the colon.
    if (at < 0) return this.#out.deliveredText(stringOf(delta) ?? "");
    const from = at + DELTA_FIELD.length;
    const to = endOfString(data, from);
    if (to > from) this.#out.delivered(data, from, to);
  }

  #pass(name: string, data: Buffer, kind: "content" | "preamble" | "finish"): void {
    if (this.#passed !== undefined) this.#passed.sequence++;
    this.#out.raw(Buffer.concat([headOf(name), data, AFTER]), kind);
  }

  #tell(name: string, data: Json, kind: "content" | "preamble" | "finish"): void {
    this.#pass(name, Buffer.from(JSON.stringify(data)), kind);
  }

  #read(type: string, data: Json, bytes: Buffer): void {
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress": {
        this.#out.choice(0, false);
        const response = isRecord(data.response) ? data.response : {};
        this.#tell(type, { ...data, response: adopted(response, [], this.#passed) }, "preamble");
        return;
      }
      case "response.output_item.added":
      case "response.output_item.done":
        return this.#item(type, data);
      case "response.completed":
      case "response.incomplete":
        return this.#end(type, data);
      case "response.failed":
        return this.#fail(isRecord(data.response) ? data.response.error : null);
      case "error":
        return this.#fail(isRecord(data.error) ? data.error : data);
      default: {
        const told = restored(data, this.#context);
        // Data that a vendor spread over several lines would become several events of ours.
        const isSame = told === data && !bytes.includes(LINE_END);
        const plain = isSame ? bytes : Buffer.from(JSON.stringify(told));
        if (type.endsWith(DELTA)) this.#delta(plain, type, data.delta);
        else this.#pass(type, plain, "preamble");
      }
    }
  }

  #sealed(item: unknown): unknown {
    const id = isRecord(item) && item.type === "reasoning" ? (stringOf(item.id) ?? "") : "";
    // An empty id does not identify a thought, so nothing is reused.
    if (id === "") return sealedItem(item, this.#context);
    const told = this.#thoughts.get(id) ?? sealedItem(item, this.#context);
    if (this.#thoughts.size < THOUGHTS_MAX) this.#thoughts.set(id, told);
    return told;
  }

  #item(type: string, data: Json): void {
    const isDone = type.endsWith("done");
    const item = isDone ? this.#sealed(data.item) : sealedItem(data.item, this.#context);
    const gives = bears(item);
    this.#bore ||= gives;
    this.#tell(type, { ...data, item }, gives ? "content" : "preamble");
    if (gives && !isDone && isRecord(item)) this.#out.deliveredText(stringOf(item.name) ?? "");
  }

  #end(type: string, data: Json): void {
    this.#over = true;
    const response = isRecord(data.response) ? data.response : {};
    const usage = usageOf(response.usage);
    if (usage !== null) this.#out.usage(usage);
    const costNano = upstreamCostFrom(response.usage, this.#context);
    if (costNano !== null) this.#out.upstreamCost(costNano);
    const end = endOf(response, hasCalls(response.output));
    if (end === null) return this.#out.fail(unended(response));
    const items: readonly unknown[] = Array.isArray(response.output) ? response.output : [];
    const bore = this.#bore || hasCalls(items) || textIn(items) !== "";
    const empty = bore ? null : emptiness(end.reason, end.native);
    if (empty !== null) this.#out.empty(empty);
    tellUnpriced(response, this.#context);
    this.#out.choice(0, true);
    const output = items.map((item) => this.#sealed(item));
    this.#tell(type, { ...data, response: adopted(response, output, this.#passed) }, "finish");
    this.#out.end();
  }

  #fail(error: unknown): void {
    this.#over = true;
    this.#out.fail(failureInside(error));
  }
}

export const responsesPassing: Passing = {
  request,
  answer,
  restoresNames: true,
  error: readError,
  reader: (context, out) => new PassingReader(context, out),
};
