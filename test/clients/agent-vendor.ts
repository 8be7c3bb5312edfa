// A vendor for coding agents: as strict about requests as the real one, it makes one tool call and then reports that it is done.
import type { ServerResponse } from "node:http";
import { readMessagesRequest } from "../../src/models/formats/messages/strict-request.ts";
import { readResponsesRequest } from "../../src/models/formats/responses/strict-request.ts";
import { startVendor, type VendorRequest, type VendorServer } from "../support/vendor-server.ts";

type Json = Record<string, unknown>;

/** The call that it makes: of a function with arguments, or of a tool that takes text. */
export interface AskedCall {
  readonly name: string;
  readonly namespace?: string;
  /** An object for a function, text for a custom tool. */
  readonly input: Json | string;
}

export const LAST_WORDS = "All is done.";
const USAGE = { input_tokens: 100, output_tokens: 20 };

function eventStream(response: ServerResponse, events: readonly Json[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

function refuse(response: ServerResponse, why: string): void {
  const error = { message: why, type: "invalid_request_error", param: null, code: null };
  response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ type: "error", error }));
}

function responsesEvents(item: Json, fill: readonly Json[]): Json[] {
  const id = item.id;
  const head = { id: "resp_1", object: "response", created_at: 1, model: "vendor's", error: null, output: [] };
  const started = item.type === "message" ? { ...item, content: [] } : { ...item, arguments: "", input: undefined };
  const usage = {
    ...USAGE,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 120,
  };
  const events: Json[] = [
    { type: "response.created", response: { ...head, status: "in_progress" } },
    { type: "response.output_item.added", output_index: 0, item: { ...started, status: "in_progress" } },
    ...fill.map((event) => ({ ...event, item_id: id, output_index: 0 })),
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { ...head, status: "completed", output: [item], usage } },
  ];
  return events.map((event, sequence_number) => ({ sequence_number, ...event }));
}

function responsesCall({ name, namespace, input }: AskedCall): Json[] {
  const named = { call_id: "call_1", name, ...(namespace === undefined ? {} : { namespace }), status: "completed" };
  if (typeof input === "string") {
    const item = { type: "custom_tool_call", id: "ctc_1", ...named, input };
    return responsesEvents(item, [{ type: "response.custom_tool_call_input.delta", delta: input }]);
  }
  const text = JSON.stringify(input);
  const item = { type: "function_call", id: "fc_1", ...named, arguments: text };
  return responsesEvents(item, [{ type: "response.function_call_arguments.delta", delta: text }]);
}

function responsesText(): Json[] {
  const part = { type: "output_text", text: LAST_WORDS, annotations: [], logprobs: [] };
  const item = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [part] };
  return responsesEvents(item, [
    { type: "response.content_part.added", content_index: 0, part: { ...part, text: "" } },
    { type: "response.output_text.delta", content_index: 0, delta: LAST_WORDS },
    { type: "response.output_text.done", content_index: 0, text: LAST_WORDS },
    { type: "response.content_part.done", content_index: 0, part },
  ]);
}

function messagesEvents(block: Json, delta: Json, stop: string): Json[] {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "vendor's", content: [] };
  return [
    { type: "message_start", message: { ...message, usage: { ...USAGE, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: "message_stop" },
  ];
}

/** For wires with flat names and JSON only. */
function messagesCall({ name, namespace, input }: AskedCall): Json[] {
  const flat = namespace === undefined ? name : `${namespace}__${name}`;
  const block = { type: "tool_use", id: "toolu_1", name: flat, input: {} };
  const json = JSON.stringify(typeof input === "string" ? { input } : input);
  return messagesEvents(block, { type: "input_json_delta", partial_json: json }, "tool_use");
}

function messagesText(): Json[] {
  return messagesEvents({ type: "text", text: "" }, { type: "text_delta", text: LAST_WORDS }, "end_turn");
}

/** Makes the call until it has been answered. */
function play(response: ServerResponse, { url, body }: VendorRequest, call: AskedCall): void {
  const isMessages = url.endsWith("/messages");
  const read = isMessages ? readMessagesRequest(body) : readResponsesRequest(body);
  if ("kind" in read) return refuse(response, `${read.param}: ${read.message}`);
  const { name, namespace } = call;
  const named = namespace === undefined ? name : `${namespace}__${name}`;
  if (!read.ask.tools.some((tool) => tool.name === named)) return refuse(response, `the tool ${named} is not offered`);
  const isAnswered = /"(tool_result|function_call_output|custom_tool_call_output)"/.test(JSON.stringify(body));
  if (isMessages) return eventStream(response, isAnswered ? messagesText() : messagesCall(call));
  eventStream(response, isAnswered ? responsesText() : responsesCall(call));
}

export interface AgentVendor extends VendorServer {
  /** The call that it makes from now on. */
  asksFor(call: AskedCall): void;
}

export async function startAgentVendor(): Promise<AgentVendor> {
  const vendor = await startVendor();
  return { ...vendor, asksFor: (call) => vendor.answers((response, request) => play(response, request, call)) };
}
