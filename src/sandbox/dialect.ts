// What a dialect must do for the sandbox: read a request strictly, and write answers, events and errors as its vendors do.
import type { IncomingHttpHeaders } from "node:http";
import type { z } from "zod";
import type { Answer } from "./answer.ts";
import type { Ask } from "./ask.ts";
import type { Conduct } from "./faults.ts";
import type { Refusal } from "./refusals.ts";

/** One server-sent event. `tokens` is how many tokens of output its data bears. */
export interface DialectEvent {
  /** Its event name, in dialects that name them. */
  readonly name: string | null;
  readonly data: string;
  readonly tokens: number;
  /** `preamble` comes before the first token is waited for, `done` is the vendor's word that the stream is complete. */
  readonly kind: "preamble" | "content" | "closing" | "done";
}

export interface Target {
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
}

/** A request that was read and found good. */
export interface DialectReading {
  readonly ask: Ask;
  /** The whole body of a unary answer. */
  whole(answer: Answer, conduct: Conduct): Record<string, unknown>;
  /** Writes an event as bytes, where they are not lines of text. */
  frame?(event: DialectEvent): Buffer;
  /** The events of a stream, made as they are needed. */
  events(answer: Answer, conduct: Conduct): Iterable<DialectEvent>;
  /** Answered instead of a whole body, piece by piece. */
  readonly bytes?: { readonly contentType: string; readonly pieces: readonly Buffer[] };
}

export interface Dialect {
  /** Matches the end of the paths it is spoken at. */
  readonly path: RegExp;
  /** Requests with one of these headers mean this dialect, whatever their path. */
  readonly marks: readonly string[];
  readonly lineEnd: "\n" | "\r\n";
  hasCredential(target: Target): boolean;
  read(body: unknown, target: Target): DialectReading | Refusal;
  error(refusal: Refusal): Record<string, unknown>;
  errorEvent(refusal: Refusal): DialectEvent;
}

/** A good request, with what writes its answers. */
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

/** The first thing a schema finds wrong, as a refusal that names the field. */
export function schemaRefusal(error: z.ZodError): Refusal {
  const issue = error.issues[0];
  const path = [...(issue?.path ?? []), ...(issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [])];
  const param = path.map(String).join(".");
  return { kind: "invalid", param, message: param ? `${param}: ${issue?.message}` : (issue?.message ?? "not valid") };
}

/** A refusal that names a field, where a schema cannot. */
export function refuse(param: string, message: string): Refusal {
  return { kind: "invalid", param, message: `${param}: ${message}` };
}
