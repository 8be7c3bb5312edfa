// How clients discover authorization: the metadata of our protected resources (RFC 9728), and the challenge that points to it.
import type { Answer, EndpointSpec } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import { resourcesOf, SCOPE } from "./access-tokens.ts";

const METADATA = "/.well-known/oauth-protected-resource";
const MCP = "/mcp";

/** The WWW-Authenticate header for a path: of a 401, or of a 403 for a missing scope (RFC 6750, 3; RFC 9728, 5.1). */
export function challengeAt(base: string, path: string, { status }: Pick<GatewayError, "status">): string {
  const place = path === MCP || path.startsWith(`${MCP}/`) ? `${METADATA}${MCP}` : METADATA;
  const code = status === 403 ? "insufficient_scope" : "invalid_token";
  return `Bearer realm="tollgate", error="${code}", scope="${SCOPE}", resource_metadata="${base}${place}"`;
}

/** `GET /.well-known/oauth-protected-resource` of the API and of the MCP server. */
export function metadataEndpoints(base: () => string): readonly EndpointSpec[] {
  const of = (at: 0 | 1): Answer => ({
    status: 200,
    body: {
      resource: resourcesOf(base())[at],
      authorization_servers: [base()],
      scopes_supported: [SCOPE],
      bearer_methods_supported: ["header"],
      resource_name: "Tollgate",
    },
    headers: { "cache-control": "public, max-age=300" },
  });
  const open = { method: "GET", auth: "none", bodyBytesMax: 0 } as const;
  return [
    Object.assign({ path: METADATA, answer: () => of(0) }, open),
    Object.assign({ path: `${METADATA}${MCP}`, answer: () => of(1) }, open),
  ];
}
