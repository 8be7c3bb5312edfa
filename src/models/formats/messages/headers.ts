// The headers of the messages wire that say which version of it, and which of its betas, a caller speaks.
import type { GatewayRequest } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { readBetas } from "./betas.ts";

export const VERSION_HEADER = "anthropic-version";
export const BETA_HEADER = "anthropic-beta";

/** Those that the wire's clients send. The later one does not say how to sample, and forbids nothing that is read here. */
const VERSIONS = ["2023-06-01", "2026-10-21"];
/** Names and dates, separated by commas. */
const BETAS = /^[\w.,: -]{0,4000}$/;

/** In the words by which clients of this wire know to ask again without it. */
function costlyBeta(word: string): GatewayError {
  const detail = { detail: `capability_rejected: beta_header:${word}` };
  return new GatewayError("bad_request", { param: BETA_HEADER, detail });
}

function wrong(param: string, why: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: { detail: `${param}: ${why}` } });
}

export interface FormatHeaders {
  /** What a vendor of the wire is to be told. */
  readonly forVendors: Readonly<Record<string, string>>;
  /** The betas that no vendor is told of, as the caller is forVendors: `anthropic-beta:<word>`. */
  readonly dropped: readonly string[];
}

/** A caller who says nothing speaks the first version. */
export function formatHeaders({ headers }: GatewayRequest): FormatHeaders | GatewayError {
  const version = headers.get(VERSION_HEADER) ?? VERSIONS[0] ?? "";
  if (!VERSIONS.includes(version)) return wrong(VERSION_HEADER, `must be one of ${VERSIONS.join(", ")}`);
  const betas = headers.get(BETA_HEADER);
  if (betas === undefined) return { forVendors: { [VERSION_HEADER]: version }, dropped: [] };
  if (!BETAS.test(betas)) return wrong(BETA_HEADER, "must be a list of names, separated by commas");
  const { passed, dropped, costly } = readBetas(betas);
  if (costly !== null) return costlyBeta(costly);
  const beta = passed.length === 0 ? {} : { [BETA_HEADER]: passed.join(",") };
  return {
    forVendors: { [VERSION_HEADER]: version, ...beta },
    dropped: dropped.map((word) => `${BETA_HEADER}:${word}`),
  };
}
