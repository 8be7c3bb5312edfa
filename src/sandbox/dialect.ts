// The interface of a sandbox dialect: reads requests strictly, and writes answers, events and errors as its vendors do.
import type { IncomingHttpHeaders } from "node:http";
import type { z } from "zod";
import type { Answer } from "./answer.ts";
import type { Ask } from "./ask.ts";
import type { Conduct } from "./faults.ts";
import type { Refusal } from "./refusals.ts";

/** One server-sent event. `tokens` is the number of output tokens in its data. */
export interface DialectEvent {
  /** The event name, in dialects that use them. */
  readonly name: string | null;
  readonly data: string;
  readonly tokens: number;
  /** `preamble` is sent before the wait for the first token; `done` is the end mark of the stream. */
  readonly kind: "preamble" | "content" | "closing" | "done";
}

export interface Target {
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
}

export interface DialectReading {
  readonly ask: Ask;
  whole(answer: Answer, conduct: Conduct): Record<string, unknown>;
  /** Encodes an event as bytes, for binary streams. */
  frame?(event: DialectEvent): Buffer;
  /** The events of a stream, generated lazily. */
  events(answer: Answer, conduct: Conduct): Iterable<DialectEvent>;
  /** Sent instead of a body, piece by piece. */
  readonly bytes?: { readonly contentType: string; readonly pieces: readonly Buffer[] };
}

export interface Dialect {
  /** Matches the end of its request paths. */
  readonly path: RegExp;
  /** A request with one of these headers uses this dialect, whatever its path. */
  readonly marks: readonly string[];
  readonly lineEnd: "\n" | "\r\n";
  hasCredential(target: Target): boolean;
  read(body: unknown, target: Target): DialectReading | Refusal;
  error(refusal: Refusal): Record<string, unknown>;
  errorEvent(refusal: Refusal): DialectEvent;
}

/** The vendor's end of a session over a WebSocket. */
export interface StandInSocket {
  send(text: string): void;
  /** Breaks the connection. */
  cut(): void;
  /** A response has used these tokens. */
  counted(tokensIn: number, tokensOut: number): void;
}

/** A vendor whose sessions run over a WebSocket. */
export interface SocketStandIn {
  readonly path: RegExp;
  open(socket: StandInSocket, model: string): { message(text: string): void; closed(): void };
}

export function readingOf<Request>(
  ask: Ask,
  request: Request,
  {
    whole,
    events,
  }: {
    readonly whole: (request: Request, answer: Answer, conduct: Conduct) => Record<string, unknown>;
    readonly events: (request: Request, answer: Answer, conduct: Conduct) => Iterable<DialectEvent>;
  },
): DialectReading {
  return {
    ask,
    whole: (answer, conduct) => whole(request, answer, conduct),
    events: (answer, conduct) => events(request, answer, conduct),
  };
}

export function schemaRefusal(error: z.ZodError): Refusal {
  const issue = error.issues[0];
  const path = [...(issue?.path ?? []), ...(issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [])];
  const param = path.map(String).join(".");
  return { kind: "invalid", param, message: param ? `${param}: ${issue?.message}` : (issue?.message ?? "not valid") };
}

/** A refusal that names a field, for checks beyond a schema. */
export function refuse(param: string, message: string): Refusal {
  return { kind: "invalid", param, message: `${param}: ${message}` };
}
