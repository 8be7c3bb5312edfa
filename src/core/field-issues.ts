// Turns schema errors into issues per field, in words that say what would be right. All request bodies are read with it.
import type { z } from "zod";
import { ERRORS, type ErrorCode } from "./errors.ts";

export interface FieldIssue {
  readonly path: string;
  readonly message: string;
  /** Replaces `bad_request`: `bad_url` for a URL, or the code of a schema's own check. */
  readonly code?: ErrorCode;
}

export const URL_WORDS = "must be an http or https address such as https://example.com/page";

export const INNER_URL_WORDS = "must not lead to a private address";

/** Marks a parameter with an address that we open ourselves: an unusable one is `bad_url`, before any other issue. */
export const OPENED_URL = { $comment: `${URL_WORDS}; ${INNER_URL_WORDS}` } as const;

/** Bounds the list: a long list of wrong items has an issue for each. */
const ISSUES_MAX = 100;
const NAMES_SHOWN_MAX = 30;
/** For issues without words of their own. */
const NOT_VALID = "is not valid";
const PATTERN_CHARS_MAX = 200;

const KINDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

const FORMATS: Readonly<Record<string, string>> = {
  url: URL_WORDS,
  date: "must be a date that exists, as YYYY-MM-DD",
  datetime: "must be a date and time such as 2026-01-31T12:00:00Z",
  base64: "must be base64",
  email: "must be a mail address",
};

const UNITS: Readonly<Record<string, string>> = { string: "character", array: "item" };

type Of<Code extends z.core.$ZodIssue["code"]> = Extract<z.core.$ZodIssue, { readonly code: Code }>;

function kindOf(expected: string): string {
  return KINDS[expected] ?? expected;
}

function counted(count: number | bigint, one: string): string {
  return `${count} ${one}${Number(count) === 1 ? "" : "s"}`;
}

function sizeWords(issue: Of<"too_small"> | Of<"too_big">): string {
  const isLeast = issue.code === "too_small";
  const bound = isLeast ? issue.minimum : issue.maximum;
  const unit = UNITS[issue.origin];
  if (unit === undefined) {
    const side = isLeast ? "at least" : "at most";
    return `must be ${issue.inclusive === false ? (isLeast ? "more than" : "less than") : side} ${bound}`;
  }
  if (isLeast && Number(bound) === 1) return "must not be empty";
  return `must have ${issue.exact === true ? "exactly" : isLeast ? "at least" : "at most"} ${counted(bound, unit)}`;
}

function formatWords({ format, pattern }: Of<"invalid_format">): string {
  const known = FORMATS[format];
  if (known !== undefined) return known;
  return format === "regex" ? `must match ${String(pattern).slice(0, PATTERN_CHARS_MAX)}` : `must be a valid ${format}`;
}

/** The issue of a union: what the value lacks of the nearest alternative, else the schema's own words, else what all alternatives are. */
function unionWords({ errors: branches, message: own }: Of<"invalid_union">): { path: PropertyKey[]; message: string } {
  const ofItsKind = branches.filter(([first]) => first?.code !== "invalid_type" || first.path.length > 0);
  if (ofItsKind.length === 0 && own !== NOT_VALID) return { path: [], message: own };
  const like = ofItsKind.length === 0 ? branches : ofItsKind;
  const [nearest] = like.toSorted((a, b) => a.length - b.length)[0] ?? [];
  if (nearest !== undefined && (like.length === 1 || like.some(([first]) => first?.path.length !== 0))) {
    return nested(nearest);
  }
  const [first = NOT_VALID, ...more] = new Set(like.map(([only]) => only?.message ?? ""));
  const [head] = /^(is missing, )?must be /.exec(first) ?? [""];
  if (head === "" || !more.every((words) => words.startsWith(head))) return { path: [], message: first };
  return { path: [], message: [first, ...more.map((words) => words.slice(head.length))].join(" or ") };
}

function nested(issue: z.core.$ZodIssue): { path: PropertyKey[]; message: string } {
  if (issue.code !== "invalid_union") return { path: issue.path, message: issue.message };
  const { path, message } = unionWords(issue);
  return { path: [...issue.path, ...path], message };
}

/** A schema for whole numbers first checks for a number. */
function isWhole({ inst }: z.core.$ZodRawIssue): boolean {
  const { format } = (inst?._zod.def ?? {}) as { readonly format?: string };
  return format === "safeint";
}

/** The words for an issue whose schema has none. */
function wordsFor(raw: z.core.$ZodRawIssue): string {
  const issue = raw as z.core.$ZodIssue;
  switch (issue.code) {
    case "invalid_type": {
      const right = `must be ${kindOf(isWhole(raw) ? "int" : issue.expected)}`;
      return raw.input === undefined ? `is missing, ${right}` : right;
    }
    case "too_small":
    case "too_big":
      return sizeWords(issue);
    case "invalid_format":
      return formatWords(issue);
    case "invalid_value": {
      const right = `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(String).join(", ")}`;
      return raw.input === undefined ? `is missing, ${right}` : right;
    }
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_key":
      return "has a name that cannot be";
    default:
      return NOT_VALID;
  }
}

function isCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERRORS, code);
}

/** A schema's own check names its code in `params`: `{code: "bad_url"}`. */
function codeOf(issue: z.core.$ZodIssue): ErrorCode | undefined {
  if (issue.code === "invalid_union") return issue.errors.flat().map(codeOf).find(isCode);
  if (issue.code === "invalid_format" && issue.format === "url") return "bad_url";
  const params = "params" in issue ? issue.params : undefined;
  if (params?.format === "url") return "bad_url";
  return isCode(params?.code) ? params.code : undefined;
}

function issuesIn(issue: z.core.$ZodIssue, known: readonly string[]): readonly FieldIssue[] {
  const { path, message } = nested(issue);
  const name = path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const names = known.slice(0, NAMES_SHOWN_MAX).join(", ");
    const there = issue.path.length > 0 || names === "" ? "" : ` (there ${known.length === 1 ? "is" : "are"} ${names})`;
    return issue.keys
      .slice(0, ISSUES_MAX)
      .map((key) => ({
        path: [name, key].filter((part) => part !== "").join("."),
        message: `is no field here${there}`,
      }));
  }
  const code = codeOf(issue);
  return [code === undefined ? { path: name, message } : { path: name, message, code }];
}

/** The names of an object's fields, for a caller who mistyped one. */
function fieldsOf(schema: z.ZodType): readonly string[] {
  const { shape } = schema as { readonly shape?: object };
  return shape === undefined ? [] : Object.keys(shape);
}

const TOLD = { error: wordsFor };

/** Parses a value with the schema, or returns its issues. */
export function readFields<T>(schema: z.ZodType<T>, value: unknown): { readonly data: T } | readonly FieldIssue[] {
  const read = schema.safeParse(value, TOLD);
  if (read.success) return read;
  const known = fieldsOf(schema);
  return read.error.issues.slice(0, ISSUES_MAX).flatMap((issue) => issuesIn(issue, known));
}
