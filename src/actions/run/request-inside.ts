// A request that was never sent: what a call from inside of the process would have been, had it come over HTTP.
import type { GatewayRequest } from "../../core/endpoint.ts";

type Inside = Pick<GatewayRequest, "id" | "path" | "startedMs"> & Partial<Omit<GatewayRequest, "body">>;

/** A POST, unless it says otherwise. */
export function requestInside(inside: Inside, body: unknown): GatewayRequest {
  return {
    method: "POST",
    query: new URLSearchParams(),
    params: {},
    headers: new Map<string, string>(),
    address: "",
    ...inside,
    body: Buffer.from(body === undefined ? "" : JSON.stringify(body)),
  };
}
