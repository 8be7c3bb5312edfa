// Reads a request in the responses format: validates the fields that matter here, refuses those that change the price, drops unknown ones.
import { isRecord, type Json } from "../../../core/json.ts";
import type { ThoughtSeal } from "../../../core/neutral.ts";
import { type ActionsAsk, type Hosts, readActions } from "../action-tools.ts";
import { readBody } from "../check-fields.ts";
import { headerSafe, type KnownBody, NAMES_MAX } from "../known-fields.ts";
import type { ModelRequest } from "../model-request.ts";
import { invalid } from "../parse-json.ts";
import type { PromptShape } from "../prompt-text.ts";
import { commonParts, sharedOutput, wantedNames } from "../request-parts.ts";
import type { Earlier, KeptItems } from "../wire.ts";
import { ResponsesCall } from "./answers.ts";
import { RESPONSES_FIELDS, type ResponsesBody } from "./fields.ts";
import { plainBody } from "./input.ts";
import { includes, responsesRequest } from "./request.ts";
import { toolLists } from "./tools.ts";

export const ID_PREFIX = "resp_";

/** In all other formats, a text tool gets our schema, and a tool in a namespace a longer name. */
const TOKENS_PER_UNUSUAL_TOOL = 64;

export interface ReadOptions {
  readonly seal: ThoughtSeal;
  /** Seconds since the epoch. */
  readonly nowS: () => number;
  readonly onSocket?: boolean;
  /** The conversation before the input, where the request refers to a stored answer. */
  readonly earlier: Earlier | null;
  /** Absent: no hosted tool is served here. */
  readonly hosts?: Hosts;
  /** The stored items that the input refers to; null: none. */
  readonly named: KeptItems | null;
}

/** A request, with the answer encoder that all its attempts share. */
export interface ReadResponses {
  readonly request: ModelRequest;
  readonly call: ResponsesCall;
  /** The interpreted body, including the earlier conversation. */
  readonly body: ResponsesBody;
  /** What to store of the answer: everything on request, nothing where the request forbids it. */
  readonly keeps: "answer" | "items" | "nothing";
}

/** The input as items, after those of the earlier conversation. */
function withEarlier(sent: Json, earlier: Earlier | null): Json {
  if (earlier === null) return sent;
  const { input } = sent;
  const items = typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
  return Array.isArray(items) ? { ...sent, input: [...earlier.items, ...items] } : sent;
}

function shapeOf({ body, parts, dataChars, jsonTokens }: KnownBody<ResponsesBody>): PromptShape {
  const lists = toolLists(body);
  const inner = lists.flatMap(({ tools }) => (Array.isArray(tools) ? tools : []));
  const unusual = lists.filter(({ type }) => type === "custom").length + inner.length;
  const { text, input } = body;
  return {
    parts,
    dataChars,
    jsonTokens: jsonTokens + TOKENS_PER_UNUSUAL_TOOL * unusual,
    // The instructions count as a message, and so does a plain text.
    messages: 1 + (typeof input === "string" ? 1 : input.length),
    hasSchemas: lists.length > 0 || (isRecord(text) && isRecord(text.format)),
  };
}

/** The tools removed before the table applies, and those that the gateway runs. */
interface Prepared {
  readonly dropped: readonly string[];
  readonly actions: ActionsAsk | null;
}

function requestOf(
  sent: Json,
  known: KnownBody<ResponsesBody>,
  options: ReadOptions,
  { dropped, actions }: Prepared,
): ReadResponses {
  const { body } = known;
  const stream = body.stream === true;
  const store = body.store === true;
  const maxOutputTokens = body.max_output_tokens ?? null;
  const seals = store || includes(body, "reasoning.encrypted_content");
  const { nowS, onSocket = false, earlier, named, seal } = options;
  const call = new ResponsesCall(body, { store, maxOutputTokens, seals, nowS, onSocket });
  const asked = responsesRequest(body);
  const parts = commonParts(sent, known, RESPONSES_FIELDS, actions);
  const request: ModelRequest = {
    ...parts,
    operation: "responses",
    idPrefix: ID_PREFIX,
    asked,
    unsifted: () => asked,
    named: { user: body.user, metadata: body.metadata },
    promptField: "input",
    dropped: [...dropped.slice(0, NAMES_MAX).map(headerSafe), ...parts.dropped],
    shape: shapeOf(known),
    wanted: wantedNames(body.model, body.models),
    stream,
    choices: 1,
    output: sharedOutput(maxOutputTokens),
    keptBytes: (earlier?.bytes ?? 0) + (named?.bytes ?? 0),
    seal,
    answers: (head) => call.answers(head),
    frame: (frameParts) => call.frame({ ...frameParts, stream }),
  };
  return { request, call, body, keeps: store ? "answer" : body.store === false ? "nothing" : "items" };
}

export function readResponsesBody(sent: Json, options: ReadOptions): ReadResponses {
  const plain = plainBody(withEarlier(sent, options.earlier), options.seal, options.named?.byId, options.hosts);
  const actions = readActions(sent, { oneText: false, hosted: plain.hosted });
  const known = readBody<ResponsesBody>(plain.body, RESPONSES_FIELDS);
  const read = requestOf(sent, known, options, { dropped: plain.dropped, actions });
  if (read.request.wanted.length > 0) return read;
  throw invalid("model", "name a model or a tier, such as core/cheap");
}
