// The tools of the messages wire that its vendor runs itself, where the gateway serves them to any model.
import { GatewayError } from "../../errors.ts";
import { isRecord, type Json, numberOf, wordOf } from "../../json.ts";
import { domainsIn, type Hosts, type WantedHosted } from "../action-tools.ts";
import { HOSTED_TYPES, SERVER_TOOLS } from "./fields.ts";

const TYPES: ReadonlySet<string> = new Set(HOSTED_TYPES);

/** The hosted tools of a body, or what is refused because nothing here serves it. */
export function hostedIn({ tools }: Json, hosts: Hosts): readonly WantedHosted[] | GatewayError {
  const found: WantedHosted[] = [];
  for (const [at, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const type = isRecord(tool) ? wordOf(tool.type) : "";
    if (!isRecord(tool) || !TYPES.has(type)) continue;
    const kind = type.startsWith("web_search") ? "web_search" : "web_fetch";
    if (!hosts(kind)) {
      const param = `tools.${at}.type`;
      return new GatewayError("unsupported_field", { param, detail: { detail: SERVER_TOOLS } });
    }
    const domains = domainsIn(tool.allowed_domains);
    const without = domainsIn(tool.blocked_domains);
    found.push({ param: `tools.${at}`, tool: kind, callsMax: numberOf(tool.max_uses) ?? null, domains, without });
  }
  return found;
}
