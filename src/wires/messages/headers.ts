// The headers of the messages wire that say which version of it, and which of its betas, a caller speaks.
import type { GatewayRequest } from "../../endpoint.ts";
import { GatewayError } from "../../errors.ts";

export const VERSION_HEADER = "anthropic-version";
export const BETA_HEADER = "anthropic-beta";

/** Those that the wire's clients send. The later one has no word for how to sample, and forbids nothing that is read here. */
const VERSIONS = ["2023-06-01", "2026-10-21"];
/** Names and dates, separated by commas: which ones there are is between client and vendor. */
const BETAS = /^[\w.,: -]{0,4000}$/;

/** What betas begin with that make a call dearer by themselves, or bill something apart. */
const COSTLY = [
  "context-1m-",
  "fast-mode-",
  "advisor-tool-",
  "code-execution-",
  "compact-",
  "fallback-credit-",
  "server-side-fallback-",
  "mcp-client-",
];

/** In the words by which clients of this wire know to ask again without it. */
function costlyBeta(betas: string): GatewayError | null {
  const names = betas.split(",").map((name) => name.trim());
  const found = names.find((name) => COSTLY.some((beginning) => name.startsWith(beginning)));
  if (found === undefined) return null;
  const detail = { detail: `capability_rejected: beta_header:${found}` };
  return new GatewayError("bad_request", { param: BETA_HEADER, detail });
}

function wrong(param: string, why: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: { detail: `${param}: ${why}` } });
}

/** What a vendor of the wire is to be told; a caller who says nothing speaks the first version. */
export function wireHeaders({ headers }: GatewayRequest): Readonly<Record<string, string>> | GatewayError {
  const version = headers.get(VERSION_HEADER) ?? VERSIONS[0] ?? "";
  if (!VERSIONS.includes(version)) return wrong(VERSION_HEADER, `must be one of ${VERSIONS.join(", ")}`);
  const betas = headers.get(BETA_HEADER);
  if (betas === undefined) return { [VERSION_HEADER]: version };
  if (!BETAS.test(betas)) return wrong(BETA_HEADER, "must be a list of names, separated by commas");
  return costlyBeta(betas) ?? { [VERSION_HEADER]: version, [BETA_HEADER]: betas };
}
