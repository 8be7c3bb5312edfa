// Which vendors this installation can reach: an adapter's file and the environment's keys and addresses, put together.
import { parseUsdPerMillion } from "../money.ts";
import type { AdapterSpec, TokenPriceSpec } from "./adapter.ts";
import type { Adapter } from "./catalog.ts";
import type { CatalogFiles } from "./cross-check.ts";

/** `<ID>_API_KEY`, `<ID>_BASE_URL` and the like, by name. */
export type AdapterEnv = Readonly<Record<string, string | undefined>>;

/** What play accounts' calls carry for a key; it is worth nothing anywhere. */
const SANDBOX_KEY = "sandbox";

/** The variable of an adapter, such as `OPENAI_BASE_URL`. */
export function envName(adapterId: string, suffix: string): string {
  return `${adapterId.toUpperCase().replaceAll("-", "_")}_${suffix}`;
}

function settingOf(env: AdapterEnv, name: string): string | null {
  return env[name]?.trim() || null;
}

function keysOf(id: string, spec: AdapterSpec, env: AdapterEnv): readonly string[] {
  const names = spec.keyEnv ?? [envName(id, "API_KEY")];
  const found = names.map((name) => settingOf(env, name)).find((value) => value !== null);
  return (found ?? "")
    .split(",")
    .map((key) => key.trim())
    .filter((key) => key !== "");
}

/** An adapter as live accounts see it. */
export function configureLive(id: string, spec: AdapterSpec, env: AdapterEnv): Adapter {
  const baseUrl = settingOf(env, envName(id, "BASE_URL"));
  const keys = keysOf(id, spec, env);
  const reached = spec.local ? baseUrl !== null : keys.length > 0 || spec.auth.kind === "none";
  return {
    id,
    spec,
    origin: (baseUrl ?? spec.origin).replace(/\/+$/, ""),
    keys,
    configured: reached && spec.sandboxOnly !== true,
  };
}

/** An adapter as play accounts see it: everything is configured, and everything is the sandbox, one path a vendor. */
export function configureSandbox(id: string, spec: AdapterSpec, sandboxOrigin: string | null): Adapter {
  const origin = `${sandboxOrigin ?? "http://sandbox.invalid"}/${id}`;
  return { id, spec, origin, keys: [SANDBOX_KEY], configured: sandboxOrigin !== null };
}

/** The environment's price for a server that serves any model, over the adapter's; null where it sets none. */
export function envPriceOf(id: string, env: AdapterEnv, price: TokenPriceSpec): TokenPriceSpec | null {
  const input = settingOf(env, envName(id, "PROMPT_USD_PER_MILLION"));
  const output = settingOf(env, envName(id, "COMPLETION_USD_PER_MILLION"));
  if (input === null && output === null) return null;
  return { since: price.since, input: input ?? price.input, output: output ?? price.output };
}

/** The model that the operator says a server serves; null where he does not. */
export function namedModelOf(id: string, env: AdapterEnv): string | null {
  return settingOf(env, envName(id, "MODEL"));
}

/** Checks the variables of all adapters; each problem is a line that names the variable. Values are never shown. */
export function checkEnv(files: CatalogFiles, env: AdapterEnv): readonly string[] {
  return [...files.adapters].flatMap(([id, spec]) => {
    const urlName = envName(id, "BASE_URL");
    const url = settingOf(env, urlName);
    const badUrl = url !== null && !/^https?:\/\/[^/]/.test(url.slice(0, 4096));
    const prices = ["PROMPT_USD_PER_MILLION", "COMPLETION_USD_PER_MILLION"].map((suffix) => envName(id, suffix));
    const set = prices.filter((name) => settingOf(env, name) !== null);
    const serves = spec.chat?.anyModel !== undefined || spec.embeddings?.anyModel !== undefined;
    return [
      ...(badUrl ? [`${urlName} is no http address`] : []),
      ...set.flatMap((name) =>
        parseUsdPerMillion(settingOf(env, name) ?? "") === null ? [`${name} is no price`] : [],
      ),
      ...(set.length > 0 && !serves ? [`${set[0]} has no meaning: the prices of ${id} are in its adapter`] : []),
    ];
  });
}
