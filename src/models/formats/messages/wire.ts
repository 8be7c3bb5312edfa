// The messages format: whole answers or event streams, with free token counts.
import type { EndpointSpec } from "../../../core/endpoint.ts";
import { at } from "../paths.ts";
import { shapeOf } from "../prompt-shape.ts";
import { readText } from "../prompt-text.ts";
import type { CountRead, ModelWire } from "../wire.ts";
import { messagesErrors, WIRE } from "./errors.ts";
import { MESSAGES_FIELDS } from "./fields.ts";
import { formatHeaders, VERSION_HEADER } from "./headers.ts";
import { asksForPage, modelJson, modelListJson, modelPageJson } from "./models.ts";
import { checkMessages, readMessages } from "./read-body.ts";

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
    list: (rows, query) => (asksForPage(query) ? modelPageJson(rows, query) : modelListJson(rows)),
    one: modelJson,
  },
  free: () => [HELLO],
};
