// `tollgate mcp`: MCP over standard input and output, for clients that start a program instead of connecting to a URL. Passes every message
// on to a gateway's /mcp unchanged, and writes each answer as a line.
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { isEventStream } from "../core/event-stream.ts";
import { isRecord, type Json } from "../core/json.ts";
import { ownOrigin } from "./admin-client.ts";
import type { Command } from "./command.ts";

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const ACCEPT = "application/json, text/event-stream";

/** Distinguishes this program's calls from those of others with the same key, so that its client can cancel them. */
const SESSION = randomUUID();

/** What the server reads of a message from its headers (MCP 2026-07-28, Streamable HTTP). */
function headersOf(message: Json, key: string | null): Record<string, string> {
  const headers: Record<string, string> = { "content-type": "application/json", accept: ACCEPT };
  headers["mcp-session-id"] = SESSION;
  if (key !== null) headers.authorization = `Bearer ${key}`;
  const params = isRecord(message.params) ? message.params : {};
  const version = isRecord(params._meta) ? params._meta[VERSION_KEY] : undefined;
  if (typeof version !== "string") return headers;
  headers["mcp-protocol-version"] = version;
  headers["mcp-method"] = String(message.method);
  const name = params.name ?? params.uri;
  if (typeof name === "string") headers["mcp-name"] = name;
  return headers;
}

function failure(id: unknown, message: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_000, message } });
}

/** Sends one message, and passes its answers on line by line. */
async function passOn(message: Json, url: string, key: string | null, say: (line: string) => void): Promise<void> {
  const isRequest = message.id !== undefined && message.method !== undefined;
  try {
    const headers = headersOf(message, key);
    const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
    if (isEventStream(answer.headers.get("content-type") ?? "") && answer.body !== null) {
      const events = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
      // A message on several lines of `data` becomes one line of output.
      for await (const { data } of events) say(data.replaceAll("\n", " "));
      return;
    }
    const text = (await answer.text()).trim();
    const json: unknown = text === "" ? null : JSON.parse(text);
    if (isRecord(json) && json.jsonrpc === "2.0") say(JSON.stringify(json));
    else if (isRequest)
      say(failure(message.id, isRecord(json) ? String(json.message ?? text) : `HTTP ${answer.status}`));
  } catch (error) {
    if (isRequest)
      say(failure(message.id, `${url} does not answer: ${error instanceof Error ? error.message : error}`));
  }
}

function messageIn(line: string): Json | null {
  try {
    const json: unknown = JSON.parse(line);
    return isRecord(json) ? json : null;
  } catch {
    return null;
  }
}

export const MCP_COMMAND: Command = {
  name: "mcp",
  options: {
    url: { value: "URL", meaning: "the gateway's address; default: the one that the settings say" },
    tools: { value: "LIST", meaning: "actions that are to be tools of their own, such as brave/search,exa/search" },
  },
  summary: "Serves MCP over standard input and output, by the gateway's /mcp; its key is TOLLGATE_API_KEY",
  async run(typed, { config, say }) {
    const tools = typed.text("tools");
    const url = `${ownOrigin({ ...config, url: typed.text("url") ?? config.url })}/mcp${tools === undefined ? "" : `?tools=${encodeURIComponent(tools)}`}`;
    const running = new Set<Promise<void>>();
    for await (const line of createInterface({ input: process.stdin })) {
      if (line.trim() === "") continue;
      const message = messageIn(line);
      if (message === null) {
        say(failure(null, "a line is not a JSON object"));
        continue;
      }
      const passed = passOn(message, url, config.apiKey, say).finally(() => running.delete(passed));
      running.add(passed);
    }
    await Promise.all(running);
    return { json: null, text: "" };
  },
};
