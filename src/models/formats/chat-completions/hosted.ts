// Web search in the chat completions format, which has no tool for it: follows OpenRouter's conventions.
import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import type { Hosts, WantedHosted } from "../action-tools.ts";

const ONLINE = ":online";

/** The model's name without the suffix that requests a search. */
export function withoutOnline(name: string, hosts: Hosts): string {
  return name.endsWith(ONLINE) && hosts("web_search") ? name.slice(0, -ONLINE.length) : name;
}

function isWeb(plugins: unknown): boolean {
  return Array.isArray(plugins) && plugins.length > 0 && plugins.every((one) => isRecord(one) && one.id === "web");
}

function searchAt(param: string): WantedHosted {
  return { param, tool: "web_search", callsMax: null, domains: [], without: [] };
}

export function hostedIn({ plugins, model, models }: Json, hosts: Hosts): readonly WantedHosted[] {
  if (plugins !== undefined && plugins !== null) {
    if (isWeb(plugins) && hosts("web_search")) return [searchAt("plugins")];
    const why = isWeb(plugins) ? "no search of the web is configured here" : "of plugins only web is sold";
    throw new GatewayError("unsupported_field", { param: "plugins", detail: { detail: why } });
  }
  const names = [model, ...(Array.isArray(models) ? models : [])];
  const isOnline = names.some((name) => typeof name === "string" && name.endsWith(ONLINE));
  return isOnline && hosts("web_search") ? [searchAt("model")] : [];
}
