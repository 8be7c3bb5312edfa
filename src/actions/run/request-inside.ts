// Builds the request of a call that comes from inside the process rather than over HTTP.
import type { GatewayRequest } from "../../core/endpoint.ts";

type Inside = Pick<GatewayRequest, "id" | "path" | "startedMs"> & Partial<Omit<GatewayRequest, "body">>;

/** POST by default. */
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
