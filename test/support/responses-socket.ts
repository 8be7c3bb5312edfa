// A caller's socket in the responses wire: sends requests, and collects events until an answer has ended.
import { onTestFinished } from "vitest";
import { expectOrder, type Json } from "./responses-call.ts";

const LAST = new Set(["response.completed", "response.failed", "response.incomplete", "error"]);

export interface Said {
  readonly events: readonly Json[];
  readonly types: readonly string[];
  /** The event that ended the answer. */
  readonly last: Json;
  readonly response: Json;
  readonly error: Json | null;
}

export interface TestSocket {
  readonly socket: WebSocket;
  send(message: unknown): void;
  /** The next answer, once it has ended. */
  answer(): Promise<Said>;
  ask(fields: Json): Promise<Said>;
  /** The close code and reason. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

export interface SocketTarget {
  readonly url: string;
  readonly key: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function saidOf(events: readonly Json[]): Said {
  const last = events.at(-1) ?? {};
  if (last.type !== "error") expectOrder(events);
  return {
    events,
    types: events.map(({ type }) => String(type).replace(/^response\./, "")),
    last,
    response: (last.response ?? {}) as Json,
    error: (last.error ?? null) as Json | null,
  };
}

export async function openResponses({ url, key, path = "/v1/responses", headers }: SocketTarget): Promise<TestSocket> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  onTestFinished(() => socket.close());
  const heard: Json[] = [];
  let wake = (): void => {};
  let isClosed = false;
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.addEventListener("close", ({ code, reason }) => {
      isClosed = true;
      wake();
      resolve({ code, reason });
    }),
  );
  socket.addEventListener("message", ({ data }) => {
    heard.push(JSON.parse(String(data)) as Json);
    wake();
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("the socket was refused")));
  });
  const send = (message: unknown): void => socket.send(typeof message === "string" ? message : JSON.stringify(message));

  async function answer(): Promise<Said> {
    for (;;) {
      const at = heard.findIndex(({ type }) => LAST.has(String(type)));
      if (at >= 0) return saidOf(heard.splice(0, at + 1));
      if (isClosed) throw new Error(`closed in an answer: ${JSON.stringify([await closed, heard])}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  return {
    socket,
    send,
    answer,
    closed,
    ask(fields) {
      send({ type: "response.create", ...fields });
      return answer();
    },
  };
}

/** The status and body of a refused upgrade. */
export async function refusedSocket({ url, path = "/v1/responses", headers }: Omit<SocketTarget, "key">) {
  const { request } = await import("node:http");
  return new Promise<{ status: number; body: Json }>((resolve, reject) => {
    const asked = request(`${url}${path}`, {
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": Buffer.alloc(16).toString("base64"),
        ...headers,
      },
    });
    asked.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("it was opened"));
    });
    asked.on("error", reject);
    asked.on("response", async (answer) => {
      let text = "";
      for await (const part of answer) text += String(part);
      resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) as Json });
    });
    asked.end();
  });
}
