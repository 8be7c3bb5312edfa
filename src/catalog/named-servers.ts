// Lets the operator name any number of servers of one kind: `<ID>_<NAME>_BASE_URL` creates the adapter `<id>-<name>`.

import { type AdapterEnv, envName } from "./configure.ts";
import type { AdapterSpec } from "./spec.ts";

const NAME = /^[A-Z0-9]+(_[A-Z0-9]+)*$/;
const BASE_URL = "_BASE_URL";

/** The kind that the variable's name begins with; if both `custom` and `custom-messages` match, the longer one. */
function kindOf(variable: string, adapters: ReadonlyMap<string, AdapterSpec>): readonly [string, AdapterSpec] | null {
  const kinds = [...adapters].filter(([id, { several }]) => several === true && variable.startsWith(envName(id, "")));
  return kinds.reduce<(typeof kinds)[number] | null>(
    (longest, kind) => (longest === null || kind[0].length > longest[0].length ? kind : longest),
    null,
  );
}

/** The adapters, including those that the environment adds. A name that an adapter already has adds none. */
export function withNamedServers(
  adapters: ReadonlyMap<string, AdapterSpec>,
  env: AdapterEnv,
): ReadonlyMap<string, AdapterSpec> {
  const all = new Map(adapters);
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.endsWith(BASE_URL) || !value?.trim()) continue;
    const kind = kindOf(variable, adapters);
    if (kind === null) continue;
    const [kindId, spec] = kind;
    const name = variable.slice(envName(kindId, "").length, -BASE_URL.length);
    const id = `${kindId}-${name.toLowerCase().replaceAll("_", "-")}`;
    if (NAME.test(name) && !adapters.has(id)) all.set(id, { ...spec, name: `${spec.name} ${name.toLowerCase()}` });
  }
  return all;
}
