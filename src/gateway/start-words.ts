// What the gateway prints once it listens, and what is configured. At most 80 columns.
import type { InstalledProvider } from "../catalog/installed.ts";
import { REMOVED_SETTINGS } from "../platform/config.ts";
import type { Setup } from "./setup.ts";

type Configured = Pick<Setup, "providers" | "tiers" | "actions">;

const COLUMNS = 80;
const INDENT = "  ";
export const COMMAND = "npm run -s tollgate --";

function filled(words: readonly string[], indent: string): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (last.length + word.length + 1 > COLUMNS) lines.push(indent + word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Names separated by commas, in lines that begin with a title or below it. */
function listed(title: string, names: readonly string[]): string[] {
  const told = names.map((name, at) => (at === names.length - 1 ? name : `${name},`));
  // Parts that belong together, on one line where they fit.
  const words = told.flatMap((name) => (name.length + INDENT.length <= COLUMNS ? name : name.split(/ (?=\+)/)));
  return filled([title, ...words], INDENT);
}

/** The variables that would enable disabled providers; related variables are listed together. */
function turningOn(providers: readonly InstalledProvider[]): string[] {
  const off = providers.filter(({ on, variables }) => !on && variables.length > 0);
  return [...new Set(off.map(({ variables }) => variables.join(" + ")))];
}

/** What is configured, and the variables that would configure the rest, as `tollgate config` shows it. */
export function configuredWords({ providers, tiers, actions }: Configured): readonly string[] {
  const models = providers.filter(({ sells_models }) => sells_models);
  const others = providers.filter(({ sells_models }) => !sells_models);
  const idsOn = (list: readonly InstalledProvider[]) => list.flatMap(({ id, on }) => (on ? [id] : []));
  const [modelsOff, othersOff] = [turningOn(models), turningOn(others)];
  const ownServers = providers.flatMap(({ on, self_hosted_by: by }) => (on || by === null ? [] : [by]));
  const none = (ids: readonly string[]) => (ids.length === 0 ? ["none"] : ids);
  return [
    ...listed("Models by:", none(idsOn(models))),
    ...listed(
      "Tiers:",
      tiers.map(({ id, on, of }) => `${id} ${on} of ${of}`),
    ),
    ...listed(`Actions: ${actions.on} of ${actions.of}, by:`, none(idsOn(others))),
    ...(modelsOff.length === 0 ? [] : listed("Off, models; to turn on, set:", modelsOff)),
    ...(othersOff.length === 0 ? [] : listed("Off, actions; to turn on, set:", othersOff)),
    ...(ownServers.length === 0 ? [] : listed("Without a key, from a server of your own:", ownServers)),
  ];
}

/** How much is configured, and which variables have no effect. */
export function startWords({ providers, actions, mistyped, removed }: Setup): readonly string[] {
  const models = providers.filter(({ sells_models }) => sells_models);
  const on = models.filter((provider) => provider.on).length;
  return [
    `Configured: ${on} of ${models.length} providers of models, ${actions.on} of ${actions.of} actions.`,
    `All of them, and the variables of the rest: ${COMMAND} config`,
    ...mistyped.map(({ set, meant }) => `Warning: ${set} is set but not used. Did you mean ${meant}?`),
    ...removed.map((name) => `Warning: ${name} is no longer read. ${REMOVED_SETTINGS[name]}`),
  ];
}

export function nextWords({ first_model, providers, url, sandbox }: Setup): readonly string[] {
  const own = providers.filter(({ serves_any, variables }) => serves_any && variables.length > 0);
  const any = own.find(({ on }) => on);
  if (first_model === null && any === undefined) {
    const variables = own.flatMap((provider) => provider.variables).join(" or ");
    const words = `No provider of models is on. Set one's key; or, for a server of your own that speaks OpenAI's wire, set ${variables} to its address, such as http://127.0.0.1:8000/v1, and the variable of the same name that ends in _MODEL to its model's name. Then start again.`;
    return [
      ...filled(words.split(" "), ""),
      ...(sandbox ? [`Or play without: ${COMMAND} account create --name me --sandbox`] : []),
    ];
  }
  return [
    ...(first_model === null && any !== undefined
      ? [`Any model of ${any.id} is available as ${any.id}/<its name>.`]
      : []),
    `Next: ${COMMAND} check tests the providers,`,
    `      ${COMMAND} account create --name me opens an account.`,
    `Logs go to standard output. What can be called: ${url}/catalog`,
  ];
}
