// Hosted tools of the messages format, which the gateway serves to any model.
import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json, wordOf } from "../../../core/json.ts";
import { callsAt, domainsOf, type Hosts, secondHosted, type WantedHosted } from "../action-tools.ts";
import { HOSTED_TYPES, SERVER_TOOLS } from "./fields.ts";

const TYPES: ReadonlySet<string> = new Set(HOSTED_TYPES);

/** The hosted tools of a body. Throws if the gateway cannot serve one. */
export function hostedIn({ tools }: Json, hosts: Hosts): readonly WantedHosted[] {
  const found: WantedHosted[] = [];
  for (const [at, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const type = isRecord(tool) ? wordOf(tool.type) : "";
    if (!isRecord(tool) || !TYPES.has(type)) continue;
    const kind = type.startsWith("web_search") ? "web_search" : "web_fetch";
    if (!hosts(kind)) {
      const param = `tools.${at}.type`;
      throw new GatewayError("unsupported_field", { param, detail: { detail: SERVER_TOOLS } });
    }
    const param = `tools.${at}`;
    if (found.some((one) => one.tool === kind)) throw secondHosted(param, kind);
    const domains = domainsOf(
      [tool.allowed_domains, `${param}.allowed_domains`],
      [tool.blocked_domains, `${param}.blocked_domains`],
    );
    found.push({ param, tool: kind, callsMax: callsAt(tool.max_uses, `${param}.max_uses`), ...domains });
  }
  return found;
}
