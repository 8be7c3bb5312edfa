// Sifts a body through its allow-list: keeps what has a place, names what has none, and surveys what a bound must know.
import { GatewayError } from "../../core/errors.ts";
import { type Place, placeOf } from "./allow-list.ts";
import { type BoundedAs, readMedia, typedAs } from "./media.ts";

/** So many dropped fields are told apart; how many of them the caller is told is the header's to say. */
export const NAMES_MAX = 1_000;
const NAME_CHARS_MAX = 200;

/** Templates indent JSON and write it with spaces, and a schema gets words of its vendor's: so much for each of its values. */
const TOKENS_PER_JSON_VALUE = 2;
/** `1e20` is written out with all its zeros when a request is written anew. */
const NUMBER_CHARS_MAX = 24;
const EXPONENT = /\d[eE][+-]?\d/;
const EXPONENTS = new RegExp(EXPONENT, "g");

/** What a sifted body holds, as far as a bound of its tokens needs it. */
export interface Sifted {
  /** The body without what has no place; the same object where everything has one. */
  readonly body: Record<string, unknown>;
  /** What was dropped, such as `messages.foo`: at most `NAMES_MAX` names, each once. */
  readonly dropped: readonly string[];
  /** The first field that changes the price, or holds an object or a list where there can be none. */
  readonly refused: GatewayError | null;
  /** The first word that decides on an object's fields and that is not known. */
  readonly unknown: string | null;
  readonly parts: Readonly<Record<BoundedAs, number>>;
  /** Characters of encoded media: of the body's bytes, at least so many are no text. */
  readonly dataChars: number;
  /** Tokens that JSON in the body can count for beyond its bytes. */
  readonly jsonTokens: number;
}

const NOTHING = Symbol("nothing");

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a header can carry; callers name the fields. */
export function headerSafe(name: string): string {
  return name.slice(0, NAME_CHARS_MAX).replace(/[^\w.-]/g, "?") || "?";
}

function lacksWord(word: unknown, { by }: Place): boolean {
  return (word === undefined || word === null) && by !== null && by.missing !== null;
}

/** Where what has no place is refused, and not dropped. */
export function unknownField(param: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: { detail: `${param}: is not known here` } });
}

class Sieve {
  readonly dropped = new Set<string>();
  refused: GatewayError | null = null;
  unknown: string | null = null;
  readonly parts: Record<BoundedAs, number> = { image: 0, audio: 0, file: 0, anything: 0 };
  dataChars = 0;
  jsonTokens = 0;
  /** Where in the lists around it the walk is. */
  readonly #at: number[] = [];
  readonly #isClosed: boolean;

  constructor(isClosed: boolean) {
    this.#isClosed = isClosed;
  }

  /** What of a value may stand at a place. */
  keep(value: unknown, place: Place): unknown {
    if (place.ours) return NOTHING;
    if (place.refused !== null) return this.#refuse(value, place, place.path);
    if (typeof value === "string") this.#text(value, place);
    if (typeof value !== "object" || value === null) return value;
    if (place.free) {
      this.#freely(value);
      return value;
    }
    if (Array.isArray(value)) {
      return place.items === null
        ? this.#misplaced(value, place.path, "must not be a list")
        : this.#list(value, place.items);
    }
    return this.#object(value as Record<string, unknown>, place);
  }

  #text(value: string, place: Place): void {
    if (place.media !== null) {
      const { boundedAs, isData } = readMedia(value, place.media);
      this.parts[boundedAs]++;
      if (isData) this.dataChars += value.length;
    } else if (place.quoted && EXPONENT.test(value)) {
      this.jsonTokens += NUMBER_CHARS_MAX * (value.match(EXPONENTS)?.length ?? 0);
    }
  }

  #freely(value: unknown): void {
    this.jsonTokens += TOKENS_PER_JSON_VALUE;
    if (typeof value === "number") {
      if (!Number.isInteger(value) || Math.abs(value) >= 1_000) this.jsonTokens += NUMBER_CHARS_MAX;
    } else if (Array.isArray(value)) {
      for (const inner of value) this.#freely(inner);
    } else if (isFields(value)) {
      for (const key of Object.keys(value)) this.#freely(value[key]);
    }
  }

  #list(list: readonly unknown[], items: Place): unknown {
    let copy: unknown[] | null = null;
    const depth = this.#at.length;
    for (let at = 0; at < list.length; at++) {
      this.#at[depth] = at;
      const kept = this.keep(list[at], items);
      if (kept === list[at]) {
        copy?.push(kept);
        continue;
      }
      copy ??= list.slice(0, at);
      if (kept !== NOTHING) copy.push(kept);
    }
    this.#at.length = depth;
    return copy ?? list;
  }

  #object(object: Record<string, unknown>, general: Place): unknown {
    const { by } = general;
    if (by !== null && typeof object[by.field] !== "string" && !lacksWord(object[by.field], general)) {
      return this.#misplaced(object, `${general.path}.${by.field}`, "must be text");
    }
    const place = placeOf(object, general);
    if (place === "unknown") {
      this.unknown ??= String(object[by?.field ?? ""]);
      return NOTHING;
    }
    if (place.ours) return NOTHING;
    if (place.refused !== null) return this.#refuse(object, place, `${place.path}.${by?.field}`);
    if (place.free) {
      this.#freely(object);
      return object;
    }
    const { fields } = place;
    if (fields === null) return this.#misplaced(object, place.path, "must not be an object");
    const keys = Object.keys(object);
    let copy: Record<string, unknown> | null = null;
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at] ?? "";
      const value = object[key];
      const inner = fields.get(key);
      const kept = inner === undefined ? this.#unlisted(value, place.path, key) : this.#inside(object, value, inner);
      if (kept === value) {
        if (copy !== null) copy[key] = value;
        continue;
      }
      // Fields are added one by one, never deleted: an object that has lost a field is slow to write as JSON.
      copy ??= Object.fromEntries(keys.slice(0, at).map((before) => [before, object[before]]));
      if (kept !== NOTHING) copy[key] = kept;
    }
    return copy ?? object;
  }

  /** The value of a field: encoded media may have its type beside it. */
  #inside(object: Record<string, unknown>, value: unknown, place: Place): unknown {
    if (place.typedBy === null || typeof value !== "string") return this.keep(value, place);
    this.parts[typedAs(object[place.typedBy])]++;
    this.dataChars += value.length;
    return value;
  }

  #unlisted(value: unknown, path: string, key: string): typeof NOTHING {
    if (value === null || value === undefined) return NOTHING;
    if (this.#isClosed) this.refused ??= unknownField(this.#here(path === "" ? key : `${path}.${headerSafe(key)}`));
    else if (this.dropped.size < NAMES_MAX) {
      this.dropped.add(headerSafe(path === "" ? key : `${path.replaceAll(".*", "")}.${key}`));
    }
    return NOTHING;
  }

  /** The path with the positions that the walk is at in place of its stars. */
  #here(path: string): string {
    const positions = this.#at.values();
    return path.replace(/\*/g, () => String(positions.next().value));
  }

  /** Kept, so that a schema which knows the field can say it better. */
  #misplaced(value: unknown, path: string, what: string): unknown {
    const param = this.#here(path);
    this.refused ??= new GatewayError("bad_request", { param, detail: { detail: `${param}: ${what}` } });
    return value;
  }

  #refuse(value: unknown, place: Place, path: string): unknown {
    if (value === undefined || value === null) return NOTHING;
    if (place.refused?.neutral?.(value)) return value;
    const detail = { detail: place.refused?.why ?? "" };
    this.refused ??= new GatewayError("unsupported_field", { param: this.#here(path), detail });
    return value;
  }
}

/** Sifts a body through the allow-list of its endpoint; `isClosed`: what has no place there is refused. */
export function sift(body: Record<string, unknown>, allowed: Place, isClosed = false): Sifted {
  const sieve = new Sieve(isClosed);
  const kept = sieve.keep(body, allowed) as Record<string, unknown>;
  const { refused, unknown, parts, dataChars, jsonTokens } = sieve;
  return { body: kept, dropped: [...sieve.dropped], refused, unknown, parts, dataChars, jsonTokens };
}
