// The shape of a vendor's answer without its content: each field's place and type, and the differences between two shapes.
import { createParser } from "eventsource-parser";
import { isEventStream } from "../../core/event-stream.ts";

/** JSON pointers, with `*` for every list item, and the types found there. The root is `""`. */
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

/** Undefined: the text is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The JSON values in a body: one per event of a stream, otherwise the whole body. Empty where there is no JSON. */
function valuesIn(body: Buffer, contentType: string): readonly unknown[] {
  const text = body.toString("utf8");
  const parts: string[] = isEventStream(contentType) ? [] : [text];
  // The last event may lack its blank line.
  if (isEventStream(contentType)) createParser({ onEvent: ({ data }) => parts.push(data) }).feed(`${text}\n\n`);
  return parts.map(jsonIn).filter((value) => value !== undefined);
}

/** The shape of a body; for a stream the merged shape of all its events. Empty where the body is not JSON. */
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

/** An empty list or a null field says nothing about what would be below it. */
function isOpen(at: string, shape: Shape): boolean {
  const types = shape[at];
  return types !== undefined && !types.includes("null") && !(types.includes("list") && shape[`${at}/*`] === undefined);
}

/** The differences between the actual shape and the expected one. Omits fields below a missing field; null matches every type. */
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
