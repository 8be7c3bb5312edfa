// A machine vendor on a real socket: its adapter's own mock answers, and a test can answer in its place, byte by byte.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { BoxCommand, BoxOutput } from "../../src/catalog/session.ts";
import type { Machine, Machines, SessionStandIn, StandInAnswer, StandInRequest } from "../../src/sandbox/stand-in.ts";

/** A machine's output for a command that contains a given text. */
export type Printed = Partial<BoxOutput>;

export interface BoxVendor {
  readonly url: string;
  /** The requests, in order. */
  readonly requests: (StandInRequest & { readonly url: string })[];
  /** The commands that the machines received. */
  readonly commands: BoxCommand[];
  readonly machines: Machines;
  /** Scripts the output of commands that contain the text. */
  prints(text: string, printed: Printed): void;
  /** Answers the next request at such an address; a handler gets the raw response, or for a socket the raw connection. */
  next(at: RegExp, answer: StandInAnswer | ((to: ServerResponse | Socket) => void)): void;
  close(): Promise<void>;
}

const ORIGIN = /^\/~([a-z]+)/;

function fakeMachines(commands: BoxCommand[], outputs: Map<string, Printed>): Machines {
  const all = new Map<string, Machine>();
  return {
    make(given) {
      const machine = { ...given, id: `box-${all.size + 1}`, files: new Map<string, string>() };
      all.set(machine.id, machine);
      return machine;
    },
    find: (idOrName) => [...all.values()].find(({ id, name }) => id === idOrName || name === idOrName) ?? null,
    all: () => [...all.values()],
    end: ({ id }) => void all.delete(id),
    run(_, command) {
      commands.push(command);
      const [, printed = {}] = [...outputs].find(([text]) => command.text.includes(text)) ?? [];
      return { stdout: "", stderr: "", exit_code: 0, ...printed };
    },
  };
}

/** A server's frame (RFC 6455): unmasked. */
export function socketFrame(payload: string | Uint8Array, opcode = typeof payload === "string" ? 1 : 2): Buffer {
  const bytes = Buffer.from(payload);
  const head = Buffer.alloc(bytes.length < 126 ? 2 : bytes.length < 65_536 ? 4 : 10);
  head.writeUInt8(0x80 | opcode, 0);
  head.writeUInt8(head.length === 2 ? bytes.length : head.length === 4 ? 126 : 127, 1);
  if (head.length === 4) head.writeUInt16BE(bytes.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(bytes.length), 2);
  return Buffer.concat([head, bytes]);
}

/** The complete client frames at the start of `bytes`, and the rest. */
function clientFrames(bytes: Buffer): { readonly said: Buffer[]; readonly rest: Buffer } {
  const said: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const short = (rest[1] ?? 0) & 0x7f;
    const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
    if (rest.length < 6 + extra) return { said, rest };
    if (((rest[1] ?? 0) & 0x80) === 0) throw new Error("a client has to mask its frames");
    const length = extra === 2 ? rest.readUInt16BE(2) : extra === 8 ? Number(rest.readBigUInt64BE(2)) : short;
    const start = 6 + extra;
    if (rest.length < start + length) return { said, rest };
    const mask = rest.subarray(start - 4, start);
    const payload = rest.subarray(start, start + length).map((byte, at) => byte ^ (mask[at & 3] ?? 0));
    if (((rest[0] ?? 0) & 0x0f) === 2) said.push(Buffer.from(payload));
    rest = rest.subarray(start + length);
  }
}

export function openSocket(request: IncomingMessage, socket: Socket): void {
  const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash("sha1").update(key).digest("base64");
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  );
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

function asRequest(
  request: IncomingMessage,
  body: Buffer,
  said?: readonly Uint8Array[],
): StandInRequest & { url: string } {
  const url = new URL(request.url ?? "/", "http://vendor");
  const origin = ORIGIN.exec(url.pathname)?.[1];
  const path = decodeURIComponent(url.pathname.replace(ORIGIN, ""));
  const common = { method: request.method ?? "", origin, path, query: url.searchParams, headers: request.headers };
  const whole = { ...common, url: request.url ?? "", body, json: jsonOf(body) };
  return said === undefined ? whole : { ...whole, said };
}

function write({ status, headers = {}, body }: StandInAnswer, response: ServerResponse): void {
  const bytes = body === undefined ? "" : body instanceof Uint8Array ? body : JSON.stringify(body);
  const type = body === undefined || body instanceof Uint8Array ? {} : { "content-type": "application/json" };
  response.writeHead(status, { ...type, ...headers }).end(bytes);
}

/** Starts a vendor that answers as the mock does by default. */
export async function startBoxVendor(standIn: SessionStandIn): Promise<BoxVendor> {
  const requests: BoxVendor["requests"] = [];
  const commands: BoxCommand[] = [];
  const outputs = new Map<string, Printed>();
  const machines = fakeMachines(commands, outputs);
  const sockets = new Set<Socket>();
  let due: { at: RegExp; answer: StandInAnswer | ((to: ServerResponse | Socket) => void) }[] = [];
  const ownAnswer = (url = "") => {
    const found = due.find(({ at }) => at.test(url));
    due = due.filter((one) => one !== found);
    return found?.answer;
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const asked = asRequest(request, Buffer.concat(chunks));
      requests.push(asked);
      const answer = ownAnswer(request.url);
      if (typeof answer === "function") answer(response);
      else write(answer ?? standIn(asked, machines), response);
    });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on("error", () => {});
    socket.on("end", () => socket.destroy());
    sockets.add(socket);
    const answer = ownAnswer(request.url);
    const refuse = ({ status, body }: StandInAnswer) => {
      const text = JSON.stringify(body ?? {});
      socket.end(
        `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
      );
    };
    if (typeof answer === "object") return refuse(answer);
    const said: Buffer[] = [];
    let pending = head;
    const asked = () => asRequest(request, Buffer.alloc(0), said);
    const first = answer === undefined ? standIn(asked(), machines) : { status: 101 };
    if (first.status !== 101) {
      requests.push(asked());
      return refuse(first);
    }
    openSocket(request, socket);
    requests.push(asked());
    if (typeof answer === "function") {
      socket.resume();
      return answer(socket);
    }
    socket.on("data", (chunk: Buffer) => {
      const frames = clientFrames(Buffer.concat([pending, chunk]));
      pending = frames.rest;
      for (const one of frames.said) {
        said.push(one);
        const { messages } = standIn(asked(), machines);
        if (messages !== undefined) for (const message of messages) socket.write(socketFrame(message));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    commands,
    machines,
    prints: (text, printed) => void outputs.set(text, printed),
    next: (at, answer) => void due.push({ at, answer }),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
