// For vendors whose protocol data cannot describe: what a script gets, and how it makes requests.
import type { Verdict } from "./answer-rule.ts";
import type { RequestSpec } from "./request-spec.ts";
import type { Json, JsonObject, Params } from "./said.ts";

export interface AskSpec {
  /** The params of this request: the values for `{name}`, and what is sent. Default: none. */
  readonly values?: Params;
  /** The delay before it is sent, in milliseconds. Default 0. */
  readonly afterMs?: number;
  /** False: the rules are not applied, and any answer is returned. */
  readonly judged?: boolean;
  /** Statuses that count as success without applying any rule. */
  readonly accepts?: readonly number[];
  /** The maximum time from sending until the complete answer, in milliseconds. Default: the rest of the action's time. */
  readonly msMax?: number;
  /** A successful answer is a stream: its messages are delivered as they arrive and none is stored. */
  readonly messages?: Messages;
}

/** How a streamed answer is split, and its receiver. */
export interface Messages {
  /** Lines of text, frames of the Connect protocol, or messages of a WebSocket (RFC 6455), which the request then opens. */
  readonly form: "lines" | "connect" | "web-socket";
  /** Sent on a WebSocket as soon as it is open, each as a binary message. */
  readonly said?: readonly Uint8Array[];
  /** `mark` is a frame's flags, a WebSocket's opcode (1 text, 2 binary), or 0 for a line. Return false to close the answer. */
  heard(bytes: Buffer, mark: number): boolean;
}

export interface ScriptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
  /** The body as text; "" if it is not text. */
  readonly text: string;
  /** For messages: why reading stopped early: the receiver had enough, or `msMax` passed. */
  readonly cut?: "enough" | "late";
}

export interface ScriptContext<P = Params> {
  readonly params: P;
  /** Our key, with parts separated by newlines, for signing; every `ask` already authenticates as `auth` defines. */
  readonly key: string;
  /** `tg-` and 24 hexadecimal digits, unique to this call: lets us find what the vendor created if its answer is lost. */
  readonly label: string;
  /** The configured parts of the vendor's address, by name. */
  readonly settings: Readonly<Record<string, string>>;
  /** For an adapter whose `auth` is `jwt`: a token with its own claims plus these, valid for this many seconds. */
  token(claims: JsonObject, lifeS: number): string;
  /** Aborted when the call ends before the script does. */
  readonly signal: AbortSignal;
  /**
   * One exchange with the vendor, within its rate limit and the action's `timeoutMs`. The rules apply to its answer: a failure is thrown
   * and a miss ends the action, so a returned answer is a success.
   */
  ask(request: RequestSpec, how?: AskSpec): Promise<ScriptAnswer>;
  /** Ends the action as a miss (`data` is what the caller gets) or as a failure. Throws. */
  end(verdict: Exclude<Verdict, "success">, told?: { readonly message?: string; readonly data?: Json }): never;
}

/** Makes as many requests as needed; returns what the caller gets, an object or an array. */
export type Script<P = Params> = (context: ScriptContext<P>) => Promise<unknown>;
