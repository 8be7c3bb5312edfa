// What a vendor's answer looks like without what it says: each field's place and type, and how two such shapes differ.
import { isEventStream } from "../../core/event-stream.ts";

/** JSON pointers, with `*` for every item of a list, and the types that stood there. The root is `""`. */
export type Shape = Readonly<Record<string, readonly string[]>>;

const DEPTH_MAX = 32;

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value;
}

function note(value: unknown, at: string, types: Map<string, Set<string>>): void {
  const known = types.get(at) ?? new Set();
  types.set(at, known.add(typeOf(value)));
  if (at.split("/").length > DEPTH_MAX) return;
  if (Array.isArray(value)) for (const item of value) note(item, `${at}/*`, types);
  else if (typeof value === "object" && value !== null)
    for (const [name, member] of Object.entries(value)) {
      note(member, `${at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, types);
    }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The values in a body: of a stream of events one for each that is JSON, else the body's own. Empty where it is no JSON. */
function valuesIn(body: Buffer, contentType: string): readonly unknown[] {
  const text = body.toString("utf8");
  const parts = isEventStream(contentType)
    ? text.split(/\r\n|\n|\r/).flatMap((line) => (line.startsWith("data:") ? [line.slice("data:".length)] : []))
    : [text];
  return parts.map(jsonIn).filter((value) => value !== undefined);
}

/** The shape of a body; of a stream the shapes of all its events in one. Empty where the body is no JSON. */
export function shapeOf(body: Buffer, contentType: string): Shape {
  const types = new Map<string, Set<string>>();
  for (const value of valuesIn(body, contentType)) note(value, "", types);
  return Object.fromEntries([...types].map(([at, some]) => [at, [...some].sort()]));
}

export interface ShapeDifference {
  readonly at: string;
  readonly difference: "missing" | "other type" | "new";
  readonly expected: readonly string[];
  readonly came: readonly string[];
}

function parentOf(at: string): string {
  return at.slice(0, at.lastIndexOf("/"));
}

/** A list that came empty, or a field that came as null, says nothing of what is below it. */
function isOpen(at: string, shape: Shape): boolean {
  const types = shape[at];
  return types !== undefined && !types.includes("null") && !(types.includes("list") && shape[`${at}/*`] === undefined);
}

/**
 * How the shape that came differs from the one that is expected. Of a field that is missing those below it are not told, and
 * null agrees with every type.
 */
export function shapeDifferences(expected: Shape, came: Shape): readonly ShapeDifference[] {
  const gone = Object.entries(expected).flatMap(([at, types]): ShapeDifference[] => {
    const found = came[at];
    if (found === undefined) {
      const told = at === "" || isOpen(parentOf(at), came);
      return told ? [{ at, difference: "missing", expected: types, came: [] }] : [];
    }
    const agrees = [...found, ...types].includes("null") || found.some((type) => types.includes(type));
    return agrees ? [] : [{ at, difference: "other type", expected: types, came: found }];
  });
  const added = Object.entries(came).flatMap(([at, types]): ShapeDifference[] => {
    const isNew = expected[at] === undefined && at !== "" && isOpen(parentOf(at), expected);
    return isNew ? [{ at, difference: "new", expected: [], came: types }] : [];
  });
  return [...gone, ...added];
}
