// Which environment variables an adapter reads, and which of them enable it.

import { envName, walletVariable } from "./configure.ts";
import type { AdapterSpec } from "./spec.ts";

type Login = Pick<AdapterSpec, "keyEnv" | "keyParts">;

/** One way to enable a vendor: all of these variables together. Empty if no variable can. */
export function variablesOf(id: string, spec: AdapterSpec): readonly string[] {
  if (spec.waitsFor !== undefined || spec.sandboxOnly === true) return [];
  if (spec.local === true) return [envName(id, "BASE_URL")];
  const contact = spec.contact === "required" ? ["CONTACT"] : [];
  const parts = Object.values(spec.settings ?? {}).filter(({ fallback }) => fallback === undefined);
  const address = parts.flatMap(({ env }) => env.slice(0, 1));
  const deployments = spec.deployments === true ? [envName(id, "DEPLOYMENTS")] : [];
  return [...keyVariablesOf(id, spec), ...address, ...deployments, ...contact];
}

/** The variables with its key: one, or one per part. Of several names for the same key, the first. */
export function keyVariablesOf(id: string, spec: AdapterSpec): readonly string[] {
  const { keyless, rails = [] } = spec.auth;
  if (keyless === true) return rails.slice(0, 1).map(walletVariable);
  return spec.keyParts ?? (spec.keyEnv ?? [envName(id, "API_KEY")]).slice(0, 1);
}

export function allVariablesOf(id: string, spec: AdapterSpec): readonly string[] {
  const any = spec.chat?.anyModel !== undefined || spec.embeddings?.anyModel !== undefined;
  const origins = Object.keys(spec.origins ?? {}).map((name) => `${name.toUpperCase().replaceAll("-", "_")}_BASE_URL`);
  const suffixes = [
    "BASE_URL",
    ...origins,
    ...(spec.deployments === true ? ["DEPLOYMENTS"] : []),
    ...((spec.auth.rails ?? spec.keylessDoor) === undefined ? [] : ["PAY_TO"]),
    ...(any ? ["MODEL", "PROMPT_USD_PER_MILLION", "COMPLETION_USD_PER_MILLION"] : []),
  ];
  const own = spec.selfHosted?.login;
  const logins = [spec, ...(spec.otherLogins ?? []), ...(own === undefined ? [] : [own])];
  const keys = logins.flatMap(({ keyParts, keyEnv }: Login) => keyParts ?? keyEnv ?? [envName(id, "API_KEY")]);
  const address = Object.values(spec.settings ?? {}).flatMap(({ env }) => env);
  return [...suffixes.map((suffix) => envName(id, suffix)), ...keys, ...address];
}
