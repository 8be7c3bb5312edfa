// Field tables of formats: which fields a body may have, their types and bounds, which of them the model reads, and which change the price.
import type { FieldIssue } from "../../core/field-issues.ts";

/** The kinds of prompt parts other than text. */
export type MediaKind = "image" | "audio" | "file";

type Kind = "string" | "number" | "boolean" | "list" | "object";

/** What a value must be. Null and absent values pass unless `required`. */
export interface FieldType {
  /** Empty: any kind. */
  readonly kinds: readonly Kind[];
  readonly required?: true;
  /** Bounds on a number or a list's length; on a string's length only where no other kind is allowed. */
  readonly min?: number;
  readonly max?: number;
  readonly isWhole?: true;
  /** The only values allowed. */
  readonly oneOf?: readonly string[];
  /** The error for a wrong kind or value, where the default is not clear enough. */
  readonly message?: string;
  /** A further check on values of the right kind. */
  readonly check?: (value: unknown) => readonly FieldIssue[];
}

/** One field of a table. Any field may hold a bare value; objects and lists are allowed only where the table says so. */
export interface FieldSpec {
  readonly type?: FieldType;
  /** The model reads this field. All others only control the call. */
  readonly read?: true;
  /** For the gateway: never forwarded, never reported as dropped. */
  readonly ours?: true;
  /** Arbitrary JSON, such as schemas, arguments and metadata. */
  readonly free?: true;
  /** Vendors serialize this object or list into the prompt, so its keys and brackets count. */
  readonly asJson?: true;
  /** Some vendors embed this string in JSON, or parse it as JSON and reserialize it. */
  readonly quoted?: true;
  /** Encoded media or its URL: not text, but bounded by its kind. */
  readonly media?: MediaKind;
  /** The sibling field with the media type, for encoded data that does not include its own. */
  readonly typedBy?: string;
  /** Changes the price or cannot be served: refused unless null or neutral. */
  readonly refused?: { readonly why: string; readonly neutral?: (value: unknown) => boolean };
  readonly fields?: Fields;
  readonly items?: FieldSpec;
  /** The discriminator field of an object. */
  readonly by?: {
    readonly field: string;
    readonly cases: Fields;
    /** For an object without the discriminator; absent: the discriminator is required. */
    readonly missing?: FieldSpec;
    /** For any other value; `unknown`: dropped, and the plan decides. */
    readonly otherwise: FieldSpec | "unknown";
  };
}

export type Fields = Readonly<Record<string, FieldSpec>>;

/** Controls the call; no model reads it. */
export const setting: FieldSpec = {};
export const text: FieldSpec = { read: true };
/** The caller's JSON, which the model reads. */
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

/** The field, or text in its place; `message` is the error for anything else. */
export function textOr(spec: FieldSpec, message: string): FieldSpec {
  return { ...spec, type: { ...spec.type, kinds: ["string", ...(spec.type?.kinds ?? [])], message } };
}

export function required(spec: FieldSpec): FieldSpec {
  return { ...spec, type: { kinds: [], ...spec.type, required: true } };
}

/** Changes the price or is not available; `neutral` accepts values that have no effect. */
export function refused(why: string, neutral?: (value: unknown) => boolean): FieldSpec {
  return { refused: neutral === undefined ? { why } : { why, neutral } };
}

export function among(...values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}

export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

export function each(spec: FieldSpec, ...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, spec]));
}

/** An object with the discriminator `field`, which belongs to every case. */
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

/** A compiled field. Inner fields are in maps, because callers choose the names, and a lookup of `constructor` must find nothing. */
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
  /** Such as `messages.*.content`, with a star for each list. */
  readonly path: string;
  readonly fields: ReadonlyMap<string, Field> | null;
  readonly items: Field | null;
  readonly by: {
    readonly field: string;
    readonly cases: ReadonlyMap<string, Field>;
    readonly missing: Field | null;
    readonly otherwise: Field | "unknown";
  } | null;
  /** The inner fields that have a type at or below them, in table order. */
  readonly typed: readonly { readonly name: string; readonly field: Field }[];
  /** True if it has a type, or something below it has. */
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

/** The field table of a body validated by a schema; `more` adds what the schema cannot express. */
export function tableOf(schema: { readonly shape: object }, more: Fields = {}): Field {
  return compileTable(fields({ ...each(setting, ...Object.keys(schema.shape)), max_cost_cents: ours, ...more }));
}

/** The field that describes an object, chosen by its discriminator if it has one. */
export function fieldFor(object: Readonly<Record<string, unknown>>, field: Field): Field | "unknown" {
  const { by } = field;
  if (by === null) return field;
  const word = object[by.field];
  if ((word === undefined || word === null) && by.missing !== null) return by.missing;
  return (typeof word === "string" ? by.cases.get(word) : undefined) ?? by.otherwise;
}
