// A caller's realtime session: sends events, and waits for those of a type.
import { onTestFinished } from "vitest";
import { PATIENT_MS } from "./patience.ts";

export type Event = Record<string, unknown>;

export interface RealtimeTarget {
  readonly url: string;
  readonly key: string;
  readonly model?: string;
  readonly path?: string;
}

export interface TestSession {
  readonly socket: WebSocket;
  /** Everything heard so far. */
  readonly heard: readonly Event[];
  send(event: Event | string): void;
  /** The next event of a type that no earlier call returned. */
  next(type: string): Promise<Event>;
  types(): readonly string[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

export async function openRealtime({
  url,
  key,
  model = "openai/gpt-realtime-2",
  path = "/v1/realtime",
}: RealtimeTarget): Promise<TestSession> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}?model=${model}`, [
    "realtime",
    `openai-insecure-api-key.${key}`,
  ]);
  onTestFinished(() => socket.close());
  const heard: Event[] = [];
  const taken = new Map<string, number>();
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
    heard.push(JSON.parse(String(data)) as Event);
    wake();
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("the socket was refused")));
  });
  return {
    socket,
    heard,
    closed,
    types: () => heard.map(({ type }) => String(type)),
    send: (event) => socket.send(typeof event === "string" ? event : JSON.stringify(event)),
    async next(type) {
      const deadline = Date.now() + PATIENT_MS;
      for (;;) {
        const found = heard.filter((event) => event.type === type)[taken.get(type) ?? 0];
        if (found !== undefined) {
          taken.set(type, (taken.get(type) ?? 0) + 1);
          return found;
        }
        if (isClosed || Date.now() > deadline)
          throw new Error(`no ${type}: ${JSON.stringify([isClosed && (await closed), heard]).slice(0, 3_000)}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, 1_000);
        });
      }
    },
  };
}

/** An item with a user's text. */
export function said(text: string): Event {
  const item = { type: "message", role: "user", content: [{ type: "input_text", text }] };
  return { type: "conversation.item.create", item };
}
