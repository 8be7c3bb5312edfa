// The ledger's Lua, one script for each transition, and the time that goes with every call of one.
import { readFileSync } from "node:fs";
import type { Clock } from "../../../core/clock.ts";
import { libraryOf, type RedisLibrary } from "../../../platform/storage/redis-lua.ts";
import { guardClock } from "../model/clock-guard.ts";
import { argumentsLua } from "./arguments.ts";
import { linesLua } from "./lines.ts";

/** What the ledger needs of the connection to Redis. */
export interface LedgerLink {
  /** Runs a script; rejects with `ledger_unavailable` where the store cannot be reached or did not answer. */
  script(
    name: string,
    lua: string,
    library?: RedisLibrary,
  ): { run(keys: readonly string[], args: readonly string[]): Promise<unknown> };
  /** Runs a command that reads, or that may be sent twice. */
  call(command: string, ...args: readonly string[]): Promise<unknown>;
  /** Whether all that was written on the key's server before this call is on a replica; true where there are none. */
  waitForReplicas(key: string): Promise<boolean>;
  /** How long the server has been up, in milliseconds. */
  uptimeMs(): Promise<number>;
}

const luaOf = (name: string) => readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), "utf8");
const FILES = ["sums", "calls", "holds", "accounts", "leases", "archive"];
/** In this order: each part uses what stands before it. */
const SOURCE = [argumentsLua(), luaOf("base"), linesLua(), ...FILES.map(luaOf)].join("\n");

const TRANSITIONS = [
  ...([
    "reserve",
    "extend",
    "standing",
    "renew",
    "post",
    "void",
    "overdue",
    "first_end",
    "expire",
    "settle_orphan",
    "state",
  ] as const),
  ...(["open", "create_key", "write_account", "write_key", "delete_key", "credit", "note", "looked", "due"] as const),
  ...(["archivable", "trim", "archive_due", "archive_looked", "exporter", "told", "drop_told"] as const),
];
export type Transition = (typeof TRANSITIONS)[number];

/** Runs a transition on the key of an account; answers the flat list of strings that it makes. */
export type RunTransition = (name: Transition, key: string, args: readonly (string | number)[]) => Promise<string[]>;

/**
 * What ends a hold or moves postings out gives room back, and must be possible where there is none left; so must what keeps the holds of
 * running calls. A full server refuses only what is new.
 */
const ALSO_WHEN_FULL: readonly Transition[] = [
  ...(["note", "renew", "standing", "post", "void", "settle_orphan", "state"] as const),
  ...(["overdue", "first_end", "expire", "looked", "due"] as const),
  ...(["archivable", "trim", "archive_due", "archive_looked", "exporter"] as const),
];

const LIBRARY = libraryOf(SOURCE, TRANSITIONS, ALSO_WHEN_FULL);

function headOf(name: Transition): string {
  return ALSO_WHEN_FULL.includes(name) ? "#!lua flags=allow-oom\n" : "";
}

/** The definitions of the source, in their order: locals and transitions, each with the name that others know it by. */
const DEFINITIONS = SOURCE.replace(/^ *--.*\n/gm, "")
  .split(/^(?=local |function )/m)
  .map((text) => ({ text, name: /^(?:local function|local|function) ([\w.]+)/.exec(text)?.[1] ?? "" }));

/**
 * The script of one transition. Redis runs all of a script's text at each call, so it holds only what the transition needs:
 * what comes after is made of what comes before, and what nothing asks for is left out.
 */
export function scriptOf(name: Transition): string {
  let script = `return ops.${name}(KEYS, ARGV)\n`;
  for (const definition of DEFINITIONS.toReversed()) {
    const asked = new RegExp(`\\b${definition.name.replace(".", "\\.")}\\b`);
    if (asked.test(script)) script = `${definition.text}${script}`;
  }
  return `${headOf(name)}${script}`;
}

export function ledgerScripts(link: LedgerLink): RunTransition {
  const scripts = new Map(TRANSITIONS.map((name) => [name, link.script(name, scriptOf(name), LIBRARY)]));
  return async (name, key, args) => {
    const reply = await scripts.get(name)?.run([key], args.map(String));
    return (Array.isArray(reply) ? reply : []).map(String);
  };
}

/** What every transition is told of the time: ours as far as it can be trusted, and in tests the store's own. */
export interface TransitionTime {
  /** True while our clock has leapt and it is not known which time it is: no new hold may be placed. */
  readonly leapt: boolean;
  /** The first three arguments of a transition. */
  readonly args: readonly [gatewayMs: string, leapt: string, givenMs: string];
  readonly nowMs: number;
}

/** `given`: the clock stands in for the server's own. */
export function transitionClock(clock: Clock, given: boolean): () => TransitionTime {
  const guard = guardClock();
  return () => {
    const epochMs = Math.floor(clock.epochMs());
    const { nowMs, skewed } = guard(epochMs, clock.elapsedMs());
    return { leapt: skewed, args: [String(nowMs), skewed ? "1" : "0", given ? String(epochMs) : ""], nowMs };
  };
}
