// Encodes neutral answers in the responses format, whole and streamed, and ends broken streams.

import type { Frame } from "../../../core/endpoint.ts";
import type { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import type { AnswerCodec, AnswerText } from "../../../core/neutral.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import type { FinalPart, Leg } from "../../../core/route.ts";
import { eventsOf } from "../answer-events.ts";
import { AnswerFrame, costJson, type FrameOptions } from "../answer-head.ts";
import { errorObject } from "../error-object.ts";
import type { AnswerHead } from "../wire.ts";
import { streamCode } from "./errors.ts";
import type { ResponsesBody } from "./fields.ts";
import { type Done, echoOf, responseObject, usageJson } from "./response-object.ts";
import { eventText, type Progress, ResponsesEncoder } from "./stream.ts";
import { ResponsesTools } from "./tools.ts";

const DONE = "data: [DONE]\n\n";
/** JSON has no line breaks, so the last occurrence precedes the data of the last event. */
const DATA = "\ndata: ";

/** The fields of a vendor's response object that are the caller's; the vendor may know the tools by other names. */
const CALLERS = ["store", "max_output_tokens", "previous_response_id", "metadata", "tools", "tool_choice"];

export interface ResponsesCallOptions extends Done {
  /** The answer goes to a socket, where every final event lets the next answer start. */
  readonly onSocket: boolean;
  /** The caller gets sealed thoughts, to send back. */
  readonly seals: boolean;
  /** Seconds since the epoch. */
  readonly nowS: () => number;
}

interface ResponsesFrameOptions extends FrameOptions {
  readonly id: string;
  readonly createdS: number;
  readonly call: ResponsesCall;
}

/** The answer side of one request, shared by its attempts and its frame. */
export class ResponsesCall {
  readonly #body: ResponsesBody;
  readonly #options: ResponsesCallOptions;
  readonly #tools: ResponsesTools;
  #progress: Progress = { sequence: 0, output: [] };
  #echo: Json | null = null;

  constructor(body: ResponsesBody, options: ResponsesCallOptions) {
    this.#body = body;
    this.#options = options;
    this.#tools = new ResponsesTools(body);
  }

  echo(): Json {
    this.#echo ??= echoOf(this.#body, this.#options);
    return this.#echo;
  }

  answers(head: AnswerHead): AnswerCodec {
    const { seals, nowS } = this.#options;
    const { reasoning } = this.#body;
    const parts = {
      idTail: head.id.replace(/^[a-z]+_/, ""),
      tools: this.#tools,
      seals,
      shows: !isRecord(reasoning) || reasoning.summary !== null,
    };
    const encoder = () => new ResponsesEncoder(head, { echo: this.echo(), parts, progress: this.begin(), nowS });
    return {
      encoder,
      whole: (answer) => encoder().whole(eventsOf(answer)),
      texts: textsOf,
      passed: () => Object.assign(this.begin(), { adopt: (object: Json) => this.#adopted(object, head) }),
    };
  }

  /** A vendor's response object under our ids; fields that it omits are as requested. */
  #adopted(object: Json, { id, model }: AnswerHead): Json {
    const echo = this.echo();
    const own = Object.fromEntries(CALLERS.map((field) => [field, echo[field]]));
    const ended = { completed_at: null, incomplete_details: null, error: null };
    return { ...ended, ...echo, ...object, ...own, id, model, usage: null };
  }

  /** Starts a new attempt: nothing of an earlier one was sent. */
  begin(): Progress {
    this.#progress = { sequence: 0, output: [] };
    return this.#progress;
  }

  frame(options: Omit<ResponsesFrameOptions, "call">): Frame {
    return new ResponsesFrame({ ...options, call: this });
  }

  /** Ends a broken stream. Over HTTP, every client understands at least one of the two events. */
  broken(head: AnswerHead, error: GatewayError): string {
    const progress = this.#progress;
    const code = streamCode(error);
    const { message, options } = error;
    const fields = { code, message, param: options.param ?? null, error: errorObject(error) };
    const state = { status: "failed", output: progress.output, completedS: null, error: { code, message } } as const;
    const response = responseObject(head, this.echo(), state);
    const first = this.#options.onSocket ? "" : eventText("error", progress, `,${JSON.stringify(fields).slice(1, -1)}`);
    return `${first}${eventText("response.failed", progress, `,"response":${JSON.stringify(response)}`)}${DONE}`;
  }
}

/** The text of the last message, if it has no other part. */
function textsOf({ status, output }: Json): readonly AnswerText[] {
  const messages = (Array.isArray(output) ? output : []).filter((item) => isRecord(item) && item.type === "message");
  const content: unknown = messages.at(-1)?.content;
  const [part, ...more] = Array.isArray(content) ? content : [];
  if (status !== "completed" || more.length > 0 || !isRecord(part) || typeof part.text !== "string") return [];
  return [{ text: part.text, put: (text) => void Object.assign(part, { text }) }];
}

class ResponsesFrame extends AnswerFrame<ResponsesFrameOptions> {
  last(final: FinalPart, cost: Cost, charge: Charge, attempts: readonly Leg[]): Uint8Array | string {
    const usage = cost.usage === null ? null : { ...usageJson(cost.usage), ...costJson(charge, cost) };
    const charged = { usage, ...this.trace(attempts, charge) };
    if (final.kind === "body") return JSON.stringify(Object.assign(final.body, charged));
    const event = lastEvent(final.tail);
    if (event === null) throw new Error("a stream ends with an event that has the response");
    const { before, data, response } = event;
    data.response = Object.assign(response, charged);
    return Buffer.concat([before, Buffer.from(`${JSON.stringify(data)}\n\n${DONE}`)]);
  }

  broken(error: GatewayError, attempts: readonly Leg[]): string {
    const { id, createdS, call } = this.options;
    return call.broken({ id, createdS, model: attempts.at(-1)?.model ?? "" }, error);
  }
}

/** Splits a stream's tail into its last event and the bytes before that event's data. */
export function lastEvent(tail: Uint8Array): { before: Buffer; data: Json; response: Json } | null {
  const bytes = Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength);
  const at = bytes.lastIndexOf(DATA);
  if (at < 0) return null;
  const from = at + DATA.length;
  const data: unknown = JSON.parse(bytes.toString("utf8", from));
  if (!isRecord(data) || !isRecord(data.response)) return null;
  return { before: bytes.subarray(0, from), data, response: data.response };
}
