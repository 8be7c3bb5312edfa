// Filters a body to the fields of its table, collects dropped names, and counts what a bound on its tokens needs.
import { GatewayError } from "../../core/errors.ts";
import { isRecord, type Json } from "../../core/json.ts";
import { type Field, fieldFor } from "./field-table.ts";
import { type BoundedAs, readMedia, typedAs } from "./media.ts";
import { invalid } from "./parse-json.ts";

/** The most dropped names to collect; the header code decides how many the caller sees. */
export const NAMES_MAX = 1_000;
const NAME_CHARS_MAX = 200;

/** The allowance per JSON value: templates indent and add spaces, and vendors add words to schemas. */
const TOKENS_PER_JSON_VALUE = 2;
/** `1e20` is written with all its zeros when a request is reserialized. */
const NUMBER_CHARS_MAX = 24;
const EXPONENT = /\d[eE][+-]?\d/;
const EXPONENTS = new RegExp(EXPONENT, "g");

export interface KnownBody<Body extends Json = Json> {
  readonly body: Body;
  /** The distinct dropped fields, such as `messages.foo`: at most `NAMES_MAX`. */
  readonly dropped: readonly string[];
  /** The first field that changes the price, or contains an object or list where none is allowed. */
  readonly refused: GatewayError | null;
  /** The first unknown discriminator value, such as the type of a content part. */
  readonly unknown: string | null;
  readonly parts: Readonly<Record<BoundedAs, number>>;
  /** Characters of encoded media: at least this much of the body is not text. */
  readonly dataChars: number;
  /** Tokens that the body's JSON can cost beyond its bytes. */
  readonly jsonTokens: number;
}

const NOTHING = Symbol("nothing");
const NONE: readonly string[] = [];

/** Makes a field name safe for a header; callers choose the names. */
export function headerSafe(name: string): string {
  return name.slice(0, NAME_CHARS_MAX).replace(/[^\w.-]/g, "?") || "?";
}

export function unknownField(param: string): GatewayError {
  return invalid(param, "is not known here");
}

class Walk {
  /** Created on first use: most bodies drop nothing. */
  dropped: Set<string> | null = null;
  refused: GatewayError | null = null;
  unknown: string | null = null;
  readonly parts: Record<BoundedAs, number> = { image: 0, audio: 0, file: 0, anything: 0 };
  dataChars = 0;
  jsonTokens = 0;
  /** The current position in each list around the current value. */
  readonly #positions: number[] = [];
  readonly #isClosed: boolean;

  constructor(isClosed: boolean) {
    this.#isClosed = isClosed;
  }

  keep(value: unknown, field: Field): unknown {
    if (field.ours) return NOTHING;
    if (field.refused !== null) return this.#refuse(value, field, field.path);
    if (typeof value === "string") this.#countText(value, field);
    if (typeof value !== "object" || value === null) return value;
    if (field.free) {
      this.#countFree(value);
      return value;
    }
    if (!Array.isArray(value)) return this.#object(value as Record<string, unknown>, field);
    if (field.items === null) return this.#misplaced(value, field.path, "must not be a list");
    return this.#list(value, field.items);
  }

  #countText(value: string, field: Field): void {
    if (field.media !== null) {
      const { boundedAs, isData } = readMedia(value, field.media);
      this.parts[boundedAs]++;
      if (isData) this.dataChars += value.length;
    } else if (field.quoted && EXPONENT.test(value)) {
      this.jsonTokens += NUMBER_CHARS_MAX * (value.match(EXPONENTS)?.length ?? 0);
    }
  }

  #countFree(value: unknown): void {
    this.jsonTokens += TOKENS_PER_JSON_VALUE;
    if (typeof value === "number") {
      if (!Number.isInteger(value) || Math.abs(value) >= 1_000) this.jsonTokens += NUMBER_CHARS_MAX;
    } else if (Array.isArray(value)) {
      for (const inner of value) this.#countFree(inner);
    } else if (isRecord(value)) {
      for (const key of Object.keys(value)) this.#countFree(value[key]);
    }
  }

  #list(list: readonly unknown[], items: Field): unknown {
    let copy: unknown[] | null = null;
    const depth = this.#positions.length;
    for (let at = 0; at < list.length; at++) {
      this.#positions[depth] = at;
      const kept = this.keep(list[at], items);
      if (kept === list[at]) {
        copy?.push(kept);
        continue;
      }
      copy ??= list.slice(0, at);
      if (kept !== NOTHING) copy.push(kept);
    }
    this.#positions.length = depth;
    return copy ?? list;
  }

  #object(object: Record<string, unknown>, general: Field): unknown {
    const field = fieldFor(object, general);
    const { by } = general;
    if (by !== null && field !== by.missing && typeof object[by.field] !== "string")
      return this.#misplaced(object, `${general.path}.${by.field}`, "must be text");
    if (field === "unknown") {
      this.unknown ??= String(object[by?.field ?? ""]);
      return NOTHING;
    }
    if (field.ours) return NOTHING;
    if (field.refused !== null) return this.#refuse(object, field, `${field.path}.${by?.field}`);
    if (field.free) {
      this.#countFree(object);
      return object;
    }
    const { fields } = field;
    if (fields === null) return this.#misplaced(object, field.path, "must not be an object");
    const keys = Object.keys(object);
    let copy: Record<string, unknown> | null = null;
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at] ?? "";
      const value = object[key];
      const inner = fields.get(key);
      const kept = inner === undefined ? this.#drop(value, field.path, key) : this.#keepIn(object, value, inner);
      if (kept === value) {
        if (copy !== null) copy[key] = value;
        continue;
      }
      // Copy the kept fields instead of deleting: V8 serializes an object with a deleted field slowly.
      copy ??= Object.fromEntries(keys.slice(0, at).map((before) => [before, object[before]]));
      if (kept !== NOTHING) copy[key] = kept;
    }
    return copy ?? object;
  }

  /** The kept value of a field; a sibling may have the media type of encoded data. */
  #keepIn(object: Record<string, unknown>, value: unknown, field: Field): unknown {
    if (field.typedBy === null || typeof value !== "string") return this.keep(value, field);
    this.parts[typedAs(object[field.typedBy])]++;
    this.dataChars += value.length;
    return value;
  }

  #drop(value: unknown, path: string, key: string): typeof NOTHING {
    if (value === null || value === undefined) return NOTHING;
    if (this.#isClosed) this.refused ??= unknownField(this.#numbered(path === "" ? key : `${path}.${headerSafe(key)}`));
    else {
      this.dropped ??= new Set();
      if (this.dropped.size === NAMES_MAX) return NOTHING;
      this.dropped.add(headerSafe(path === "" ? key : `${path.replaceAll(".*", "")}.${key}`));
    }
    return NOTHING;
  }

  /** The path with its stars replaced by the current list positions. */
  #numbered(path: string): string {
    const positions = this.#positions.values();
    return path.replace(/\*/g, () => String(positions.next().value));
  }

  /** Keeps the value, so that a type check that knows the field can give a better error. */
  #misplaced(value: unknown, path: string, what: string): unknown {
    this.refused ??= invalid(this.#numbered(path), what);
    return value;
  }

  #refuse(value: unknown, { refused }: Field, path: string): unknown {
    if (value === undefined || value === null) return NOTHING;
    if (refused?.neutral?.(value)) return value;
    const detail = refused?.why ?? "";
    this.refused ??= new GatewayError("unsupported_field", { param: this.#numbered(path), detail });
    return value;
  }
}

/** The known part of a body; a closed format refuses unknown fields instead of dropping them. */
export function keepKnown(body: Record<string, unknown>, table: Field, isClosed = false): KnownBody {
  const walk = new Walk(isClosed);
  const kept = walk.keep(body, table) as Record<string, unknown>;
  const { refused, unknown, parts, dataChars, jsonTokens } = walk;
  return {
    body: kept,
    dropped: walk.dropped === null ? NONE : [...walk.dropped],
    refused,
    unknown,
    parts,
    dataChars,
    jsonTokens,
  };
}
