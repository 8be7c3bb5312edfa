// Reads a request in the messages format: validates the fields that matter here and refuses those that change the price.
import type { PlanCall } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json, listOf, wordOf } from "../../../core/json.ts";
import { keysIn } from "../../../core/json-bytes.ts";
import type { ThoughtSeal } from "../../../core/neutral.ts";
import { jsonText } from "../../../core/raw-json.ts";
import { addHosted, callsAt, HOSTS_NOTHING, type Hosts, readActions, type WantedHosted } from "../action-tools.ts";
import { readBody } from "../check-fields.ts";
import type { KnownBody } from "../known-fields.ts";
import type { ModelRequest } from "../model-request.ts";
import { invalid, parseJson } from "../parse-json.ts";
import { shapeOf } from "../prompt-text.ts";
import { commonParts, sharedOutput, stopsIn, wantedNames } from "../request-parts.ts";
import { MessagesFrame, messagesAnswers } from "./answers.ts";
import { holdsOurs } from "./blocks.ts";
import { HOSTED_TYPES, LONG_CACHE, MESSAGES_FIELDS, type MessagesBody, SERVER_TOOLS } from "./fields.ts";
import { formatHeaders } from "./headers.ts";
import { messagesRequest, thoughtsShown } from "./request.ts";

// Hosted tools of the messages format, which the gateway serves to any model.

const TYPES: ReadonlySet<string> = new Set(HOSTED_TYPES);

/** The hosted tools of a body. Throws if the gateway cannot serve one. */
function hostedIn({ tools }: Json, hosts: Hosts): readonly WantedHosted[] {
  const found: WantedHosted[] = [];
  for (const [at, tool] of listOf(tools).entries()) {
    const type = isRecord(tool) ? wordOf(tool.type) : "";
    if (!isRecord(tool) || !TYPES.has(type)) continue;
    const kind = type.startsWith("web_search") ? "web_search" : "web_fetch";
    const param = `tools.${at}`;
    if (!hosts(kind)) throw new GatewayError("unsupported_field", { param: `${param}.type`, detail: SERVER_TOOLS });
    const callsMax = callsAt(tool.max_uses, `${param}.max_uses`);
    addHosted(found, { param, tool: kind, callsMax }, [tool, param, "allowed_domains", "blocked_domains"]);
  }
  return found;
}

/** For JSON in any language, in a count that is never charged. */
const BYTES_PER_TOKEN = 4;

/** No dialect has this name, so every vendor gets a translation. */
const TRANSLATED = "messages-translated";

export interface CheckedMessages {
  readonly sent: Json;
  readonly known: KnownBody<MessagesBody>;
}

/** The caller's own JSON, where `cache_control` has no meaning. */
const FREE_JSON: ReadonlySet<string> = new Set(["input", "input_schema", "schema"]);

/** The path of a longer-lived cache mark, which costs more to write than we charge; null: none. */
function longCacheIn(value: unknown, path: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const at = path === "" ? key : `${path}.${key}`;
    if (key === "cache_control" && isRecord(inner) && inner.ttl != null && inner.ttl !== "5m") return `${at}.ttl`;
    const found = FREE_JSON.has(key) ? null : longCacheIn(inner, at);
    if (found !== null) return found;
  }
  return null;
}

function keysOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let keys = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const inner of Object.values(value)) keys += keysOf(inner);
  return keys;
}

/** Vendors of the same format get the original bytes, so these must not contain anything that we have not read or may not sell. */
function checkBytes(bytes: Buffer, sent: Json): void {
  if (keysIn(bytes) !== keysOf(sent)) throw invalid("", "a field is there twice");
  const param = longCacheIn(sent, "");
  if (param !== null) throw new GatewayError("unsupported_field", { param, detail: LONG_CACHE });
}

export function checkMessages(bytes: Buffer): CheckedMessages {
  const sent = parseJson(bytes) as Json;
  const known = readBody<MessagesBody>(sent, MESSAGES_FIELDS);
  checkBytes(bytes, sent);
  return { sent, known };
}

export function readMessages({ request }: PlanCall, seal: ThoughtSeal, hosts: Hosts = HOSTS_NOTHING): ModelRequest {
  const headers = formatHeaders(request);
  const bytes = request.body;
  const { sent, known } = checkMessages(bytes);
  const actions = readActions(sent, { oneText: false, hosted: hostedIn(sent, hosts) });
  const { body } = known;
  const stream = body.stream === true;
  const promptTokens = Math.ceil((bytes.length - known.dataChars) / BYTES_PER_TOKEN);
  // A field may belong to a dropped beta; the vendor would reject it without that beta.
  const isOurs = holdsOurs(bytes);
  const passesUnsifted = headers.dropped.length === 0 && !isOurs;
  const translatable = messagesRequest(body);
  // The vendor would mistake calls that we ran for its own; a translation drops them.
  const neutral = isOurs ? { ...translatable, wire: TRANSLATED } : translatable;
  const forVendors = { headers: headers.forVendors };
  const asked = passesUnsifted ? neutral : { ...neutral, sent: { bytes: Buffer.from(jsonText(body)), ...forVendors } };
  const parts = commonParts(sent, known, MESSAGES_FIELDS, actions);
  return {
    ...parts,
    operation: "messages",
    idPrefix: "msg_",
    asked,
    unsifted: () => ({ ...asked, sent: { bytes, ...forVendors } }),
    passesUnsifted,
    named: { metadata: body.metadata },
    promptField: "messages",
    dropped: [...headers.dropped, ...parts.dropped],
    shape: shapeOf(known),
    wanted: wantedNames(body.model, body.models),
    stream,
    choices: 1,
    output: sharedOutput(body.max_tokens),
    seal,
    answers: (head) =>
      messagesAnswers({ head, promptTokens, shown: thoughtsShown(body), stops: stopsIn(body.stop_sequences) }),
    frame: ({ trace }) => new MessagesFrame({ stream, trace, requestId: request.id }),
  };
}
