// Hosted tools of the messages format, which the gateway serves to any model.
import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json, wordOf } from "../../../core/json.ts";
import { callsAt, domainsOf, type Hosts, secondHosted, type WantedHosted } from "../action-tools.ts";
import { HOSTED_TYPES, SERVER_TOOLS } from "./fields.ts";

const TYPES: ReadonlySet<string> = new Set(HOSTED_TYPES);

/** The hosted tools of a body; an error if the gateway cannot serve one. */
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
    const param = `tools.${at}`;
    if (found.some((one) => one.tool === kind)) return secondHosted(param, kind);
    const domains = domainsOf(
      [tool.allowed_domains, `${param}.allowed_domains`],
      [tool.blocked_domains, `${param}.blocked_domains`],
    );
    if (domains instanceof GatewayError) return domains;
    const callsMax = callsAt(tool.max_uses, `${param}.max_uses`);
    if (callsMax instanceof GatewayError) return callsMax;
    found.push({ param, tool: kind, callsMax, ...domains });
  }
  return found;
}
