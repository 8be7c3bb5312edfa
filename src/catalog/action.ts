// What a paid operation is, as data: its params, its price, its wire, and what its answers mean.
import type { z } from "zod";
import type { Retirement } from "../endpoint.ts";
import type { AnswerRule, Verdict, When } from "./answer-rule.ts";
import type { PrepaidUse } from "./prepaid.ts";

export type { AnswerRule, Verdict, When } from "./answer-rule.ts";
export type { EndpointTable, TableEndpoint, TableParam } from "./endpoint-table.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };
export type Params = Readonly<Record<string, unknown>>;

/** Where people look for an action. */
export const CATEGORIES = [
  "search",
  "scraping",
  "people",
  "memory",
  "compute",
  "browser",
  "media",
  "video",
  "files",
  "email",
  "records",
  "real-estate",
  "social",
  "market",
  "compliance",
  "open-data",
  "commerce",
  "models",
  "core",
] as const;
export type Category = (typeof CATEGORIES)[number];

/**
 * What a call costs, in cents; fractions of a cent are real. `fixed`: always `cents`. `ranged`: what the params make of it.
 * `capped`: what the answer says it was, never above the quote.
 */
export interface PriceSpec<P = Params> {
  readonly mode: "fixed" | "ranged" | "capped";
  /** The price; where it is ranged or capped, the most that any call can cost. */
  readonly cents: number;
  /** The least that a charged call costs. Default: `cents` where fixed, else 0. */
  readonly minCents?: number;
  /** What one counts, as people read it: `URL`, `page`, `second of video`. */
  readonly unit?: string;
  /** The most that a call with these params can cost. Default `cents`. */
  quoteCents?(params: P): number;
  /** Params of which the price is another than the example's: callers are shown both. Goes with `quoteCents` where the price is ranged. */
  readonly otherPrice?: JsonObject;
  /** How the answer says what it cost: a number or an array at a JSON pointer, times `centsEach`, on top of `baseCents`, never below `minCents`. */
  readonly counted?: { readonly at: string; readonly centsEach: number; readonly baseCents?: number };
  /** An answer that a rule calls a miss is not charged. Default false. */
  readonly freeOnMiss?: boolean;
  /**
   * What it costs is known only when it is bought: the caller has to say the most (`max_cost_cents`), which is what is held. What the
   * answer says was taken is the charge, and what it has cost us.
   */
  readonly needsMaxCost?: true;
  /** The vendor is paid by the call (`paidBy`): what it was paid is the charge, and the price is the most that it may be. */
  readonly paid?: {
    /** What it asks for the example. */
    readonly exampleCents: number;
    /** Of an action of our own: what it costs beside that, unless it was a miss. */
    readonly feeCents?: number;
  };
}

/** One request of an action. Params that the path does not use are sent under their own names. */
export interface RequestSpec<P = Params> {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** One of the adapter's `origins`. Default: its `origin`. */
  readonly origin?: string;
  /**
   * Below the origin. `{name}` stands for a param, percent-encoded; `{name...}` keeps its slashes; `{/pointer}` is a value
   * of the answer so far, in a script of its `values`. A query may follow `?`.
   */
  readonly path: string;
  /** In a step or a script: the pointer, as in `path`, to the vendor's own address for it. Only its path and query are used, at our origin; replaces `path`. */
  readonly pathAt?: string;
  /** Where params go. Default: `query` for GET and DELETE, else `json`; in steps `none`. `connect`: JSON in one frame of the Connect protocol. */
  readonly send?: "query" | "json" | "form" | "connect" | "none";
  /** Our name of a param -> the vendor's; in JSON `a/b` is `b` inside `a`. Null: it is not sent. */
  readonly names?: Readonly<Record<string, string | null>>;
  /** Sent with every call, by the vendor's names; a param of the same name wins. */
  readonly fixed?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  /** What no field can say: the params as the vendor wants them, before `path` and `names` see them. */
  params?(params: P): Params;
  /** How many redirects within the vendor's own hosts (`origin`, `origins`) are followed, each at our own origin. Default 0. */
  readonly redirectsMax?: number;
}

/** A request after the first: a poll, a fetch of the result. Its answer is held against the same rules. */
export interface StepSpec<P = Params> {
  readonly request: RequestSpec<P>;
  /** Left out unless the answer so far is like this. */
  readonly when?: When;
  /** Sent again, every `everyMs`, until its answer is like this; the action's `timeoutMs` bounds it. */
  readonly until?: When;
  readonly everyMs?: number;
  /** Rules of this step alone, tried first. */
  readonly rules?: readonly AnswerRule[];
  /** True: the fields of this answer are laid over those so far. Default: it replaces the answer so far. */
  readonly merge?: boolean;
}

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

/** What becomes of an answer's body. */
export type AnswerShape =
  /** Passed through as it is; fields at its top may get other names. */
  | { readonly kind: "json"; readonly renamed?: Readonly<Record<string, string>> }
  /** `{[as]: text, content_type}`. */
  | { readonly kind: "text"; readonly as: string }
  /** `{content_type, size_bytes, text}` of a text, else `base64`, or of a large one the link to a file. */
  | { readonly kind: "bytes" };

/** What every action says of itself, whichever serves it: a vendor, a tier of vendors, or we ourselves. */
export interface ActionFacts<P = Params> {
  /** One or two sentences that say what the caller gets. */
  readonly description: string;
  readonly category: Category;
  /** Other words by which people look for it. */
  readonly keywords?: readonly string[];
  /** A write is never sent twice. */
  readonly effect: "read" | "write";
  /** Strict, with defaults and rules across fields. Feeds validation, descriptor, openapi.json and examples. */
  readonly params: z.ZodType<P>;
  readonly price: PriceSpec<P>;
  readonly retires?: Retirement;
}

/** How core/result learns what has become of work that a vendor does on its own. */
export interface PollSpec {
  /** The adapter's action that tells; asking it costs us nothing. */
  readonly action: string;
  /** Its param that takes the id, and what it takes beside it. */
  readonly param: string;
  readonly params?: JsonObject;
  /** The vendor's ids are numbers. Default: texts. */
  readonly numeric?: boolean;
  /** Where its answer says how the work stands. */
  readonly at: string;
  /** What stands there once the work has come to something, or to nothing; with any other word it still goes on. */
  readonly done: readonly string[];
  readonly failed: readonly string[];
}

export interface ActionSpec<P = Params> extends ActionFacts<P> {
  /** What the vendor takes from us for a call, in cents. Not above the price for the same params, or `mayCostMore` says why. */
  upstreamCents: number | ((params: P) => number);
  readonly mayCostMore?: string;
  /** What it takes where it has found nothing. Default: the same. */
  readonly upstreamMissCents?: number;
  /** The request, and those after it; or, where the vendor has a state that data cannot say, `run` instead of both. */
  readonly request?: RequestSpec<P>;
  readonly steps?: readonly StepSpec<P>[];
  readonly run?: Script<P>;
  readonly answer?: AnswerShape;
  /**
   * JSON pointers to what is sold, `""` for a text or bytes as a whole. A good answer that has nothing (no field, null, white space) at
   * any of them is no answer: it is not charged, and the next candidate is asked. An empty list is an honest nothing. Default: none.
   */
  readonly content?: readonly string[] | ((params: P) => readonly string[]);
  /** Tried before the adapter's own. */
  readonly rules?: readonly AnswerRule[];
  /**
   * Ids that the vendor made for this call: they belong to its payer, for `days` (default 90). `at` leads to one id or to an array of
   * them. With `poll` it stands for work, and core/result takes it as a job's id.
   */
  readonly issues?: readonly {
    readonly kind: string;
    readonly at: string;
    readonly days?: number;
    readonly poll?: PollSpec;
  }[];
  /** Params that must be ids of that kind which the payer got here; anybody else's is 404. `inside`: each text of that name in what the param holds. */
  readonly requires?: readonly { readonly kind: string; readonly param: string; readonly inside?: string }[];
  /** Params that are ids of files that the payer has here: the vendor gets a link to the file instead, which lives for an hour. */
  readonly files?: readonly string[];
  /** What it has to do with the adapter's `prepaid` time. */
  readonly prepaid?: PrepaidUse;
  /** Params that hold ids which callers choose: they go upstream as a hash of payer and id and come back as written. */
  readonly callerIds?: readonly string[];
  /** The param of the table beside the adapter's file; the rest of the params are what its row says. */
  readonly table?: { readonly param: string; readonly method?: "GET" | "POST" };
  /** The vendor counts this action by itself: it keeps a pace of its own, and rests alone, instead of the adapter's `rate`. */
  readonly rate?: { readonly requests: number; readonly perMs: number };
  /** For the whole call with all its steps. Default 60,000. */
  readonly timeoutMs?: number;
  /** What the catalog test sends, and what the vendor answers: one answer for the request and each step that runs, or each `ask`. */
  readonly example: { readonly params: JsonObject; readonly answers: readonly [Json, ...Json[]] };
}

/**
 * Gives an action the types of its params. Outside of its file they are forgotten: what is handed to its functions is always
 * what its own `params` made of a call.
 */
export function action<P>(spec: ActionSpec<P>): ActionSpec {
  return spec as unknown as ActionSpec;
}
