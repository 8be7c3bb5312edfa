// A vendor on loopback with scripted answers, which records its requests.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface VendorRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  /** Parsed where it is JSON. */
  readonly body: unknown;
  /** The raw text. */
  readonly text: string;
}

export type VendorAnswer =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown }
  | ((response: ServerResponse, request: VendorRequest) => void);

export interface VendorServer {
  readonly url: string;
  readonly asked: VendorRequest[];
  /** Sets its answers from now on: in order, the last one forever. */
  answers(...answers: [VendorAnswer, ...VendorAnswer[]]): void;
  close(): Promise<void>;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export async function startVendor(): Promise<VendorServer> {
  const asked: VendorRequest[] = [];
  let queue: VendorAnswer[] = [{ body: {} }];
  const server = createServer(async (request, response) => {
    const text = await textOf(request);
    const { method = "", url = "", headers } = request;
    const seen = { method, url, headers, body: jsonOf(text), text };
    asked.push(seen);
    const answer = queue.length > 1 ? queue.shift() : queue[0];
    if (typeof answer === "function") return answer(response, seen);
    const given = answer?.body;
    const bytes = typeof given === "string" || Buffer.isBuffer(given) ? given : JSON.stringify(given);
    response.writeHead(answer?.status ?? 200, { "content-type": "application/json", ...answer?.headers });
    response.end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answers(...answers) {
      queue = [...answers];
      asked.length = 0;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
