// Reads a request in the messages wire: checks what we must understand, refuses what changes the price.
import { z } from "zod";
import type { PlanCall } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { readFields } from "../../../core/field-issues.ts";
import { isRecord } from "../../../core/json.ts";
import { keysIn } from "../../../core/json-bytes.ts";
import type { ThoughtSeal } from "../../../core/neutral.ts";
import { jsonText } from "../../../core/raw-json.ts";
import { HOSTS_NOTHING, type Hosts, readActions } from "../action-tools.ts";
import type { ModelRequest } from "../model-request.ts";
import { wantedNames } from "../neutral-blocks.ts";
import { invalid, parseJson } from "../parse-json.ts";
import { readPreferences } from "../preferences.ts";
import { shapeOf } from "../prompt-shape.ts";
import { readText, sentText } from "../prompt-text.ts";
import { schemaError } from "../schema-error.ts";
import { type Sifted, sift } from "../sift.ts";
import { messagesAnswers } from "./answers.ts";
import type { MessagesBody } from "./body.ts";
import { MESSAGES_FIELDS } from "./fields.ts";
import { createMessagesFrame } from "./frame.ts";
import { wireHeaders } from "./headers.ts";
import { hostedIn } from "./hosted.ts";
import { messagesRequest, stopsOf, thoughtsShown } from "./request.ts";
import { holdsOurs } from "./run-here.ts";

/** Of JSON in any language, for a count that no charge is made by. */
const BYTES_PER_TOKEN = 4;

const block = z.object({ type: z.string() });
const content = z.union([z.string(), z.array(block)], "must be text or a list of content blocks");

/** The name of no dialect. */
const NEUTRAL_ALONE = "messages-said-neutrally";

const message = z.object({
  role: z.enum(["user", "assistant", "system"]),
  content: content.nullish(),
});

/** What we must understand. The allow-list says what else there may be. */
const messagesBody = z.object({
  model: z.string().min(1).max(200),
  models: z.array(z.string().min(1).max(200)).min(1).max(16).nullish(),
  messages: z.array(message).min(1).max(100_000),
  system: content.nullish(),
  max_tokens: z.number().int().min(1).max(10_000_000).nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.number().int().min(0).nullish(),
  stop_sequences: z.array(z.string()).max(16).nullish(),
  tools: z.array(z.object({ name: z.string().nullish() })).nullish(),
  tool_choice: z.object({ type: z.string() }).nullish(),
  thinking: z.object({ type: z.string(), budget_tokens: z.number().int().min(1_024).nullish() }).nullish(),
  output_config: z.object({}).nullish(),
  metadata: z.object({}).nullish(),
});

/** A body that has passed the allow-list and the schema. */
export interface CheckedMessages {
  readonly sent: Record<string, unknown>;
  readonly sifted: Sifted;
  readonly body: z.infer<typeof messagesBody>;
}

/** A longer-lived cache costs more to write than the price we sell at, wherever in the body it is asked for. */
function longCacheIn(value: unknown, path: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const at = path === "" ? key : `${path}.${key}`;
    const found =
      key === "cache_control" && isRecord(inner) && inner.ttl != null && inner.ttl !== "5m"
        ? `${at}.ttl`
        : CALLERS_OWN.has(key)
          ? null
          : longCacheIn(inner, at);
    if (found !== null) return found;
  }
  return null;
}

/** JSON of the caller's own, in which a word means what he likes. */
const CALLERS_OWN: ReadonlySet<string> = new Set(["input", "input_schema", "schema"]);

function keysOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let keys = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const inner of Object.values(value)) keys += keysOf(inner);
  return keys;
}

/** A body goes to a vendor of the same wire to the byte, so it must not hold what we have not read, or may not sell. */
function strangeBody(bytes: Buffer, sent: Record<string, unknown>): GatewayError | null {
  if (keysIn(bytes) !== keysOf(sent)) return invalid("", "a field is there twice");
  const param = longCacheIn(sent, "");
  if (param === null) return null;
  return new GatewayError("unsupported_field", { param, detail: { detail: "only the five-minute cache is sold" } });
}

/** Checks a body, or says what is wrong with it. */
export function checkMessages(bytes: Buffer): CheckedMessages | GatewayError {
  const sent = parseJson(bytes);
  if (sent instanceof GatewayError) return sent;
  const sifted = isRecord(sent) ? sift(sent, MESSAGES_FIELDS) : null;
  const parsed = readFields(messagesBody, sifted?.body ?? sent);
  if (!("data" in parsed)) return schemaError(parsed);
  if (sifted === null || !isRecord(sent)) return invalid("", "must be an object");
  return sifted.refused ?? strangeBody(bytes, sent) ?? { sent, sifted, body: parsed.data };
}

/** Reads a request to a model in the messages wire; thoughts come and go under `seal`. */
export function readMessages(
  { request }: PlanCall,
  seal: ThoughtSeal,
  hosts: Hosts = HOSTS_NOTHING,
): ModelRequest | GatewayError {
  const headers = wireHeaders(request);
  if (headers instanceof GatewayError) return headers;
  const bytes = request.body;
  const checked = checkMessages(bytes);
  if (checked instanceof GatewayError) return checked;
  const { sent, sifted, body } = checked;
  const hosted = hostedIn(sent, hosts);
  if (hosted instanceof GatewayError) return hosted;
  const actions = readActions(sent, { oneText: false, hosted });
  if (actions instanceof GatewayError) return actions;
  const { preferences, dropped } = readPreferences(sent.provider);
  const kept = sifted.body as MessagesBody;
  const stream = body.stream === true;
  const promptTokens = Math.ceil((bytes.length - sifted.dataChars) / BYTES_PER_TOKEN);
  const { told } = headers;
  // A field may have come with a beta that is left out, and without it the vendor would refuse the field: then what is sifted goes.
  const isOurs = holdsOurs(bytes);
  const passesUnsifted = headers.dropped.length === 0 && !isOurs;
  const checkedRequest = messagesRequest(kept);
  // What we have run would be taken by its vendor for its own; said neutrally it is left out.
  const neutral = isOurs ? { ...checkedRequest, wire: NEUTRAL_ALONE } : checkedRequest;
  const asked = passesUnsifted ? neutral : { ...neutral, sent: { bytes: Buffer.from(jsonText(kept)), headers: told } };
  return {
    operation: "messages",
    idPrefix: "msg_",
    asked,
    unsifted: () => ({ ...asked, sent: { bytes, headers: told } }),
    passesUnsifted,
    sent,
    named: { metadata: body.metadata },
    promptField: "messages",
    ...(actions === null ? {} : { actions }),
    dropped: [...headers.dropped, ...sifted.dropped, ...dropped],
    shape: shapeOf(sifted),
    unknownPart: sifted.unknown,
    maxCostCents: sent.max_cost_cents,
    preferences,
    wanted: wantedNames(body.model, body.models),
    stream,
    choices: 1,
    output: { asked: body.max_tokens ?? null, fallback: null, cap: null, shared: true },
    sentText: () => sentText(kept, MESSAGES_FIELDS),
    readText: () => readText(kept, MESSAGES_FIELDS),
    seal,
    answers: (head) => messagesAnswers({ head, promptTokens, shown: thoughtsShown(kept), stops: stopsOf(kept) }),
    frame: ({ trace }) => createMessagesFrame({ stream, trace, requestId: request.id }),
  };
}
