// Makes vendors' own SDKs believe that they reach their vendor: all their requests, over fetch or Node's own client, go to a recorder on
// loopback.
import { once } from "node:events";
import http, { createServer, type IncomingHttpHeaders, type RequestOptions } from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import { KEY } from "./told.ts";

/** A request at the recorder: its intended address, and its content. */
export interface Recorded {
  readonly method: string;
  /** The intended host. */
  readonly host: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  /** Parsed where it is JSON. */
  readonly body: unknown;
}

export interface Recorder {
  readonly url: string;
  /**
   * The first request that `ask` sends, except those that an SDK makes by itself (`ofItsOwn`, by path). The handling of the answer does
   * not matter, nor do later requests, which are awaited (`toItsEnd`) where they could be taken for the next call's first.
   */
  first(
    ask: () => unknown,
    how?: { readonly ofItsOwn?: RegExp | undefined; readonly toItsEnd?: boolean },
  ): Promise<Recorded>;
  close(): Promise<void>;
}

const HOST = "x-wires-host";

/** Enough for clients that parse an answer, though right for none of them in particular. */
const ANSWER = JSON.stringify({
  id: "x",
  object: "chat.completion",
  created: 1,
  model: "x",
  choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "hello" }],
  data: [{ index: 0, embedding: [0.1], relevance_score: 0.5 }],
  results: [{ index: 0, relevance_score: 0.5 }],
  candidates: [{ content: { role: "model", parts: [{ text: "hello" }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  access_token: KEY,
  expires_in: 3_600,
  token_type: "Bearer",
});

function jsonOf(bytes: Buffer): unknown {
  try {
    return bytes.length === 0 ? null : JSON.parse(bytes.toString("utf8"));
  } catch {
    return bytes.toString("utf8");
  }
}

/** Redirects Node's own client to the recorder too: most libraries without fetch use it. */
function redirectNode(port: number): () => void {
  const [plain, secure] = [http.request, https.request];
  const redirected = (first: unknown, second?: unknown, third?: unknown) => {
    const isUrl = typeof first === "string" || first instanceof URL;
    const given = (isUrl ? second : first) as RequestOptions;
    const url = isUrl ? new URL(String(first)) : null;
    const host = url?.host ?? String(given.hostname ?? given.host);
    const path = url === null ? given.path : url.pathname + url.search;
    const done = [second, third].find((one) => typeof one === "function") as never;
    const options: RequestOptions = {
      ...given,
      agent: false,
      protocol: "http:",
      hostname: "127.0.0.1",
      host: "127.0.0.1",
      port,
      path: path ?? "/",
    };
    const headers = { ...(given.headers as Record<string, string>), [HOST]: host };
    return plain({ ...options, headers }, done);
  };
  https.request = redirected as typeof https.request;
  syncBuiltinESMExports();
  return () => {
    https.request = secure;
    syncBuiltinESMExports();
  };
}

export async function startRecorder(): Promise<Recorder> {
  let waiting: ((one: Recorded) => void) | null = null;
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? "/", "http://recorder");
    const one: Recorded = {
      method: request.method ?? "",
      host: String(request.headers[HOST] ?? request.headers.host),
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      body: jsonOf(Buffer.concat(chunks)),
    };
    waiting?.(one);
    // An SDK that retries must not use a connection that has just been closed.
    reply.writeHead(200, { "content-type": "application/json", connection: "close" }).end(ANSWER);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const ownFetch = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    if (url.hostname === "127.0.0.1") return ownFetch(request);
    const headers = new Headers(request.headers);
    headers.set(HOST, url.host);
    headers.delete("content-length");
    const body = request.body === null ? {} : { body: await request.arrayBuffer() };
    return ownFetch(`http://127.0.0.1:${port}${url.pathname}${url.search}`, {
      method: request.method,
      headers,
      ...body,
    });
  };
  const restoreNode = redirectNode(port);
  return {
    url: `http://127.0.0.1:${port}`,
    async first(ask, { ofItsOwn, toItsEnd = false } = {}) {
      const came = new Promise<Recorded>((resolve) => {
        waiting = (one) => {
          if (ofItsOwn?.test(one.path) !== true) resolve(one);
        };
      });
      const asking = Promise.resolve().then(ask);
      const failed = asking.then(
        () => new Promise<never>(() => {}),
        (error: unknown) => new Promise<never>((_, reject) => setImmediate(reject, error)),
      );
      const first = await Promise.race([came, failed]).finally(() => {
        waiting = null;
      });
      if (toItsEnd) await asking.catch(() => {});
      return first;
    },
    async close() {
      globalThis.fetch = ownFetch;
      restoreNode();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
