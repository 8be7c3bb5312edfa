// Combines adapters with the environment's keys and addresses: determines which vendors this installation can reach.
import { parseUsdPerMillion } from "../core/money.ts";
import { eachOf, type Steps } from "../core/slices.ts";
import { noAuth, type Rail } from "./auth.ts";
import type { Adapter } from "./catalog.ts";
import type { CatalogFiles } from "./cross-check.ts";
import { doorFor } from "./pay-per-call-access.ts";
import { placeOf } from "./regional-cost.ts";
import { SELF_HOSTED_COST, type SelfHostedSpec } from "./self-hosted.ts";
import type { AdapterSpec, AddressSetting } from "./spec.ts";
import type { TokenPriceSpec } from "./token-price.ts";

/** `<ID>_API_KEY`, `<ID>_BASE_URL` and the like, by name. */
export type AdapterEnv = Readonly<Record<string, string | undefined>>;

/** The key in sandbox accounts' calls; worthless everywhere. */
const SANDBOX_KEY = "sandbox";
const USER_AGENT = "Tollgate/0.1";
const WANTS_CONTACT = "The vendor requires a contact: the operator must set CONTACT to a name and a mail address.";

const DIGITS = ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"];

function inName(word: string): string {
  return word.toUpperCase().replaceAll("-", "_");
}

/** An adapter's variable, such as `OPENAI_BASE_URL`. Shells reject names that begin with a digit, so the digit is spelled out. */
export function envName(adapterId: string, suffix: string): string {
  return `${inName(adapterId).replace(/^\d/, (digit) => DIGITS[Number(digit)] ?? digit)}_${suffix}`;
}

function settingOf(env: AdapterEnv, name: string): string | null {
  return env[name]?.trim() || null;
}

/** An address from the environment and the name of its variable; a name that begins with a digit is accepted too. */
function addressOf(
  env: AdapterEnv,
  id: string,
  suffix: string,
): { readonly name: string; readonly url: string | null } {
  const name = envName(id, suffix);
  const written = `${inName(id)}_${suffix}`;
  const url = settingOf(env, name);
  return url === null && written !== name ? { name: written, url: settingOf(env, written) } : { name, url };
}

function listOf(setting: string | null): readonly string[] {
  return (setting ?? "")
    .split(",")
    .map((key) => key.trim())
    .filter((key) => key !== "");
}

export const KEY_PARTS = "\n";

type Login = Pick<AdapterSpec, "auth" | "keyEnv" | "keyParts">;

function keysOf(id: string, spec: Login, env: AdapterEnv): readonly string[] {
  if (spec.keyParts !== undefined) {
    const [first = [], ...rest] = spec.keyParts.map((name) => listOf(settingOf(env, name)));
    const whole = first.map((part, at) => [part, ...rest.map((list) => list[at] ?? "")]);
    return whole.filter((parts) => !parts.includes("")).map((parts) => parts.join(KEY_PARTS));
  }
  const names = spec.keyEnv ?? [envName(id, "API_KEY")];
  const setting = names.map((name) => settingOf(env, name)).find((value) => value !== null) ?? null;
  if (spec.auth.keyFrom === undefined) return listOf(setting);
  const key = setting === null ? null : spec.auth.keyFrom(setting);
  return key === null ? [] : [key];
}

function loginOf(id: string, spec: AdapterSpec, env: AdapterEnv): AdapterSpec {
  const other = spec.otherLogins?.find((login) => keysOf(id, login, env).length > 0);
  if (other === undefined) return spec;
  const { keyEnv, keyParts, ...rest } = spec;
  return { ...rest, ...other };
}

function userAgentOf(spec: AdapterSpec, contact: string | null): string | null {
  if (spec.contact === undefined) return null;
  return contact === null ? USER_AGENT : `${USER_AGENT} (${contact})`;
}

const ADDRESS_PART = /^[A-Za-z0-9][A-Za-z0-9-]*$/;

/** A part of the vendor's address; null if neither the operator nor the adapter defines it. */
function addressPart({ env: names, fallback }: AddressSetting, env: AdapterEnv): string | null {
  return names.map((name) => settingOf(env, name)).find((value) => value !== null) ?? fallback ?? null;
}

/** The vendor's address with its parts filled in; null if one is unknown. */
function ownOrigin({ origin, settings = {} }: AdapterSpec, parts: Readonly<Record<string, string>>): string | null {
  const other = Object.entries(settings).map(([name, { origins }]) => origins?.[parts[name] ?? ""]);
  const template = other.find((one) => one !== undefined) ?? origin;
  const isWhole = [...template.matchAll(/\{([a-z]+)\}/g)].every(([, name = ""]) => parts[name] !== undefined);
  return isWhole ? template.replace(/\{([a-z]+)\}/g, (_, name: string) => parts[name] ?? "") : null;
}

function partsOf({ settings = {} }: AdapterSpec, env: AdapterEnv): Readonly<Record<string, string>> {
  const parts = Object.entries(settings).map(([name, setting]) => [name, addressPart(setting, env)] as const);
  return Object.fromEntries(parts.flatMap(([name, part]) => (part === null ? [] : [[name, part]])));
}

const DEPLOYMENT = /^(?<model>[^=\s]+)=(?<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\*(?<weight>[1-9][0-9]{0,2}))?$/;

/** The operator's names for a vendor's models: `<model>=<name>`, with `*<weight>` where several names share a model's calls. */
function deploymentsOf(id: string, spec: AdapterSpec, env: AdapterEnv): Adapter["deployments"] {
  if (spec.deployments !== true) return null;
  const named = listOf(settingOf(env, envName(id, "DEPLOYMENTS"))).flatMap((text) => {
    const { model = "", name = "", weight = "1" } = DEPLOYMENT.exec(text)?.groups ?? {};
    return name === "" ? [] : [{ model, name, weight: Number(weight) }];
  });
  return Map.groupBy(named, ({ model }) => model);
}

/** A region setting whose value is none of the known places. */
function strangePlaces({ regionalCost, settings = {} }: AdapterSpec, env: AdapterEnv): readonly string[] {
  const setting = settings[regionalCost?.setting ?? ""];
  const value = setting === undefined ? null : addressPart(setting, env);
  if (regionalCost === undefined || value === null || placeOf(regionalCost, value) !== undefined) return [];
  return [`${setting?.env[0]} is none of ${regionalCost.places.map(({ begins }) => begins).join(", ")}`];
}

function strangeDeployments(id: string, spec: AdapterSpec, env: AdapterEnv): readonly string[] {
  if (spec.deployments !== true) return [];
  const variable = envName(id, "DEPLOYMENTS");
  const known = { ...spec.chat?.models, ...spec.embeddings?.models, ...spec.unitModels };
  return listOf(settingOf(env, variable)).flatMap((text) => {
    const model = DEPLOYMENT.exec(text)?.groups?.model;
    if (model === undefined) return [`${variable} has ${JSON.stringify(text)}, which is not <model>=<name>`];
    return Object.hasOwn(known, model)
      ? []
      : [`${variable} names the model ${model}, which adapters/${id} does not have`];
  });
}

function asSelfHosted(spec: AdapterSpec, { login, actions: others = {} }: SelfHostedSpec): AdapterSpec {
  const { keyParts, otherLogins, settings, ...rest } = spec;
  const actions = Object.entries(spec.actions ?? {}).map(
    ([name, action]) => [name, { ...action, ...others[name], ...SELF_HOSTED_COST }] as const,
  );
  return {
    ...rest,
    auth: login?.auth ?? noAuth,
    keyEnv: login?.keyEnv ?? [],
    keyOptional: true,
    actions: Object.fromEntries(actions),
  };
}

/** The adapter for the vendor's pay-per-call endpoint, if we have no key but a wallet. */
function byTheCall(id: string, spec: AdapterSpec, env: AdapterEnv, { rails }: OwnFacts): AdapterSpec {
  if (spec.keylessDoor === undefined || keysOf(id, spec, env).length > 0) return spec;
  const door = doorFor(spec.keylessDoor, rails);
  if (door === null) return spec;
  // The pay-per-call endpoint uses HTTP, whatever the vendor requires of callers with a key.
  const { keyParts: _, otherLogins: __, sidecar: ___, prepaid, ...rest } = spec;
  const { actions } = spec.keylessDoor;
  const sold = actions === undefined ? (prepaid === undefined ? {} : { prepaid }) : { actions };
  return { ...rest, ...sold, ...door, keyEnv: [] };
}

/** The variable with the key of a rail's wallet. */
export function walletVariable(rail: Rail): string {
  return `${inName(rail)}_WALLET_PRIVATE_KEY`;
}

/** The operator's settings besides keys, for all vendors. */
export interface OwnFacts {
  readonly contact: string | null;
  readonly rails: readonly Rail[];
  /** Vendors that store nothing sent with the operator's keys. */
  readonly zdrProviders: readonly string[];
}

/** What the vendor needs besides its key and is not set; null if nothing is missing. */
function lacking({ auth, contact: wanted }: AdapterSpec, { contact, rails }: OwnFacts): string | null {
  if (auth.rails?.some((rail) => rails.includes(rail)) === false)
    return `This merchant is paid per call: the operator must set ${auth.rails.map(walletVariable).join(" or ")}.`;
  return wanted === "required" && contact === null ? WANTS_CONTACT : null;
}

export function configureLive(id: string, file: AdapterSpec, env: AdapterEnv, own: OwnFacts): Adapter {
  const { contact } = own;
  const { url: baseUrl } = addressOf(env, id, "BASE_URL");
  const sold = loginOf(id, file, env);
  // If there is a key for the vendor, the address is a proxy in front of the vendor.
  const ownServer = baseUrl !== null && keysOf(id, sold, env).length === 0 ? (file.selfHosted ?? null) : null;
  const spec = ownServer === null ? byTheCall(id, sold, env, own) : asSelfHosted(sold, ownServer);
  const payTo = spec.auth.rails === undefined ? null : settingOf(env, envName(id, "PAY_TO"));
  const settings = { ...partsOf(spec, env), ...(payTo === null ? null : { payTo }) };
  const origin = baseUrl ?? ownOrigin(spec, settings);
  const keys = keysOf(id, spec, env);
  const keyless = spec.auth.keyless === true || spec.keyOptional === true;
  const waitsFor = spec.waitsFor ?? lacking(spec, own);
  const isPlaced = Object.values(spec.settings ?? {}).every((setting) => addressPart(setting, env) !== null);
  const isKnown = origin !== null && waitsFor === null && (isPlaced || baseUrl !== null);
  const reached = spec.local ? baseUrl !== null : isKnown && (keys.length > 0 || keyless);
  const origins = Object.entries(spec.origins ?? {}).map(([name, origin]) => {
    const { url } = addressOf(env, id, `${inName(name)}_BASE_URL`);
    return [name, (url ?? origin).replace(/(?<!\/)\/+$/, "")];
  });
  return {
    id,
    spec,
    origin: (origin ?? spec.origin).replace(/(?<!\/)\/+$/, ""),
    origins: Object.fromEntries(origins),
    settings,
    deployments: deploymentsOf(id, spec, env),
    keys,
    userAgent: userAgentOf(spec, contact),
    configured: reached && spec.sandboxOnly !== true,
    ...(spec.local === true || (keys.length > 0 && own.zdrProviders.includes(id)) ? { keepsNothing: true } : {}),
    ...(waitsFor === null ? {} : { waitsFor }),
    ...(ownServer?.lacks === undefined ? {} : { lacks: ownServer.lacks }),
  };
}

/** An adapter as sandbox accounts see it: always configured, with the sandbox as its server, on a separate path. */
export function configureSandbox(id: string, spec: AdapterSpec, sandboxOrigin: string | null): Adapter {
  const origin = `${sandboxOrigin ?? "http://sandbox.invalid"}/${id}`;
  const origins = Object.fromEntries(Object.keys(spec.origins ?? {}).map((name) => [name, `${origin}/~${name}`]));
  const { inSandbox } = spec.auth;
  const shown = inSandbox === undefined ? spec : { ...spec, auth: inSandbox, keyParts: [""] };
  const keys = [(shown.keyParts ?? [""]).map(() => SANDBOX_KEY).join(KEY_PARTS)];
  const settings = Object.fromEntries(Object.keys(spec.settings ?? {}).map((name) => [name, SANDBOX_KEY]));
  return {
    id,
    spec: shown,
    origin,
    origins,
    settings,
    deployments: null,
    keys,
    userAgent: userAgentOf(spec, null),
    configured: sandboxOrigin !== null,
    isSandbox: true,
    ...(spec.local === true ? { keepsNothing: true } : {}),
  };
}

/** The environment's price for a server that serves any model, merged over the adapter's; null if there is none or only half of one. */
export function envPriceOf(
  id: string,
  env: AdapterEnv,
  price: TokenPriceSpec | null,
  day: string,
): TokenPriceSpec | null {
  const input = settingOf(env, envName(id, "PROMPT_USD_PER_MILLION"));
  const output = settingOf(env, envName(id, "COMPLETION_USD_PER_MILLION"));
  if (input === null && output === null) return null;
  if (price !== null) return { since: price.since, input: input ?? price.input, output: output ?? price.output };
  return input === null || output === null ? null : { since: day, input, output };
}

/** The model that the operator names for a server; null if none. */
export function namedModelOf(id: string, env: AdapterEnv): string | null {
  return settingOf(env, envName(id, "MODEL"));
}

function unfitKeys(id: string, spec: AdapterSpec, env: AdapterEnv): readonly string[] {
  const names = spec.keyEnv ?? [envName(id, "API_KEY")];
  const keys = keysOf(id, spec, env);
  const set = spec.auth.keyFrom === undefined || keys.length > 0 ? [] : names.filter((name) => settingOf(env, name));
  const problems = keys.flatMap((key) => spec.auth.problemOf?.(key) ?? []).map((problem) => `${names[0]} ${problem}`);
  return [...set.slice(0, 1).map((name) => `${name} names no file that can be read`), ...problems.slice(0, 1)];
}

/** Checks the variables of all adapters; each problem is a line that names the variable but never shows its value. */
export function* checkEnv(files: CatalogFiles, env: AdapterEnv): Steps<readonly string[]> {
  const problems = yield* eachOf(files.adapters, ([id, spec]) => {
    const { name: urlName, url } = addressOf(env, id, "BASE_URL");
    const badUrl = url !== null && !/^https?:\/\/[^/]/.test(url.slice(0, 4096));
    const prices = ["PROMPT_USD_PER_MILLION", "COMPLETION_USD_PER_MILLION"].map((suffix) => envName(id, suffix));
    const set = prices.filter((name) => settingOf(env, name) !== null);
    const serves = spec.chat?.anyModel !== undefined || spec.embeddings?.anyModel !== undefined;
    const named = settingOf(env, envName(id, "MODEL"));
    const isUnpriced = named !== null && spec.chat?.anyModel?.prices.length === 0 && set.length < prices.length;
    const payTo = envName(id, "PAY_TO");
    const strangePayee = spec.auth.rails !== undefined && !/^(0x[0-9a-fA-F]{40})?$/.test(env[payTo]?.trim() ?? "");
    const strange = Object.values(spec.settings ?? {}).filter(
      (setting) => !ADDRESS_PART.test(addressPart(setting, env) ?? "unset"),
    );
    return [
      ...(badUrl ? [`${urlName} is not an http address`] : []),
      ...(strangePayee ? [`${payTo} is not an address of 40 hexadecimal digits after 0x`] : []),
      ...set.flatMap((name) =>
        parseUsdPerMillion(settingOf(env, name) ?? "") === null ? [`${name} is not a price`] : [],
      ),
      ...(isUnpriced ? [`${envName(id, "MODEL")} needs ${prices.join(" and ")}: what is not priced is not sold`] : []),
      ...unfitKeys(id, spec, env),
      ...strangeDeployments(id, spec, env),
      ...strangePlaces(spec, env),
      ...strange.map((setting) => `${setting.env[0]} cannot stand in an address`),
      ...(set.length > 0 && !serves ? [`${set[0]} has no meaning: the prices of ${id} are in its adapter`] : []),
    ];
  });
  return problems.flat();
}
