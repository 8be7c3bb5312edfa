// Outgoing safety: what a caller is told when an address of theirs could not be fetched, in words that name no address of ours.
import { GatewayError } from "../core/errors.ts";
import { proxyFailureIn } from "./tunnel.ts";

/** First match wins. By codes of Node, undici, OpenSSL, zlib and Brotli, and by name where an error of theirs has no code. */
const WORDS: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO)|SELF_SIGNED/, "has no valid certificate"],
  [/^(UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|ECONNRESET|EPIPE)/, "broke off its answer"],
  [/^UND_ERR_HEADERS_OVERFLOW/, "sends more headers than are read here"],
  [/HTTPParserError/, "does not speak HTTP as it should"],
  [/^(Z_|ERR__ERROR_)/, "sends a body that does not decode"],
];

/** The caller's address is at fault: `bad_url`. `fault` ends a sentence that begins with "The URL". */
export function badUrl(fault: string): GatewayError {
  return new GatewayError("bad_url", { detail: { detail: fault } });
}

/** The server behind it is: `upstream_error`. `fault` ends a sentence that begins with "the server of the URL". */
export function serverTrouble(fault: string, cause?: unknown): GatewayError {
  return new GatewayError("upstream_error", { detail: { detail: `the server of the URL ${fault}` }, cause });
}

export function tooLarge(bytesMax: number): GatewayError {
  return badUrl(`serves more than the ${bytesMax} bytes that are taken here`);
}

/** The operator's proxy is. */
function proxyTrouble(cause: Error): GatewayError {
  return new GatewayError("upstream_error", { detail: { detail: `${cause.message}, which is this gateway's` }, cause });
}

/** What any error on the way means for the caller. */
export function troubleOf(error: unknown, bytesMax: number): GatewayError {
  if (error instanceof GatewayError) return error;
  const failure = proxyFailureIn(error);
  if (failure !== null) return proxyTrouble(failure);
  const { code = "", name = "" } = error as { code?: string; name?: string };
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") return tooLarge(bytesMax);
  const words = WORDS.find(([pattern]) => pattern.test(`${code} ${name}`))?.[1] ?? "could not be reached";
  return serverTrouble(words, error);
}
