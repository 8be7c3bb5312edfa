// Ids of tool calls: what a vendor is sent for its caller's, and what the caller gets for the vendor's. Both are unique within a conversation.
import { hash } from "node:crypto";

/** Nine letters and digits, up to 64 of `[a-zA-Z0-9_-]`, or up to 64 characters of any kind. */
export type IdRule = "nine" | "word" | "any";

const NINE = /^[a-zA-Z0-9]{9}$/;
const ID_CHARS_MAX = 64;
const ID_CHARS_KEPT = 31;

/** An id as a vendor takes it. The same always becomes the same. */
function fittedId(id: string, rule: IdRule): string {
  if (rule === "nine" && !NINE.test(id)) return hash("sha256", id, "base64url").replace(/[-_]/g, "x").slice(0, 9);
  const plain = rule === "word" ? id.replace(/[^a-zA-Z0-9_-]/g, "_") : id;
  if (plain.length <= ID_CHARS_MAX) return plain || "call";
  return `${plain.slice(0, ID_CHARS_KEPT)}_${hash("md5", id)}`;
}

/** The ids of one conversation, each unique: a call that repeats an earlier one's gets another, and its result follows. */
export class FittedIds {
  readonly #rule: IdRule;
  readonly #taken = new Set<string>();
  readonly #ahead = new Map<string, string>();
  readonly #calls = new Map<string, { readonly unanswered: string[]; last: string }>();

  constructor(rule: IdRule) {
    this.#rule = rule;
  }

  call(id: string): string {
    const ahead = this.#ahead.get(id);
    this.#ahead.delete(id);
    if (ahead !== undefined) return ahead;
    const fitted = this.#free(id);
    const known = this.#calls.get(id);
    this.#taken.add(fitted);
    if (known === undefined) this.#calls.set(id, { unanswered: [fitted], last: fitted });
    else {
      known.unanswered.push(fitted);
      known.last = fitted;
    }
    return fitted;
  }

  ahead(id: string): string {
    const fitted = this.call(id);
    this.#ahead.set(id, fitted);
    return fitted;
  }

  result(id: string): string {
    const called = this.#calls.get(id);
    return called === undefined ? fittedId(id, this.#rule) : (called.unanswered.shift() ?? called.last);
  }

  of(id: string): string {
    return this.#calls.get(id)?.last ?? id;
  }

  /** The vendor's own id, where it fits, before the one that its caller was given for it. */
  #free(id: string): string {
    const own = originalId(id);
    if (own !== null && fittedId(own, this.#rule) === own && !this.#taken.has(own)) return own;
    let fitted = fittedId(id, this.#rule);
    for (let n = 2; this.#taken.has(fitted); n++) fitted = fittedId(`${id || "call"}_${n}`, this.#rule);
    return fitted;
  }
}

/** The call that is answered, and the conversation before it. */
interface Answered {
  readonly completionId: string;
  readonly tools?: { hasId(id: string): boolean } | undefined;
}

const VALID = /^[a-zA-Z0-9_-]{1,64}$/;
const TAIL_CHARS = 28;
/** One of ours, with the vendor's own id in it where that is short enough. */
const OURS = /^call_[a-zA-Z0-9-]{0,28}_\d+__([a-zA-Z0-9_-]+)$/;

/** The vendor's id in one that we gave in its place; null: there is none. */
export function originalId(id: string): string | null {
  const encoded = OURS.exec(id)?.[1];
  return encoded === undefined ? null : Buffer.from(encoded, "base64url").toString();
}

/** Those of one answer. */
export class GivenIds {
  readonly #context: Answered;
  readonly #given = new Set<string>();

  constructor(context: Answered) {
    this.#context = context;
  }

  /** The vendor's id, where it is one; else another from which `originalId` reads it back. */
  give(told: unknown): string {
    const own = typeof told === "string" ? told : "";
    const given = VALID.test(own) && !this.#isTaken(own) ? own : this.#made(own);
    this.#given.add(given);
    return given;
  }

  #isTaken(id: string): boolean {
    return this.#given.has(id) || this.#context.tools?.hasId(id) === true;
  }

  #made(own: string): string {
    const tail = this.#context.completionId.replace(/^[a-z]+[-_]/, "").replace(/[^a-zA-Z0-9-]/g, "");
    const end = own === "" ? "" : `__${Buffer.from(own).toString("base64url")}`;
    for (let n = 0; ; n++) {
      const short = `call_${tail.slice(-TAIL_CHARS)}_${n}`;
      const id = short.length + end.length <= ID_CHARS_MAX ? short + end : short;
      if (!this.#isTaken(id)) return id;
    }
  }
}
