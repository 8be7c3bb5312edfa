// What is compared of two requests, ours and an SDK's: method, host, path, how the key is shown, query and body, but for what is known to differ.
import { expect } from "vitest";
import type { Recorded } from "./recorder.ts";

/** What every adapter and every SDK is given as its key. */
export const KEY = "key-of-ours";

/** What is compared of a request. */
export interface Told {
  readonly method: string;
  readonly at: string;
  /** The header that has the key, and how. */
  readonly auth: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What is known to differ, with the reason: fields that one side alone sends, and how each says where it goes and who asks. */
export interface Apart {
  readonly ours?: readonly string[];
  readonly theirs?: readonly string[];
  readonly at?: readonly [ours: string, theirs: string];
  readonly auth?: readonly [ours: string, theirs: string];
  readonly why: string;
}

/** A name and a password as they were given; of a signature whose it is, and for what: the rest of it follows from headers that each side has. */
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

/** Holds what we send against what an SDK sends, but for what is known to differ, which must differ. */
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
  // A difference that is named and is none any more is to go.
  const has = (one: Told, name: string) => Object.hasOwn({ ...one.query, ...(one.body as object) }, name);
  expect((apart?.ours ?? []).filter((name) => !has(ours, name))).toEqual([]);
  expect((apart?.theirs ?? []).filter((name) => !has(theirs, name))).toEqual([]);
  expect(apart?.at?.[0] === undefined || apart.at[0] !== apart.at[1]).toBe(true);
}
