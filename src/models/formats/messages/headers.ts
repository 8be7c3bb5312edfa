// The version and beta headers of the messages format.
import type { GatewayRequest } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { invalid } from "../parse-json.ts";

// The beta header of the messages format: which betas are forwarded, and which cost extra.

/** Betas that change the form but no price, from the vendor's list and its clients. Reading the body refuses fields that cost extra. */
const PASSED: ReadonlySet<string> = new Set([
  "adaptive-thinking-2026-01-28",
  "advanced-tool-use-2025-11-20",
  "cache-diagnosis-2026-04-07",
  "claude-code-20250219",
  "computer-use-2024-10-22",
  "computer-use-2025-01-24",
  "computer-use-2025-11-24",
  "context-hint-2026-04-09",
  "context-management-2025-06-27",
  "dev-full-thinking-2025-05-14",
  "effort-2025-11-24",
  "extended-cache-ttl-2025-04-11",
  "files-api-2025-04-14",
  "fine-grained-tool-streaming-2025-05-14",
  "inline-tools-2026-09-15",
  "interleaved-thinking-2025-05-14",
  "max-tokens-3-5-sonnet-2024-07-15",
  "mid-conversation-system-2026-04-07",
  "mid-conversation-system-clear-at-2026-08-21",
  "mid-conversation-tool-changes-2026-07-01",
  "model-context-window-exceeded-2025-08-26",
  "output-128k-2025-02-19",
  "pdfs-2024-09-25",
  "per-turn-control-2026-07-01",
  "prompt-caching-2024-07-31",
  "prompt-caching-scope-2026-01-05",
  "redact-thinking-2026-02-12",
  "search-results-2025-06-09",
  "structured-outputs-2025-11-13",
  "structured-outputs-2025-12-15",
  "task-budgets-2026-03-13",
  "thinking-binding-controls-2026-08-01",
  "thinking-display-updates-2026-08-18",
  "thinking-token-count-2026-05-13",
  "token-counting-2024-11-01",
  "token-efficient-tools-2025-02-19",
  "token-efficient-tools-2026-03-28",
  "tool-examples-2025-10-29",
  "tool-search-tool-2025-10-19",
  "web-fetch-2025-09-10",
  "web-search-2025-03-05",
]);

/** Prefixes of betas that raise a price or bill something extra. */
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

interface ReadBetas {
  readonly passed: readonly string[];
  /** Unknown betas: they may cost extra, so they are not forwarded. */
  readonly dropped: readonly string[];
  /** The first beta that costs extra. */
  readonly costly: string | null;
}

export function readBetas(header: string): ReadBetas {
  const words = [...new Set(header.split(",").map((word) => word.trim()))].filter((word) => word !== "");
  const isCostly = (word: string) => COSTLY.some((beginning) => word.startsWith(beginning));
  return {
    passed: words.filter((word) => PASSED.has(word)),
    dropped: words.filter((word) => !PASSED.has(word) && !isCostly(word)),
    costly: words.find(isCostly) ?? null,
  };
}

export const VERSION_HEADER = "anthropic-version";
export const BETA_HEADER = "anthropic-beta";

/** Versions that clients send. The later one drops sampling fields and forbids nothing that we read. */
const VERSIONS = ["2023-06-01", "2026-10-21"];
/** Names and dates, comma-separated. */
const BETAS = /^[\w.,: -]{0,4000}$/;

/** Clients of the format retry without the beta on these words. */
function costlyBeta(word: string): GatewayError {
  return new GatewayError("bad_request", { param: BETA_HEADER, detail: `capability_rejected: beta_header:${word}` });
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
