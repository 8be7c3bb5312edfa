// Finds environment variables that are probably misspelled: set, never read, but close to one that is read.
import { distance } from "../core/edit-distance.ts";
import { eachOf, type Steps } from "../core/slices.ts";
import { envName } from "./configure.ts";
import type { AdapterSpec } from "./spec.ts";
import { allVariablesOf, keyVariablesOf } from "./variables.ts";

export interface NearVariable {
  readonly set: string;
  readonly meant: string;
}

/** Suffixes that other programs use for a vendor's key or address, after the vendor's name. */
const KEY_ENDS = /^(API_?)?(KEYS?|TOKEN|SECRET|SECRET_KEY|ACCESS_KEY)$/;
const URL_ENDS = /^((API_)?(BASE|URL|URI|HOST|ENDPOINT)|BASE_?UR[IL]|API_BASE_URL|ORIGIN)$/;

/** The minimum length of a name for one wrong letter to count as a typo, and for two. */
const ONE_WRONG_LENGTH = 10;
const TWO_WRONG_LENGTH = 15;

function lettersOf(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]/g, "");
}

/** The variable meant by a name with a vendor's prefix and another program's suffix. */
function byEnd(name: string, adapters: ReadonlyMap<string, AdapterSpec>): string | null {
  for (const [id, spec] of adapters) {
    const start = envName(id, "");
    if (!name.startsWith(start)) continue;
    const end = name.slice(start.length);
    if (KEY_ENDS.test(end)) return keyVariablesOf(id, spec)[0] ?? null;
    if (URL_ENDS.test(end)) return envName(id, "BASE_URL");
  }
  return null;
}

/** Names that differ at both ends are not reported: this check alone rules out most pairs. */
function beginsOrEndsAs(a: string, b: string): boolean {
  return a.slice(0, 2) === b.slice(0, 2) || a.slice(-3) === b.slice(-3);
}

function byLetters(name: string, known: ReadonlyMap<string, string>): string | null {
  const letters = lettersOf(name);
  const same = known.get(letters);
  if (same !== undefined) return same;
  if (letters.length < ONE_WRONG_LENGTH) return null;
  const allowed = letters.length < TWO_WRONG_LENGTH ? 1 : 2;
  let nearest: { readonly name: string; readonly wrong: number } | null = null;
  for (const [other, full] of known) {
    if (Math.abs(other.length - letters.length) > allowed || !beginsOrEndsAs(letters, other)) continue;
    const wrong = distance(letters, other);
    if (wrong <= allowed && wrong < (nearest?.wrong ?? allowed + 1)) nearest = { name: full, wrong };
  }
  return nearest?.name ?? null;
}

/** Yields set variables that are not read but resemble one that is. If that one is set too, nothing is reported. */
export function* nearVariables(
  set: readonly string[],
  settings: readonly string[],
  adapters: ReadonlyMap<string, AdapterSpec>,
): Steps<readonly NearVariable[]> {
  const ofAdapters = yield* eachOf(adapters, ([id, spec]) => allVariablesOf(id, spec));
  const read = new Set([...settings, ...ofAdapters.flat()]);
  const known = new Map(yield* eachOf(read, (name) => [lettersOf(name), name] as const));
  const isSet = new Set(set);
  const told = yield* eachOf(set, (name) => {
    const meant = read.has(name) ? null : (byEnd(name.toUpperCase(), adapters) ?? byLetters(name, known));
    return { set: name, meant };
  });
  return told.flatMap(({ set: name, meant }) => (meant === null || isSet.has(meant) ? [] : [{ set: name, meant }]));
}
