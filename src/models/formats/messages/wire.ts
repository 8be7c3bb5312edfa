// The messages format: whole answers or event streams, with free token counts.
import type { EndpointSpec } from "../../../core/endpoint.ts";
import { invalid } from "../parse-json.ts";
import { at } from "../paths.ts";
import { readText, shapeOf } from "../prompt-text.ts";
import type { CountRead, ModelRow, ModelWire } from "../wire.ts";
import { messagesErrors, WIRE } from "./errors.ts";
import { MESSAGES_FIELDS } from "./fields.ts";
import { formatHeaders, VERSION_HEADER } from "./headers.ts";
import { checkMessages, readMessages } from "./read-body.ts";

// The list of models in the messages format, paginated on request.

function modelJson({ id, created, context_length, max_output_tokens }: ModelRow): Record<string, unknown> {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: new Date(created * 1_000).toISOString(),
    max_input_tokens: context_length ?? null,
    max_tokens: max_output_tokens ?? null,
  };
}

/** Query parameters of the list; without them it is complete. */
const PAGE = ["limit", "after_id", "before_id"] as const;
const LIMIT_MAX = 1_000;

function talkable(all: readonly ModelRow[]): readonly ModelRow[] {
  return all.filter(({ kind }) => kind === "chat" || kind === "tier");
}

function listOf(rows: readonly ModelRow[], hasMore: boolean): Record<string, unknown> {
  return {
    data: rows.map(modelJson),
    has_more: hasMore,
    first_id: rows[0]?.id ?? null,
    last_id: rows.at(-1)?.id ?? null,
  };
}

function modelPageJson(all: readonly ModelRow[], query: URLSearchParams): Record<string, unknown> {
  const rows = talkable(all);
  const [limit, after, before] = PAGE.map((name) => query.get(name));
  const count = limit == null ? rows.length : Number(limit);
  if (limit != null && (!/^\d{1,4}$/.test(limit) || count < 1 || count > LIMIT_MAX))
    throw invalid("limit", `must be a whole number from 1 to ${LIMIT_MAX}`);
  if (after != null && before != null) throw invalid("before_id", "cannot go with after_id");
  const named = rows.findIndex(({ id }) => id === (after ?? before));
  if ((after ?? before) != null && named < 0)
    throw invalid(after == null ? "before_id" : "after_id", "is no model here");
  const isBefore = before != null;
  const from = isBefore ? Math.max(0, named - count) : named + 1;
  const to = isBefore ? named : Math.min(rows.length, from + count);
  return listOf(rows.slice(from, to), isBefore ? from > 0 : to < rows.length);
}

/** Counts are free, so their bodies have a tighter limit. */
const COUNTED_BYTES_MAX = 8 * 1024 * 1024;

/** Agents probe their base URL before they send a key. */
const HELLO: EndpointSpec = {
  method: "GET",
  path: "/api/hello",
  alias: "/api/llm/api/hello",
  auth: "none",
  bodyBytesMax: 0,
  answer: () => ({ status: 200, body: { message: "hello" } }),
};

function countRead(bytes: Buffer): CountRead {
  const { known } = checkMessages(bytes);
  return { model: known.body.model, shape: shapeOf(known), text: readText(known.body, MESSAGES_FIELDS) };
}

export const messagesWire: ModelWire = {
  name: WIRE,
  errors: messagesErrors,
  calls: [
    {
      ...at("/messages"),
      read: (call, host) =>
        readMessages(call, host.seals(call.audience.payer), (tool) => host.hosts(tool, call.audience)),
    },
  ],
  counts: [
    {
      ...at("/messages/count_tokens"),
      bodyBytesMax: COUNTED_BYTES_MAX,
      check: formatHeaders,
      read: countRead,
      answer: (tokens) => ({ input_tokens: tokens }),
    },
  ],
  models: {
    isAsked: ({ headers }) => headers.has(VERSION_HEADER),
    list: (rows, query) =>
      PAGE.some((name) => query.has(name)) ? modelPageJson(rows, query) : listOf(talkable(rows), false),
    one: modelJson,
  },
  free: () => [HELLO],
};
