// The version and beta headers of the messages format.
import type { GatewayRequest } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { invalid } from "../parse-json.ts";
import { readBetas } from "./betas.ts";

export const VERSION_HEADER = "anthropic-version";
export const BETA_HEADER = "anthropic-beta";

/** Versions that clients send. The later one drops sampling fields and forbids nothing that we read. */
const VERSIONS = ["2023-06-01", "2026-10-21"];
/** Names and dates, comma-separated. */
const BETAS = /^[\w.,: -]{0,4000}$/;

/** Clients of the format retry without the beta on these words. */
function costlyBeta(word: string): GatewayError {
  const detail = { detail: `capability_rejected: beta_header:${word}` };
  return new GatewayError("bad_request", { param: BETA_HEADER, detail });
}

export interface FormatHeaders {
  readonly forVendors: Readonly<Record<string, string>>;
  /** Betas that are not forwarded, as reported to the caller: `anthropic-beta:<word>`. */
  readonly dropped: readonly string[];
}

/** Defaults to the first version. */
export function formatHeaders({ headers }: GatewayRequest): FormatHeaders {
  const version = headers.get(VERSION_HEADER) ?? VERSIONS[0] ?? "";
  if (!VERSIONS.includes(version)) throw invalid(VERSION_HEADER, `must be one of ${VERSIONS.join(", ")}`);
  const betas = headers.get(BETA_HEADER);
  if (betas === undefined) return { forVendors: { [VERSION_HEADER]: version }, dropped: [] };
  if (!BETAS.test(betas)) throw invalid(BETA_HEADER, "must be a list of names, separated by commas");
  const { passed, dropped, costly } = readBetas(betas);
  if (costly !== null) throw costlyBeta(costly);
  const beta = passed.length === 0 ? {} : { [BETA_HEADER]: passed.join(",") };
  return {
    forVendors: { [VERSION_HEADER]: version, ...beta },
    dropped: dropped.map((word) => `${BETA_HEADER}:${word}`),
  };
}
