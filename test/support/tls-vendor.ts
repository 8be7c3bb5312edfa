// A chat vendor over TLS, in HTTP/2 or HTTP/1.1, whose connections a test controls; it counts handshakes.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { CertificateFiles } from "./certificates.ts";

/** A call that waits for the test. */
export interface HeldCall {
  readonly response: ServerResponse | Http2ServerResponse;
  /** In HTTP/2. */
  readonly stream: ServerHttp2Stream;
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  /** The rest of the answer. */
  finish(): void;
}

export interface TlsVendor {
  readonly port: number;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  /** All connections after their handshake, in order. */
  readonly connections: readonly Socket[];
  /** The prompts so far, in order, with the connection of each. */
  readonly asked: readonly { readonly prompt: string; readonly socket: Socket }[];
  /** The held call of a prompt, once it has arrived. */
  held(prompt: string): Promise<HeldCall>;
  close(): void;
}

function eventOf(delta: object, finish: string | null, usage?: object): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices, usage };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
/** The first event of an answer. */
export const WORD = eventOf({ role: "assistant", content: "word" }, null);
const END = `${eventOf({}, "stop")}${eventOf({}, null, USAGE)}data: [DONE]\n\n`;

/** The whole answer's cost at 1 and 2 USD per million tokens. */
export const ANSWER_NANO = 20_000;

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

async function promptOf(request: Request): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = JSON.parse(Buffer.concat(parts).toString()) as { messages?: { content: string }[]; input?: string };
  return body.messages?.at(-1)?.content ?? body.input ?? "";
}

interface Desk {
  readonly asked: TlsVendor["asked"];
  held(prompt: string): Promise<HeldCall>;
  readonly serve: (request: Request, response: Response) => void;
}

/**
 * The prompt's first word decides the answer: `begin` sends a word and is held the first time, `silent` is held before any word then,
 * `reset` has its stream reset, `refuse` is refused the first time; all others are answered whole.
 */
function openDesk(obeys: boolean): Desk {
  const asked: { prompt: string; socket: Socket }[] = [];
  const calls = new Map<string, HeldCall>();
  const waiting = new Map<string, (call: HeldCall) => void>();
  const serve = async (request: Request, response: Response) => {
    const prompt = await promptOf(request);
    const again = asked.some((one) => one.prompt === prompt);
    const { stream } = response as Http2ServerResponse;
    const session = stream?.session as ServerHttp2Session;
    const socket = (request as IncomingMessage).socket;
    asked.push({ prompt, socket });
    const how = obeys ? prompt.split(" ")[0] : "say";
    if (how === "reset") return stream.close(2);
    if (how === "refuse" && !again) return stream.close(7);
    (response as ServerResponse).on("error", () => {});
    const isSilent = how === "silent" && !again;
    const isBegun = how === "begin" && !again;
    const headers = { "content-type": "text/event-stream", "x-asked": prompt };
    if (!isSilent) (response as ServerResponse).writeHead(200, headers);
    if (!isSilent) (response as ServerResponse).write(WORD);
    if (!isSilent && !isBegun) return void (response as ServerResponse).end(END);
    const finish = () => void (response as ServerResponse).end(END);
    const call = { response, stream, session, socket, finish };
    calls.set(prompt, call);
    waiting.get(prompt)?.(call);
  };
  return {
    asked,
    serve: (request, response) => void serve(request, response).catch(() => {}),
    held(prompt) {
      const call = calls.get(prompt);
      return call === undefined ? new Promise((resolve) => waiting.set(prompt, resolve)) : Promise.resolve(call);
    },
  };
}

/** With `http2` it offers both, and prefers HTTP/2, as vendors do. */
export async function startTlsVendor(
  { keyFile, certificateFile }: CertificateFiles,
  { http2 }: { readonly http2: boolean },
): Promise<TlsVendor> {
  const desk = openDesk(true);
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  const files = { key: readFileSync(keyFile), cert: readFileSync(certificateFile) };
  const server = http2
    ? createSecureServer({ ...files, allowHTTP1: true }, desk.serve)
    : createHttpsServer(files, (request, response) => desk.serve(request, response));
  const connections: Socket[] = [];
  server.on("secureConnection", (socket: Socket) => void connections.push(socket));
  server.on("connection", (socket: Socket) => void sockets.add(socket));
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {});
  });
  for (const event of ["sessionError", "tlsClientError"]) server.on(event, () => {});
  server.on("clientError", (_: Error, socket: Socket) => void socket.destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sessions,
    connections,
    asked: desk.asked,
    held: desk.held,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Without TLS; answers everything whole: the fallback of calls. */
export async function startPlainVendor(): Promise<Pick<TlsVendor, "port" | "asked" | "close">> {
  const desk = openDesk(false);
  const server = createServer((request, response) => {
    desk.serve(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    asked: desk.asked,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
