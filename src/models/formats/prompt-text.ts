// Extracts the text of a body: everything that is sent, for a bound; or what the model reads, for an estimate.
import { type Field, fieldFor } from "./field-table.ts";
import type { KnownBody } from "./known-fields.ts";
import { readMedia } from "./media.ts";

export interface PromptShape extends Pick<KnownBody, "parts" | "dataChars" | "jsonTokens"> {
  readonly messages: number;
  /** The prompt has tools or a response format. */
  readonly hasSchemas: boolean;
}

export function shapeOf({ body, parts, dataChars, jsonTokens }: KnownBody): PromptShape {
  const { messages, tools, response_format: format } = body;
  return {
    parts,
    dataChars,
    jsonTokens,
    messages: Array.isArray(messages) ? messages.length : 0,
    hasSchemas: (Array.isArray(tools) && tools.length > 0) || (format !== undefined && format !== null),
  };
}

function isData(value: string, field: Field): boolean {
  return field.media !== null && (field.typedBy !== null || readMedia(value, field.media).isData);
}

/** Collects every string, number and key. Includes unknown fields, so new ones cannot be missed. */
function addSent(value: unknown, field: Field | null, texts: string[]): void {
  if (typeof value === "string") {
    if (field === null || !isData(value, field)) texts.push(field?.quoted ? JSON.stringify(value) : value);
  } else if (typeof value !== "object" || value === null) {
    texts.push(String(value));
  } else if (field === null || field.free || field.asJson) {
    texts.push(JSON.stringify(value));
  } else if (Array.isArray(value)) {
    for (const inner of value) addSent(inner, field.items, texts);
  } else {
    const object = value as Record<string, unknown>;
    const own = fieldFor(object, field);
    if (own === "unknown") texts.push(JSON.stringify(object));
    else for (const key of Object.keys(object)) addSent(object[key], own.fields?.get(key) ?? null, texts);
  }
}

function addRead(value: unknown, field: Field, texts: string[]): void {
  if (typeof value === "string") {
    if (field.read) texts.push(value);
  } else if (typeof value !== "object" || value === null) {
    return;
  } else if (field.read && (field.free || field.asJson)) {
    texts.push(JSON.stringify(value));
  } else if (Array.isArray(value)) {
    if (field.items !== null) for (const inner of value) addRead(inner, field.items, texts);
  } else {
    const object = value as Record<string, unknown>;
    const own = fieldFor(object, field);
    if (own !== "unknown" && own.read && own.free) texts.push(JSON.stringify(object));
    if (own === "unknown" || own.fields === null) return;
    for (const [key, inner] of own.fields) if (object[key] !== undefined) addRead(object[key], inner, texts);
  }
}

/** All text of a body except encoded media. */
export function sentText(body: Readonly<Record<string, unknown>>, allowed: Field): string {
  const texts: string[] = [];
  addSent(body, allowed, texts);
  return texts.join("\n");
}

/** The text that the model reads, without media. */
export function readText(body: Readonly<Record<string, unknown>>, allowed: Field): string {
  const texts: string[] = [];
  addRead(body, allowed, texts);
  return texts.join("\n");
}
