// A vendor whose wire no data can say: what a script is given, and how it asks.
import type { Verdict } from "./answer-rule.ts";
import type { RequestSpec } from "./request-spec.ts";
import type { Json, JsonObject, Params } from "./said.ts";

/** How a script asks. */
export interface AskSpec {
  /** What `{name}` stands for, and what is sent: the params of this request. Default: none. */
  readonly values?: Params;
  /** It is not sent before so many milliseconds have passed. Default 0. */
  readonly afterMs?: number;
  /** False: the rules are not asked, and whatever was answered is given back. */
  readonly judged?: boolean;
  /** Statuses that are answers as good as any: no rule is asked about them. */
  readonly accepts?: readonly number[];
  /** The most that may pass from the sending until the answer is whole, in milliseconds. Default: what is left of the action's time. */
  readonly msMax?: number;
  /** A good answer is a stream: its messages are told as they come, and not one of them is kept. */
  readonly messages?: Messages;
}

/** How an answer that is a stream is taken apart, and who hears it. */
export interface Messages {
  /** Lines of text, frames of the Connect protocol, or messages of a web socket (RFC 6455), which the request then opens. */
  readonly form: "lines" | "connect" | "web-socket";
  /** Said on a web socket as soon as it is open, each as a binary message. */
  readonly said?: readonly Uint8Array[];
  /**
   * One message: `mark` is a frame's flags, a web socket's opcode (1 text, 2 binary), of a line 0. False: that is enough, and the
   * answer is closed.
   */
  heard(bytes: Buffer, mark: number): boolean;
}

/** An answer, whole. */
export interface ScriptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed body; undefined where it is no JSON. */
  readonly json: unknown;
  /** The body as text; "" of one that is not text. */
  readonly text: string;
  /** Of messages: why no more of them are heard, although there may be more: that was enough, or `msMax` has passed. */
  readonly cut?: "enough" | "late";
}

/** What a script is given. */
export interface ScriptContext<P = Params> {
  readonly params: P;
  /** Our key, its parts separated by newlines; every `ask` shows it as `auth` says, so this is for what has to be signed. */
  readonly key: string;
  /** `tg-` and 24 hexadecimal digits, of this call alone: what the vendor makes under it can be found where its answer was lost. */
  readonly label: string;
  /** The parts of the vendor's address that are set, by their names. */
  readonly settings: Readonly<Record<string, string>>;
  /** Of an adapter whose `auth` is `jwt`: a token with these claims beside its own, good for so many seconds. */
  token(claims: JsonObject, lifeS: number): string;
  /** Aborted when the call has ended before the script. */
  readonly signal: AbortSignal;
  /**
   * One exchange with the vendor, at its pace and within the action's `timeoutMs`. Its answer is held against the rules: a failure is
   * thrown and a miss ends the action, so what comes back is good.
   */
  ask(request: RequestSpec, how?: AskSpec): Promise<ScriptAnswer>;
  /** Ends the action as a miss (`data` is what the caller gets), or as a failure. Throws. */
  end(verdict: Exclude<Verdict, "success">, told?: { readonly message?: string; readonly data?: Json }): never;
}

/** Asks the vendor as often as it takes; what it returns is what the caller gets, an object or an array. */
export type Script<P = Params> = (context: ScriptContext<P>) => Promise<unknown>;
