// The table of a format's fields: which fields a body may have, their types and bounds, what the model reads, what changes the price.
import type { FieldIssue } from "../../core/field-issues.ts";

/** What a part of a prompt is, beside text. */
export type MediaKind = "image" | "audio" | "file";

type Kind = "string" | "number" | "boolean" | "list" | "object";

/** What a value must be. Null and absent values pass unless `required`. */
export interface FieldType {
  /** Empty: any kind. */
  readonly kinds: readonly Kind[];
  readonly required?: true;
  /** Bounds of a number, or of the length of a list; of text only where nothing but text may stand. */
  readonly min?: number;
  readonly max?: number;
  readonly isWhole?: true;
  /** The only values allowed. */
  readonly oneOf?: readonly string[];
  /** The error for a wrong kind or value, where the default is not clear enough. */
  readonly message?: string;
  /** A further check of a value of the right kind. */
  readonly check?: (value: unknown) => readonly FieldIssue[];
}

/** One field of a table. Any field may hold a bare value; objects and lists are allowed only where the table says so. */
export interface FieldSpec {
  readonly type?: FieldType;
  /** The model reads it. All other fields only steer the call. */
  readonly read?: true;
  /** Meant for the gateway: never sent on, never reported as dropped. */
  readonly ours?: true;
  /** Anything may stand below it, such as schemas, arguments and metadata. */
  readonly free?: true;
  /** Vendors write this object or list as JSON into the prompt, so its keys and brackets count. */
  readonly asJson?: true;
  /** Some vendors write this string inside JSON, or parse it as JSON and write it anew. */
  readonly quoted?: true;
  /** Encoded media or an address of it: not text, but bounded by its kind. */
  readonly media?: MediaKind;
  /** The sibling field with the media type of encoded data that does not name its own. */
  readonly typedBy?: string;
  /** It changes the price or cannot be served: refused unless null or neutral. */
  readonly refused?: { readonly why: string; readonly neutral?: (value: unknown) => boolean };
  readonly fields?: Fields;
  readonly items?: FieldSpec;
  /** The fields of an object depend on the word in one of them. */
  readonly by?: {
    readonly field: string;
    readonly cases: Fields;
    /** What an object without the word is; absent: the word is required. */
    readonly missing?: FieldSpec;
    /** What any other word means; `unknown`: dropped, and left to the plan to judge. */
    readonly otherwise: FieldSpec | "unknown";
  };
}

export type Fields = Readonly<Record<string, FieldSpec>>;

/** Steers the call; no model reads it. */
export const setting: FieldSpec = {};
export const text: FieldSpec = { read: true };
/** JSON of the caller's that the model reads. */
export const json: FieldSpec = { read: true, free: true, quoted: true };
/** Text that some formats turn into an object, or into a string inside JSON. */
export const quoted: FieldSpec = { read: true, quoted: true };
export const ours: FieldSpec = { ours: true };
export const free: FieldSpec = { free: true };

export const boolean: FieldSpec = { type: { kinds: ["boolean"] } };

export function string(min?: number, max?: number): FieldSpec {
  return { type: { kinds: ["string"], min, max } as FieldType };
}

export function number(min?: number, max?: number): FieldSpec {
  return { type: { kinds: ["number"], min, max } as FieldType };
}

export function whole(min?: number, max?: number): FieldSpec {
  return { type: { kinds: ["number"], isWhole: true, min, max } as FieldType };
}

export function oneOf(...words: readonly string[]): FieldSpec {
  return { type: { kinds: [], oneOf: words } };
}

/** A list whose items are never null. */
export function list(items: FieldSpec, max?: number, min?: number): FieldSpec {
  return { type: { kinds: ["list"], min, max } as FieldType, items: required(items) };
}

export const anyObject: FieldSpec = { type: { kinds: ["object"] } };

export function object(inner: Fields): FieldSpec {
  return { ...anyObject, fields: inner };
}

/** An object whose type is not checked: a bare value may stand in its place. */
export function fields(inner: Fields): FieldSpec {
  return { fields: inner };
}

/** The field, or text in its place; `message` says what it must be. */
export function textOr(spec: FieldSpec, message: string): FieldSpec {
  return { ...spec, type: { ...spec.type, kinds: ["string", ...(spec.type?.kinds ?? [])], message } };
}

export function required(spec: FieldSpec): FieldSpec {
  return { ...spec, type: { kinds: [], ...spec.type, required: true } };
}

/** It changes the price or cannot be had; `neutral` accepts the values that ask for nothing of the kind. */
export function refused(why: string, neutral?: (value: unknown) => boolean): FieldSpec {
  return { refused: neutral === undefined ? { why } : { why, neutral } };
}

export function among(...values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}

export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** The same spec for several fields. */
export function each(spec: FieldSpec, ...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, spec]));
}

/** An object whose fields depend on the word in `field`, which every case may have. */
export function cases(
  field: string,
  of: Fields,
  how: { readonly missing?: FieldSpec; readonly otherwise?: FieldSpec | "unknown" } = {},
): FieldSpec {
  const withWord = Object.entries(of).map(([word, spec]) => [
    word,
    spec.fields === undefined ? spec : { ...spec, fields: { [field]: setting, ...spec.fields } },
  ]);
  return { by: { field, cases: Object.fromEntries(withWord), otherwise: "unknown", ...how } };
}

const PLAIN = {
  type: null,
  read: false,
  ours: false,
  free: false,
  asJson: false,
  quoted: false,
  media: null,
  typedBy: null,
  refused: null,
} as const;

/** A compiled field. Inner fields are in maps, because callers choose the names and `constructor` must find nothing. */
export interface Field {
  readonly type: FieldType | null;
  readonly read: boolean;
  readonly ours: boolean;
  readonly free: boolean;
  readonly asJson: boolean;
  readonly quoted: boolean;
  readonly media: MediaKind | null;
  readonly typedBy: string | null;
  readonly refused: NonNullable<FieldSpec["refused"]> | null;
  /** Such as `messages.*.content`, with a star for every list. */
  readonly path: string;
  readonly fields: ReadonlyMap<string, Field> | null;
  readonly items: Field | null;
  readonly by: {
    readonly field: string;
    readonly cases: ReadonlyMap<string, Field>;
    readonly missing: Field | null;
    readonly otherwise: Field | "unknown";
  } | null;
  /** The inner fields with a type on or below them, in the order of the table. */
  readonly typed: readonly { readonly name: string; readonly field: Field }[];
  /** It has a type, or something below it has. */
  readonly hasTypes: boolean;
}

function compileAll(specs: Fields, pathOf: (name: string) => string): ReadonlyMap<string, Field> {
  return new Map(Object.entries(specs).map(([name, spec]) => [name, compileTable(spec, pathOf(name))]));
}

export function compileTable({ fields: inner, items, by, ...own }: FieldSpec, path = ""): Field {
  const below = (name: string) => (path === "" ? name : `${path}.${name}`);
  const compiled = {
    fields: inner === undefined ? null : compileAll(inner, below),
    items: items === undefined ? null : compileTable(items, below("*")),
    by:
      by === undefined
        ? null
        : {
            field: by.field,
            cases: compileAll(by.cases, () => path),
            missing: by.missing === undefined ? null : compileTable(by.missing, path),
            otherwise: by.otherwise === "unknown" ? by.otherwise : compileTable(by.otherwise, path),
          },
  };
  const inside = [...(compiled.fields ?? [])].map(([name, field]) => ({ name, field }));
  const typed = inside.filter(({ field }) => field.hasTypes);
  const cased = compiled.by === null ? [] : [...compiled.by.cases.values(), compiled.by.missing, compiled.by.otherwise];
  const isTypedBelow = [compiled.items, ...cased].some((field) => typeof field === "object" && field?.hasTypes);
  const hasTypes = own.type !== undefined || typed.length > 0 || isTypedBelow;
  return { ...PLAIN, ...own, path, ...compiled, typed, hasTypes };
}

/** The table of a body whose types a schema checks; `more` is what the schema does not say of its fields. */
export function tableOf(schema: { readonly shape: object }, more: Fields = {}): Field {
  return compileTable(fields({ ...each(setting, ...Object.keys(schema.shape)), max_cost_cents: ours, ...more }));
}

/** The field that describes an object: by the word in one of its fields, where that decides. */
export function fieldFor(object: Readonly<Record<string, unknown>>, field: Field): Field | "unknown" {
  const { by } = field;
  if (by === null) return field;
  const word = object[by.field];
  if ((word === undefined || word === null) && by.missing !== null) return by.missing;
  return (typeof word === "string" ? by.cases.get(word) : undefined) ?? by.otherwise;
}
