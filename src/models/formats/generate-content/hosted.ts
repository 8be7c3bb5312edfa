// Web search and page reading in the generate-content format, which the gateway serves to any model.
import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json, listOf } from "../../../core/json.ts";
import { domainsOf, type Hosts, secondHosted, type WantedHosted } from "../action-tools.ts";
import { unknownField } from "../known-fields.ts";
import { SERVER_TOOLS } from "./fields.ts";

/** Hosted tools by field. */
const TOOLS = { googleSearch: "web_search", googleSearchRetrieval: "web_search", urlContext: "web_fetch" } as const;

export function hostedIn({ tools }: Json, hosts: Hosts): readonly WantedHosted[] {
  const found: WantedHosted[] = [];
  for (const [at, tool] of listOf(tools).entries()) {
    for (const [name, kind] of Object.entries(TOOLS)) {
      const asked = isRecord(tool) ? tool[name] : null;
      if (!isRecord(asked)) continue;
      const param = `tools.${at}.${name}`;
      if (!hosts(kind)) throw new GatewayError("unsupported_field", { param, detail: { detail: SERVER_TOOLS } });
      if (found.some((one) => one.tool === kind)) throw secondHosted(param, kind);
      const { excludeDomains, exclude_domains: without = excludeDomains, ...rest } = asked;
      const [unknown] = Object.keys(rest);
      if (unknown !== undefined) throw unknownField(`${param}.${unknown}`);
      const domains = domainsOf([null, ""], [without, `${param}.excludeDomains`]);
      found.push({ param, tool: kind, callsMax: null, ...domains });
    }
  }
  return found;
}
