// One call in the messages wire as bytes, read as strictly as its clients could: checks every rule of its streams.
import { expect } from "vitest";

type Json = Record<string, unknown>;

export interface MessageSeen {
  readonly status: number;
  readonly headers: Headers;
  /** The message, assembled from its events where it was streamed; an error's body. */
  readonly message: Json & { readonly content: readonly Json[]; readonly usage: Readonly<Record<string, number>> };
  /** The event types in order; none for a whole answer. */
  readonly events: readonly string[];
  /** The error event of a broken stream. */
  readonly error: Json | null;
  readonly text: string;
}

export interface MessagesCallOptions {
  readonly url: string;
  readonly key: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Blocks that have an input: the caller's tools, and server-side tools. */
const CALLS = ["tool_use", "server_tool_use", "mcp_tool_use"];

interface OpenBlock {
  readonly index: number;
  readonly block: Json;
  json: string;
}

/** Assembles a streamed message, and fails on anything that could break a client. */
export class MessageReader {
  readonly events: string[] = [];
  message: Json | null = null;
  error: Json | null = null;
  /** After `message_delta` only the end may come. */
  #ended: "no" | "delta" | "stop" = "no";
  #open: OpenBlock | null = null;

  event(name: string | null, data: string): void {
    const json = JSON.parse(data) as Json;
    expect(json.type, "the name of an event is its type").toBe(name);
    expect(this.#ended, `${name} after the end`).not.toBe("stop");
    expect(this.error, `${name} after an error`).toBeNull();
    this.events.push(String(name));
    if (name !== "message_start" && name !== "ping" && name !== "error") expect(this.message).not.toBeNull();
    this.#read(json);
  }

  #content(): Json[] {
    return this.message?.content as Json[];
  }

  #read(json: Json): void {
    switch (json.type) {
      case "message_start":
        expect(this.message, "one beginning").toBeNull();
        this.message = structuredClone(json.message) as Json;
        expect(this.message).toMatchObject({ type: "message", role: "assistant", content: [], stop_reason: null });
        expect((this.message.usage as Json).input_tokens).toBeGreaterThan(0);
        return;
      case "content_block_start":
        expect(this.#open, "one block at a time").toBeNull();
        expect(json.index, "no gap between blocks").toBe(this.#content().length);
        this.#open = { index: Number(json.index), block: structuredClone(json.content_block) as Json, json: "" };
        return;
      case "content_block_delta":
        expect(json.index, "a delta of a block that is not open").toBe(this.#open?.index);
        return this.#delta(json.delta as Json);
      case "content_block_stop":
        expect(json.index).toBe(this.#open?.index);
        return this.#stop();
      case "message_delta":
        expect(this.#open, "a block was left open").toBeNull();
        Object.assign(this.message ?? {}, json.delta);
        Object.assign(this.message?.usage ?? {}, json.usage);
        if (json.tollgate !== undefined) Object.assign(this.message ?? {}, { tollgate: json.tollgate });
        this.#ended = "delta";
        return;
      case "message_stop":
        expect(this.#ended).toBe("delta");
        this.#ended = "stop";
        return;
      case "ping":
        return;
      case "error":
        this.error = json;
        return;
      default:
        expect.fail(`an event of type ${String(json.type)}`);
    }
  }

  #delta(delta: Json): void {
    const { block } = this.#open ?? expect.fail("no block is open");
    const field = { text_delta: "text", thinking_delta: "thinking", signature_delta: "signature" }[String(delta.type)];
    if (field !== undefined) {
      expect(`${String(block.type)}_delta signature_delta`).toContain(
        field === "signature" ? "signature_delta" : `${String(block.type)}_delta`,
      );
      block[field] = `${String(block[field] ?? "")}${String(delta[field])}`;
      return;
    }
    if (delta.type === "citations_delta") {
      expect(block.type).toBe("text");
      block.citations = [...((block.citations as Json[] | undefined) ?? []), delta.citation];
      return;
    }
    expect(CALLS).toContain(block.type);
    expect(delta.type).toBe("input_json_delta");
    if (this.#open !== null) this.#open.json += String(delta.partial_json);
  }

  #stop(): void {
    const { block, json } = this.#open ?? expect.fail("no block is open");
    if (CALLS.includes(String(block.type))) block.input = json === "" ? {} : JSON.parse(json);
    if (block.type === "thinking") expect(block.signature, "clients keep no thought without a signature").not.toBe("");
    this.#content().push(block);
    this.#open = null;
  }

  /** All text so far, including that of an open block. */
  text(): string {
    return textOf({ content: [...(this.message === null ? [] : this.#content()), this.#open?.block ?? {}] });
  }

  /** The end of the body: a stream must end in its last event or in an error. */
  end(): void {
    expect(this.error !== null || this.#ended === "stop", `the stream just stops: ${this.events.join(" ")}`).toBe(true);
  }
}

export function readEvents(text: string): MessageReader {
  const reader = new MessageReader();
  const blocks = text.split("\n\n");
  expect(blocks.pop(), "the body ends with an event").toBe("");
  for (const block of blocks) {
    if (block.startsWith(":")) continue;
    const [, name = null, data = ""] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? [];
    reader.event(name, data);
  }
  reader.end();
  return reader;
}

/** Sends a request, and reads the answer to its end. */
export async function callMessages(body: unknown, options: MessagesCallOptions): Promise<MessageSeen> {
  const { url, key, path = "/api/llm/v1/messages" } = options;
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      "x-api-key": key,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      ...options.headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const { status, headers } = response;
  if (headers.get("content-type") === "text/event-stream") {
    const reader = readEvents(text);
    const message = (reader.message ?? {}) as MessageSeen["message"];
    return { status, headers, message, events: reader.events, error: reader.error, text: reader.text() };
  }
  const message = JSON.parse(text) as MessageSeen["message"];
  return { status, headers, message, events: [], error: null, text: textOf(message) };
}

function textOf({ content }: { readonly content?: readonly Json[] }): string {
  return (content ?? []).map(({ text }) => text ?? "").join("");
}
