// Compares two requests, ours and an SDK's: method, host, path, authentication, query and body, except for known differences.
import { expect } from "vitest";
import type { Recorded } from "./recorder.ts";

/** The key of every adapter and every SDK. */
export const KEY = "key-of-ours";

/** The compared parts of a request. */
export interface Told {
  readonly method: string;
  readonly at: string;
  /** The header with the key, and its form. */
  readonly auth: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Known differences, with the reason: fields that only one side sends, and how each side gives its address and its identity. */
export interface Apart {
  readonly ours?: readonly string[];
  readonly theirs?: readonly string[];
  readonly at?: readonly [ours: string, theirs: string];
  readonly auth?: readonly [ours: string, theirs: string];
  readonly why: string;
}

/** A name and password in plain text; for a signature its owner and scope, as the rest follows from headers that each side has. */
function opened(header: unknown): string {
  return String(header)
    .replace(/^Basic (.+)$/, (_, pair: string) => `Basic ${Buffer.from(pair, "base64")}`)
    .replace(/^(AWS4-HMAC-SHA256 Credential=[^,]+),.*$/, "$1");
}

function authOf(headers: Readonly<Record<string, unknown>>, query: Readonly<Record<string, string>>): string {
  const found = Object.entries(headers).find(([, value]) => opened(value).includes(KEY));
  if (found !== undefined) return `${found[0]}: ${opened(found[1])}`.toLowerCase();
  return Object.entries(query).find(([, value]) => value === KEY)?.[0] ?? "none";
}

export function toldOf({
  method,
  host,
  path,
  query,
  headers,
  body,
}: Omit<Recorded, "headers"> & { headers: Readonly<Record<string, unknown>> }): Told {
  return { method, at: host + path, auth: authOf(headers, query), query, body };
}

function without(value: unknown, names: readonly string[] = []): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

/** Compares our request with an SDK's; known differences must actually differ. */
export function same(ours: Told, theirs: Told, apart: Apart | undefined): void {
  const plain = (one: Told, names: readonly string[] = []) => ({
    method: one.method,
    query: without(one.query, names),
    body: without(one.body, names) ?? {},
  });
  expect(plain(ours, apart?.ours)).toEqual(plain(theirs, apart?.theirs));
  expect([ours.at, theirs.at]).toEqual(apart?.at ?? [theirs.at, theirs.at]);
  expect([ours.auth, theirs.auth]).toEqual(apart?.auth ?? [theirs.auth, theirs.auth]);
  expect(theirs.auth).not.toBe("none");
  // A listed difference that no longer exists must be removed.
  const has = (one: Told, name: string) => Object.hasOwn({ ...one.query, ...(one.body as object) }, name);
  expect((apart?.ours ?? []).filter((name) => !has(ours, name))).toEqual([]);
  expect((apart?.theirs ?? []).filter((name) => !has(theirs, name))).toEqual([]);
  expect(apart?.at?.[0] === undefined || apart.at[0] !== apart.at[1]).toBe(true);
}
