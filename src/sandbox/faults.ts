// The table of all model faults in the sandbox: the name after `sandbox/`, a description, and the behaviour.
import type { Refusal, RefusalKind } from "./refusals.ts";

/** How the sandbox treats one request. A fault changes parts of it; pacing and faults meet only here. */
export interface Conduct {
  /** The refusal to send instead of an answer; its status is in the fault's name. */
  readonly refuse: Refusal | null;
  /** `silent` never answers; `reset` breaks the connection before any byte. */
  readonly connection: "answer" | "silent" | "reset";
  /** When `refuse` and `connection` apply: always, at the first attempt only, or for a while after the first one. */
  readonly when: "always" | "once" | { readonly forMs: number };
  /** Refuses only requests whose last message is the assistant's. */
  readonly onlyPrefill: boolean;
  readonly headersAfterMs: number;
  readonly firstTokenAfterMs: number;
  /** Null: as fast as the client reads. */
  readonly tokensPerSecond: number | null;
  /** Where a stream stops early, and how: destroys the connection, ends the body, falls silent, or sends an error event. */
  readonly stop: {
    readonly afterTokens: number;
    readonly how: "destroy" | "end" | "stall" | "error";
    readonly stallMs: number;
  } | null;
  /** The content of the answer: the usual, nothing, one event of 2 MiB, or an error or an HTML page in a 200. */
  readonly content: "usual" | "empty" | "huge" | "error" | "page";
  readonly filtered: boolean;
  readonly usage: "asked" | "never" | "every" | "finish";
  /** The number of the event with broken JSON, counted from one; 0 for none. */
  readonly brokenEvent: number;
  /** The end mark of a stream: sent, or left out; with `openMs` the body then stays open that long. */
  readonly done: "sent" | "missing" | { readonly openMs: number };
  readonly crlf: boolean;
  readonly multiline: boolean;
  readonly comments: boolean;
  /** Splits writes to the socket into pieces of this many bytes; 0: no splitting. */
  readonly pieceBytes: number;
}

export const HEALTHY: Conduct = {
  refuse: null,
  connection: "answer",
  when: "always",
  onlyPrefill: false,
  headersAfterMs: 0,
  firstTokenAfterMs: 0,
  tokensPerSecond: null,
  stop: null,
  content: "usual",
  filtered: false,
  usage: "asked",
  brokenEvent: 0,
  done: "sent",
  crlf: false,
  multiline: false,
  comments: false,
  pieceBytes: 0,
};

export interface Fault {
  /** `<n>` stands for a number, which may have decimals. */
  readonly name: string;
  readonly does: string;
  readonly conduct: (first: number, second: number) => Partial<Conduct>;
}

const STALL_MS = 30_000;

function refusing(kind: RefusalKind, words: Omit<Refusal, "kind"> = {}, more: Partial<Conduct> = {}): Partial<Conduct> {
  return { refuse: { kind, ...words }, ...more };
}

function stopping(how: NonNullable<Conduct["stop"]>["how"], afterTokens: number, stallMs = STALL_MS): Partial<Conduct> {
  return { stop: { afterTokens, how, stallMs } };
}

export const FAULTS: readonly Fault[] = [
  { name: "ok", does: "Answers at once, without a fault.", conduct: () => ({}) },
  {
    name: "429-once",
    does: "429 with Retry-After: 2 on the first attempt of a conversation; the next one passes, and then it starts anew.",
    conduct: () => refusing("rate_limited", { retryAfterS: 2 }, { when: "once" }),
  },
  {
    name: "429-once-after-<n>",
    does: "As 429-once, with Retry-After: n.",
    conduct: (n) => refusing("rate_limited", { retryAfterS: n }, { when: "once" }),
  },
  { name: "429", does: "429 every time, without Retry-After.", conduct: () => refusing("rate_limited") },
  {
    name: "429-after-<n>",
    does: "429 every time, with Retry-After: n.",
    conduct: (n) => refusing("rate_limited", { retryAfterS: n }),
  },
  {
    name: "500-once",
    does: "500 on the first attempt of a conversation; the next one passes.",
    conduct: () => refusing("server_error", {}, { when: "once" }),
  },
  { name: "500", does: "500 every time.", conduct: () => refusing("server_error") },
  { name: "503", does: "503 every time.", conduct: () => refusing("overloaded") },
  { name: "529", does: "529 (overloaded) every time.", conduct: () => refusing("overloaded", { status: 529 }) },
  {
    name: "flap-<n>",
    does: "503 for the first n seconds after a conversation's first attempt, healthy from then on.",
    conduct: (n) => refusing("overloaded", {}, { when: { forMs: n * 1_000 } }),
  },
  { name: "401", does: "401: the vendor rejects the key.", conduct: () => refusing("bad_key") },
  { name: "402", does: "402: the account at the vendor is empty.", conduct: () => refusing("no_credit") },
  { name: "404", does: "404: the vendor does not know the model.", conduct: () => refusing("no_model") },
  { name: "400", does: "400: the vendor finds the request invalid.", conduct: () => refusing("invalid") },
  { name: "400-context", does: "400: the prompt is too long for the model.", conduct: () => refusing("context") },
  { name: "400-policy", does: "400: the content breaks the vendor's policy.", conduct: () => refusing("policy") },
  {
    name: "400-prefill",
    does: "400 where the last message is the assistant's; healthy otherwise.",
    conduct: () => refusing("prefill", {}, { onlyPrefill: true }),
  },
  {
    name: "reset-once",
    does: "TCP reset before any byte on the first attempt of a conversation; the next one passes.",
    conduct: () => ({ connection: "reset", when: "once" }),
  },
  { name: "reset", does: "TCP reset before any byte, every time.", conduct: () => ({ connection: "reset" }) },
  { name: "silent", does: "Takes the request and never answers.", conduct: () => ({ connection: "silent" }) },
  {
    name: "slow-headers-<n>",
    does: "The status and headers come after n seconds.",
    conduct: (n) => ({ headersAfterMs: n * 1_000 }),
  },
  {
    name: "first-after-<n>",
    does: "Headers at once, the first token after n seconds.",
    conduct: (n) => ({ firstTokenAfterMs: n * 1_000 }),
  },
  {
    name: "cut-after-<n>",
    does: "The connection is destroyed after n tokens, in mid-body.",
    conduct: (n) => stopping("destroy", n),
  },
  {
    name: "cut-clean-after-<n>",
    does: "After n tokens the body ends as if whole, without a finish and without [DONE].",
    conduct: (n) => stopping("end", n),
  },
  {
    name: "stall-after-<n>",
    does: "Silence after n tokens for 30 seconds, then the connection is destroyed.",
    conduct: (n) => stopping("stall", n),
  },
  {
    name: "stall-after-<n>-for-<m>",
    does: "Silence after n tokens for m seconds, then the connection is destroyed.",
    conduct: (n, m) => stopping("stall", n, m * 1_000),
  },
  {
    name: "error-after-<n>",
    does: "An error event after n tokens, then the body ends. Unary: as error-in-200.",
    conduct: (n) => stopping("error", n),
  },
  {
    name: "error-in-200",
    does: "A 200 whose body, or first event, is an error.",
    conduct: () => ({ content: "error" }),
  },
  { name: "html", does: "A 200 with an HTML page.", conduct: () => ({ content: "page" }) },
  { name: "empty", does: "A well-formed answer without content.", conduct: () => ({ content: "empty" }) },
  {
    name: "huge-event",
    does: "One event with 2 MiB of content, counted as one token.",
    conduct: () => ({ content: "huge" }),
  },
  {
    name: "filtered",
    does: "Half of the answer, ended by the vendor's content filter.",
    conduct: () => ({ filtered: true }),
  },
  {
    name: "malformed",
    does: "The tenth event is broken JSON; a unary body is cut short.",
    conduct: () => ({ brokenEvent: 10 }),
  },
  {
    name: "no-done",
    does: "Everything but the vendor's word that the stream is over.",
    conduct: () => ({ done: "missing" }),
  },
  {
    name: "no-done-open-<n>",
    does: "As no-done, and the body stays open for n seconds.",
    conduct: (n) => ({ done: { openMs: n * 1_000 } }),
  },
  { name: "no-usage", does: "No usage, asked for or not.", conduct: () => ({ usage: "never" }) },
  {
    name: "usage-every-chunk",
    does: "Cumulative usage on every event, asked for or not.",
    conduct: () => ({ usage: "every" }),
  },
  {
    name: "usage-on-finish",
    does: "Usage rides on the finishing event alone, asked for or not.",
    conduct: () => ({ usage: "finish" }),
  },
  { name: "crlf", does: "Lines end with CR LF.", conduct: () => ({ crlf: true }) },
  {
    name: "multiline",
    does: "An event's data is spread over several data lines.",
    conduct: () => ({ multiline: true }),
  },
  {
    name: "comments",
    does: "A comment line before every event, as keep-alives do.",
    conduct: () => ({ comments: true }),
  },
  {
    name: "bytes-<n>",
    does: "The body is written in pieces of n bytes.",
    conduct: (n) => ({ pieceBytes: Math.max(1, Math.floor(n)) }),
  },
];

const NUMBER = "(\\d{1,9}(?:\\.\\d{1,3})?)";
const PATTERNS = FAULTS.map((fault) => ({ fault, pattern: new RegExp(`^${fault.name.replaceAll(/<\w>/g, NUMBER)}$`) }));
const PACE = new RegExp(`^(.+)-at-${NUMBER}$`);

/** The pace of models that have a vendor's own name. */
const VENDOR_TOKENS_PER_SECOND = 400;

/** The conduct of a vendor's own model name: no faults, ordinary pace. */
export const VENDOR_MODEL: Conduct = { ...HEALTHY, tokensPerSecond: VENDOR_TOKENS_PER_SECOND };

/** The conduct that a model name requests, such as `cut-after-40` or `ok-at-50` (50 tokens a second); null if it names no fault. */
export function conductOf(model: string): Conduct | null {
  for (const { fault, pattern } of PATTERNS) {
    const match = pattern.exec(model);
    if (match) return { ...HEALTHY, ...fault.conduct(Number(match[1] ?? 0), Number(match[2] ?? 0)) };
  }
  const paced = PACE.exec(model);
  const inner = paced?.[1] === undefined ? null : conductOf(paced[1]);
  return inner && { ...inner, tokensPerSecond: Number(paced?.[2]) || null };
}
