// The ledger's Lua, one script per transition, and the time arguments of every call.
import { readFileSync } from "node:fs";
import type { Clock } from "../../../core/clock.ts";
import { libraryOf, type RedisLibrary } from "../../../platform/storage/redis-lua.ts";
import { guardClock } from "../model/clock-guard.ts";
import { ARGUMENTS, argumentsLua, argumentsOf, type Given, TIMELESS, type Transition } from "./arguments.ts";
import { linesLua } from "./lines.ts";

export interface LedgerLink {
  /** Runs a script. Rejects with `ledger_unavailable` where the store is unreachable or does not answer. */
  script(
    name: string,
    lua: string,
    library?: RedisLibrary,
  ): { run(keys: readonly string[], args: readonly string[]): Promise<unknown> };
  /** Runs a command that reads, or that is safe to repeat. */
  call(command: string, ...args: readonly string[]): Promise<unknown>;
  /** Whether a replica has all earlier writes of the key's server; true where there are no replicas. */
  waitForReplicas(key: string): Promise<boolean>;
  /** How long the server has been up, in milliseconds. */
  uptimeMs(): Promise<number>;
}

const luaOf = (name: string) => readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), "utf8");
const FILES = ["sums", "calls", "holds", "accounts", "leases", "archive"];
/** Each part uses only what stands before it. */
const SOURCE = [argumentsLua(), luaOf("base"), linesLua(), ...FILES.map(luaOf)].join("\n");

const TRANSITIONS = Object.keys(ARGUMENTS) as Transition[];

type Values = readonly (string | number)[];

/** Runs a transition on an account's key; returns its flat list of strings. */
export type RunTransition = <Name extends Transition>(
  name: Name,
  key: string,
  given: Given<Name>,
  more?: {
    /** The arguments after the named ones. */
    readonly rest?: Values;
    /** In place of the present time. */
    readonly time?: Values;
  },
) => Promise<string[]>;

/** Transitions that free room or keep running calls' holds alive must work on a full server. It refuses only new work. */
const ALSO_WHEN_FULL: readonly Transition[] = [
  ...(["note", "renew", "standing", "post", "void", "settle_orphan", "state"] as const),
  ...(["overdue", "first_end", "expire", "looked", "due"] as const),
  ...(["archivable", "trim", "archive_due", "archive_looked", "exporter"] as const),
];

const LIBRARY = libraryOf(SOURCE, TRANSITIONS, ALSO_WHEN_FULL);

function headOf(name: Transition): string {
  return ALSO_WHEN_FULL.includes(name) ? "#!lua flags=allow-oom\n" : "";
}

/** The definitions of the source in order: locals and transitions, by name. */
const DEFINITIONS = SOURCE.replace(/^ *--.*\n/gm, "")
  .split(/^(?=local |function )/m)
  .map((text) => ({ text, name: /^(?:local function|local|function) ([\w.]+)/.exec(text)?.[1] ?? "" }));

/** A transition's script, with only the definitions that it uses: Redis runs the whole text at every call. */
export function scriptOf(name: Transition): string {
  let script = `return ops.${name}(KEYS, ARGV)\n`;
  for (const definition of DEFINITIONS.toReversed()) {
    const asked = new RegExp(`\\b${definition.name.replace(".", "\\.")}\\b`);
    if (asked.test(script)) script = `${definition.text}${script}`;
  }
  return `${headOf(name)}${script}`;
}

/** The scripts, each with the time before its arguments if it needs one. */
export function ledgerScripts(link: LedgerLink, time: () => TransitionTime): RunTransition {
  const scripts = new Map(TRANSITIONS.map((name) => [name, link.script(name, scriptOf(name), LIBRARY)]));
  return async (name, key, given, more = {}) => {
    const head = TIMELESS.includes(name) ? [] : (more.time ?? time().args);
    const args = [...head, ...argumentsOf(name, given), ...(more.rest ?? [])];
    const reply = await scripts.get(name)?.run([key], args.map(String));
    return (Array.isArray(reply) ? reply : []).map(String);
  };
}

/** The time arguments of a transition: our clock as far as it is trusted, and in tests the store's own. */
export interface TransitionTime {
  /** True while our clock has leapt and the correct time is unknown; no new holds. */
  readonly leapt: boolean;
  /** The first three arguments of a transition. */
  readonly args: readonly [gatewayMs: string, leapt: string, givenMs: string];
  readonly nowMs: number;
}

/** `given`: the clock replaces the server's own. */
export function transitionClock(clock: Clock, given: boolean): () => TransitionTime {
  const guard = guardClock();
  return () => {
    const epochMs = Math.floor(clock.epochMs());
    const { nowMs, skewed } = guard(epochMs, clock.elapsedMs());
    return { leapt: skewed, args: [String(nowMs), skewed ? "1" : "0", given ? String(epochMs) : ""], nowMs };
  };
}
