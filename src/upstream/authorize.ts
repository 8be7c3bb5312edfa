// Shows a vendor our key in a request that is ready but for it: in a header, as a token fetched for it, or as a signature over all of it.
import { AwsV4Signer } from "aws4fetch";
import type { Adapter } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import type { AccessTokens } from "./access-tokens.ts";
import type { ExchangeRequest } from "./exchange.ts";

export interface AuthorizeParts {
  readonly adapter: Adapter;
  /** Its parts separated by newlines; empty: none is shown. */
  readonly key: string;
  readonly tokens: AccessTokens;
  readonly clock: Clock;
}

function withBearer(request: ExchangeRequest, token: string): ExchangeRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}

/** As AWS writes an instant: `20261122T194500Z`. */
function instantOf(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/[:-]|\.\d{3}/g, "");
}

/** Signs method, path, host, date and body (AWS Signature Version 4). Our own headers for tracing are left out of it. */
async function signed(request: ExchangeRequest, { adapter, key, clock }: AuthorizeParts): Promise<ExchangeRequest> {
  const { auth } = adapter.spec;
  if (auth.kind !== "sigv4") throw new Error("a request was to be signed for a key that signs nothing");
  const [accessKeyId = "", secretAccessKey = "", sessionToken] = key.split("\n");
  const { headers } = await new AwsV4Signer({
    method: request.method ?? "POST",
    url: request.origin + request.path,
    body: request.body,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? null : { sessionToken }),
    service: auth.service,
    region: adapter.settings[auth.region] ?? "",
    datetime: instantOf(clock.epochMs()),
  }).sign();
  return { ...request, headers: { ...request.headers, ...Object.fromEntries(headers) } };
}

/** The request with our key in it. Rejects with VendorFailure where a token cannot be had. */
export function authorized(
  request: ExchangeRequest,
  parts: AuthorizeParts,
): ExchangeRequest | Promise<ExchangeRequest> {
  const { adapter, key, tokens } = parts;
  const { auth } = adapter.spec;
  if (key === "") return request;
  if (auth.kind === "sigv4") return signed(request, parts);
  const token = tokens.of(adapter, key);
  return typeof token === "string" ? withBearer(request, token) : token.then((came) => withBearer(request, came));
}
