// Parses a stream of OpenAI's responses wire.

import { isRecord, type Json, stringOf, wordOf } from "../../../core/json.ts";
import type { ChatContext, EventOut, StreamReader } from "../../../upstream/dialects/dialect.ts";
import { upstreamCostFrom } from "../../../upstream/dialects/error-body.ts";
import { eventJson } from "../../../upstream/dialects/event-json.ts";
import { OneChoice } from "../../../upstream/dialects/one-choice.ts";
import { emptiness, malformed } from "../../../upstream/vendor-failure.ts";
import { endOf, failureInside, sealOf, usageOf } from "./vendor-answer.ts";

class ResponsesReader implements StreamReader {
  readonly #out: EventOut;
  readonly #choice: OneChoice;
  readonly #context: ChatContext;
  #hasCalls = false;
  #summaries = 0;
  #over = false;

  constructor(context: ChatContext, out: EventOut) {
    this.#context = context;
    this.#out = out;
    this.#choice = new OneChoice(context, out);
  }

  event(bytes: Buffer, start: number, end: number, name: string | null): boolean {
    const data = eventJson(bytes, start, end);
    // Some vendors of this wire end streams like the chat wire.
    if (data === null) return bytes.toString("utf8", start, end).trim() === "[DONE]";
    if (!this.#over) this.#read(stringOf(data.type) ?? name, data);
    return true;
  }

  #read(type: string | null, data: Json): void {
    const item = isRecord(data.item) ? data.item : {};
    switch (type) {
      case "response.created":
        this.#choice.begin();
        return;
      case "response.output_item.added":
        if (item.type === "function_call") this.#openCall(data.output_index ?? 0, item);
        return;
      case "response.output_text.delta":
        this.#choice.say("text", data.delta);
        return;
      case "response.refusal.delta":
        this.#choice.say("refusal", data.delta);
        return;
      case "response.reasoning_summary_part.added":
        if (this.#summaries++ > 0) this.#choice.say("reasoning", "\n\n");
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#choice.say("reasoning", data.delta);
        return;
      case "response.function_call_arguments.delta":
        this.#choice.callArguments(data.output_index ?? 0, data.delta);
        return;
      case "response.output_item.done":
        this.#done(data.output_index ?? 0, item);
        return;
      case "response.completed":
      case "response.incomplete":
        this.#end(isRecord(data.response) ? data.response : {});
        return;
      case "response.failed":
        this.#fail(isRecord(data.response) ? data.response.error : null);
        return;
      case "error":
        this.#fail(isRecord(data.error) ? data.error : data);
    }
  }

  #openCall(key: unknown, { call_id: id, name, arguments: told }: Json): void {
    this.#hasCalls = true;
    this.#choice.call({ key, id, name, arguments: told });
  }

  #done(index: unknown, item: Json): void {
    if (item.type === "reasoning") this.#sign(item);
    else this.#choice.closeCall(index, item.arguments);
  }

  /** The seal comes last: it is the only part of a thought that a client must send back. */
  #sign(item: Json): void {
    const thought = sealOf(item, this.#context);
    if (thought !== null) this.#choice.sign(thought);
  }

  #end(response: Json): void {
    this.#over = true;
    const usage = usageOf(response.usage);
    if (usage !== null) this.#out.usage(usage);
    const costNano = upstreamCostFrom(response.usage, this.#context);
    if (costNano !== null) this.#out.upstreamCost(costNano);
    const end = endOf(response, this.#hasCalls);
    if (end === null)
      return this.#out.fail(malformed(`the answer's status is ${wordOf(response.status) || "missing"}`));
    const empty = this.#choice.delivered ? null : emptiness(end.reason, end.native);
    if (empty !== null) this.#out.empty(empty);
    this.#choice.finish(end);
    this.#out.end();
  }

  #fail(error: unknown): void {
    this.#over = true;
    this.#out.fail(failureInside(error));
  }
}

export function responsesReader(context: ChatContext, out: EventOut): StreamReader {
  return new ResponsesReader(context, out);
}
