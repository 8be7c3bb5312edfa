// MCP in front of the endpoints that callers have over HTTP, and which pages and names it takes.
import { systemClock } from "../core/clock.ts";
import type { Endpoint } from "../core/endpoint.ts";
import { createCancels, type Others } from "../edge/mcp/cancels.ts";
import { mcpEndpoints } from "../edge/mcp/mcp-endpoints.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import type { Config } from "../platform/config.ts";
import type { Records } from "../platform/records/records.ts";
import { callInside } from "./call-inside.ts";
import { inEnvelope } from "./public-endpoints.ts";

const LOOPBACK = ["127.0.0.1", "localhost", "[::1]", "::1"];

function nameOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname : null;
}

/**
 * Whether a call may come from a page, or under a name. A page can make a browser call what only its user reaches, under a name of its own
 * that it binds to this machine (MCP, transports: security warning). Programs send no Origin, and those on other machines any name.
 */
export function mcpDoor({ host, publicUrl, mcpOrigins }: Pick<Config, "host" | "publicUrl" | "mcpOrigins">) {
  const own = publicUrl === null ? [] : [nameOf(publicUrl)];
  const names = [...LOOPBACK, ...own];
  const isInner = LOOPBACK.includes(host);
  return {
    allowsOrigin: (origin: string) =>
      mcpOrigins.includes("*") || mcpOrigins.includes(origin) || names.includes(nameOf(origin)),
    allowsHost: (name: string) => !isInner || names.includes(nameOf(`http://${name}`)),
  };
}

export interface McpParts {
  readonly config: Config;
  readonly records: Records;
  readonly deps: ServeDeps;
  readonly others: Others | null;
}

/** MCP, which calls the others. */
export async function openMcp(
  endpoints: readonly Endpoint[],
  { config, records, deps, others }: McpParts,
): Promise<readonly Endpoint[]> {
  const inside = callInside(endpoints, deps);
  const door = mcpDoor(config);
  const { oauth: wantsSignIn } = config;
  const cancels = await createCancels(others);
  return inEnvelope(mcpEndpoints({ callInside: inside, records, clock: systemClock, door, wantsSignIn, cancels }));
}
