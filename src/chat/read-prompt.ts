// Reads a prompt whose tokens a caller wants to know, in the counter's thread: its body may be long, and the reading is not paid for.
import { type ErrorOptions, GatewayError } from "../errors.ts";
import { isRecord, type Json } from "../json.ts";
import { invalid, parseJson } from "../wires/parse-json.ts";
import { checkMessages } from "./messages-body.ts";
import { MESSAGES_FIELDS } from "./messages-fields.ts";
import { type PromptShape, shapeOf } from "./prompt-bounds.ts";
import { readText } from "./prompt-text.ts";
import { readResponsesBody } from "./responses-body.ts";
import { namedItems } from "./responses-input.ts";
import { thoughtSeal } from "./seal.ts";

/** A body to be read, in one of the wires that have counts. */
export interface PromptOrder {
  readonly wire: "messages" | "responses";
  readonly bytes: Uint8Array;
  readonly payer: string;
  /** What is kept of the conversation that the body goes on from, and of the items that it names; null: it has not been looked for. */
  readonly earlier: { readonly items: readonly unknown[]; readonly bytes: number } | null;
  readonly named: { readonly byId: ReadonlyMap<string, Json>; readonly bytes: number } | null;
}

/** The count, what is wrong with the body, or what must be looked for before it can be read. */
export type PromptRead =
  | { readonly model: string; readonly shape: PromptShape; readonly tokens: number }
  | { readonly refused: Pick<GatewayError, "code" | "options"> }
  | { readonly previous: string }
  | { readonly ids: readonly string[] };

type Text = { readonly model: string; readonly shape: PromptShape; readonly text: string };

function messagesText(bytes: Buffer): Text | GatewayError {
  const checked = checkMessages(bytes);
  if (checked instanceof GatewayError) return checked;
  const { body, sifted } = checked;
  return { model: body.model, shape: shapeOf(sifted), text: readText(sifted.body, MESSAGES_FIELDS) };
}

function responsesText(
  bytes: Buffer,
  { payer, earlier, named }: PromptOrder,
  secrets: readonly string[],
): Text | GatewayError | { readonly previous: string } | { readonly ids: readonly string[] } {
  const sent = parseJson(bytes);
  if (sent instanceof GatewayError) return sent;
  if (!isRecord(sent)) return invalid("", "must be an object");
  const { previous_response_id: previous } = sent;
  if (typeof previous === "string" && earlier === null) return { previous };
  const ids = named === null ? namedItems(sent.input, earlier?.items ?? []) : [];
  if (ids.length > 0) return { ids };
  // Whatever the model, the count is ours. Nothing that is made of the time is sent.
  const options = { seal: thoughtSeal(secrets, payer), nowS: () => 0, earlier, named };
  const read = readResponsesBody({ model: "any", ...sent, stream: false }, options);
  if (read instanceof GatewayError) return read;
  const { shape } = read.request;
  return { model: "any", shape, text: read.request.readText() };
}

/** An error as another thread can be told it; its cause stays here. */
function told({ code, options }: GatewayError): {
  readonly code: GatewayError["code"];
  readonly options: ErrorOptions;
} {
  const { cause: _, ...rest } = options;
  return { code, options: rest };
}

export function readPrompt(
  order: PromptOrder,
  secrets: readonly string[],
  count: (text: string) => number,
): PromptRead {
  const bytes = Buffer.from(order.bytes.buffer, order.bytes.byteOffset, order.bytes.byteLength);
  const read = order.wire === "messages" ? messagesText(bytes) : responsesText(bytes, order, secrets);
  if (read instanceof GatewayError) return { refused: told(read) };
  if (!("text" in read)) return read;
  return { model: read.model, shape: read.shape, tokens: count(read.text) };
}
