// Maps the ids of tool calls: the caller's to the vendor's in a request, the vendor's to the caller's in an answer. Both stay unique within a conversation.
import { hash } from "node:crypto";

/** Nine letters and digits, up to 64 of `[a-zA-Z0-9_-]`, or up to 64 characters of any kind. */
export type IdRule = "nine" | "word" | "any";

const NINE = /^[a-zA-Z0-9]{9}$/;
const ID_CHARS_MAX = 64;
const ID_CHARS_KEPT = 31;

/** Makes an id valid under a rule, always in the same way. `turn` above 1 makes a repeated id unique. */
function fittedId(id: string, rule: IdRule, turn = 1): string {
  const whole = turn === 1 ? id : `${id} ${turn}`;
  if (rule === "nine")
    return NINE.test(whole) ? id : hash("sha256", whole, "base64url").replace(/[-_]/g, "x").slice(0, 9);
  const plain = rule === "word" ? id.replace(/[^a-zA-Z0-9_-]/g, "_") : id;
  if (turn === 1 && plain.length <= ID_CHARS_MAX) return plain || "call";
  return `${plain.slice(0, ID_CHARS_KEPT)}_${hash("md5", whole)}`;
}

/** Maps the ids of one conversation. A call that repeats an earlier id gets a new one, and its result gets the same. */
export class FittedIds {
  readonly #rule: IdRule;
  readonly #taken = new Set<string>();
  readonly #ahead = new Map<string, string>();
  readonly #calls = new Map<string, { readonly unanswered: string[]; last: string; count: number }>();

  constructor(rule: IdRule) {
    this.#rule = rule;
  }

  call(id: string): string {
    const ahead = this.#ahead.get(id);
    this.#ahead.delete(id);
    if (ahead !== undefined) return ahead;
    const known = this.#calls.get(id) ?? { unanswered: [], last: "", count: 0 };
    this.#calls.set(id, known);
    known.count += 1;
    known.last = this.#free(id, known.count);
    known.unanswered.push(known.last);
    this.#taken.add(known.last);
    return known.last;
  }

  /** Maps the id in a thought that precedes its call. */
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

  /** Gives the vendor its own id back if it is valid and unused. */
  #free(id: string, count: number): string {
    const own = originalId(id);
    if (own !== null && fittedId(own, this.#rule) === own && !this.#taken.has(own)) return own;
    let fitted = fittedId(id, this.#rule, count);
    for (let turn = count + 1; this.#taken.has(fitted); turn++) fitted = fittedId(id, this.#rule, turn);
    return fitted;
  }
}

/** Existing ids, which new ones must not repeat. */
interface Answered {
  readonly completionId: string;
  readonly tools?: { hasId(id: string): boolean } | undefined;
}

const VALID = /^[a-zA-Z0-9_-]{1,64}$/;
const TAIL_CHARS = 28;
/** The prefix of ids made here; the vendor's id follows. */
const OURS = /^call_[a-zA-Z0-9-]+_\d+$/;
const BETWEEN = "__";

/** Extracts the vendor's id from one made here; null if it contains none. */
function originalId(id: string): string | null {
  const at = id.indexOf(BETWEEN);
  if (at < 0 || !OURS.test(id.slice(0, at))) return null;
  return Buffer.from(id.slice(at + BETWEEN.length), "base64url").toString();
}

/** Gives the caller an id for each call of one answer. */
export class GivenIds {
  readonly #context: Answered;
  readonly #given = new Set<string>();
  #next = 0;

  constructor(context: Answered) {
    this.#context = context;
  }

  /** Keeps a valid, unused id; otherwise makes one, containing the vendor's id if that fits. */
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
    const end = own === "" ? "" : `${BETWEEN}${Buffer.from(own).toString("base64url")}`;
    while (true) {
      const short = `call_${tail.slice(-TAIL_CHARS) || "x"}_${this.#next++}`;
      const id = short.length + end.length <= ID_CHARS_MAX ? short + end : short;
      if (!this.#isTaken(id)) return id;
    }
  }
}
