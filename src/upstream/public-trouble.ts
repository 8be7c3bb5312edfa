// Outgoing safety: error messages for callers whose URL could not be fetched, which never reveal our addresses.
import { GatewayError } from "../core/errors.ts";
import { proxyFailureIn } from "./tunnel.ts";

/** The first match wins. Matches error codes of Node, undici, OpenSSL, zlib and Brotli, and names of errors without a code. */
const WORDS: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO)|SELF_SIGNED/, "has no valid certificate"],
  [/^(UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|ECONNRESET|EPIPE)/, "broke off its answer"],
  [/^UND_ERR_HEADERS_OVERFLOW/, "sends more headers than are read here"],
  [/HTTPParserError/, "does not speak HTTP as it should"],
  [/^(Z_|ERR__ERROR_)/, "sends a body that does not decode"],
];

/** `bad_url`: the caller's URL is at fault. `fault` completes a sentence that begins with "The URL". */
export function badUrl(fault: string): GatewayError {
  return new GatewayError("bad_url", { detail: fault });
}

/** `upstream_error`: the URL's server is at fault. `fault` completes a sentence that begins with "the server of the URL". */
export function serverTrouble(fault: string, cause?: unknown): GatewayError {
  return new GatewayError("upstream_error", { detail: `the server of the URL ${fault}`, cause });
}

/** `bad_url` as well, but the URL leads to a public server. */
export class TooLarge extends GatewayError {
  constructor(bytesMax: number) {
    super("bad_url", { detail: `serves more than the ${bytesMax} bytes that are taken here` });
  }
}

/** `upstream_error`: the operator's proxy is at fault. */
function proxyTrouble(cause: Error): GatewayError {
  return new GatewayError("upstream_error", { detail: `${cause.message}, which is this gateway's`, cause });
}

export function troubleOf(error: unknown, bytesMax: number): GatewayError {
  if (error instanceof GatewayError) return error;
  const failure = proxyFailureIn(error);
  if (failure !== null) return proxyTrouble(failure);
  const { code = "", name = "" } = error as { code?: string; name?: string };
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") return new TooLarge(bytesMax);
  const words = WORDS.find(([pattern]) => pattern.test(`${code} ${name}`))?.[1] ?? "could not be reached";
  return serverTrouble(words, error);
}
