// The two doors of the gateway: one for callers, one for the operator, both in front of the same serving.

import { systemClock } from "../core/clock.ts";
import type { Endpoint, EndpointSpec } from "../core/endpoint.ts";
import { type HttpOptions, type HttpServer, listen } from "../edge/http/server.ts";
import type { OpenIdProvider } from "../edge/oauth/openid-provider.ts";
import { tellAddress } from "../edge/serve/admit.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import { openSocket } from "../edge/serve/open-socket.ts";
import { refuseAtEdge } from "../edge/serve/refuse-at-edge.ts";
import { screen } from "../edge/serve/screen.ts";
import { serve } from "../edge/serve/serve.ts";
import { MARGIN_SCOPE, UNPAID_SCOPE } from "../kernel/windows.ts";
import { type AdminParts, adminEndpoints } from "../money/accounts/admin-endpoints.ts";
import { INFERENCE_SCOPE } from "../money/ledger/model/state.ts";
import type { Config } from "../platform/config.ts";
import type { BodyBytes } from "../platform/limits/body-bytes.ts";
import type { Log } from "../platform/observe/log.ts";
import { openOperatorPages } from "./open-operator-pages.ts";
import { withLog } from "./operator-log.ts";
import { inEnvelope, openingParts } from "./public-endpoints.ts";
import { listenerUrl } from "./public-url.ts";
import type { Stores } from "./stores.ts";

const ANY_ADDRESS = ["0.0.0.0", "::"];
const LOOPBACK = ["127.0.0.1", "localhost", "::1"];

/** What both doors share: the serving, and what long bodies may take of memory. */
export interface DoorDeps extends ServeDeps {
  readonly bodies: BodyBytes;
}

/** How requests come in, at either door. */
function edge(config: Config, deps: DoorDeps) {
  return {
    clock: systemClock,
    trustProxy: config.trustProxy,
    spillFolder: config.dataDir,
    screen: (request, endpoint, body) => screen(request, endpoint, body, deps),
    openSocket: (request, endpoint) => openSocket(request, endpoint, deps),
    bodies: deps.bodies,
    answers: deps.answers,
    handle: (request, endpoint, reply) => serve(request, endpoint, reply, deps),
    refuse: (request, reply, error, errors) => refuseAtEdge(request, reply, error, { errors, deps }),
  } satisfies Partial<HttpOptions>;
}

export interface PublicDoor {
  readonly endpoints: readonly Endpoint[];
  /** Other processes listen on the same port. */
  readonly sharesPort: boolean;
}

/** Rejects where the port cannot be had. */
export function listenPublic(config: Config, deps: DoorDeps, door: PublicDoor): Promise<HttpServer> {
  return listen({
    ...edge(config, deps),
    host: config.host,
    port: config.port,
    exclusive: !door.sharesPort,
    endpoints: door.endpoints,
    cors: { announce: (request, reply) => tellAddress(request, reply, deps) },
    allowedHosts: null,
  });
}

type OfAdminParts = "readiness" | "metricsText" | "failedCalls" | "unsold" | "proofs" | "refusals";

export interface AdminDoor extends Pick<AdminParts, OfAdminParts> {
  readonly stores: Stores;
  /** What the operator can ask beside accounts and books. */
  readonly operator: readonly EndpointSpec[];
  readonly adminToken: string;
  readonly log: Log;
  /** The OpenID provider by which operators may sign in; null: there is none. */
  readonly openId: OpenIdProvider | null;
}

/** Rejects where the port cannot be had. */
export async function listenAdmin(config: Config, deps: DoorDeps, door: AdminDoor): Promise<HttpServer> {
  const { stores, operator } = door;
  const endpoints = adminEndpoints({
    ...openingParts(config, stores),
    ...door,
    rules: stores.records,
    forget: deps.forget,
    sandbox: config.sandbox,
    inferenceScope: INFERENCE_SCOPE,
    unpaid: { scope: UNPAID_SCOPE, marginScope: MARGIN_SCOPE, maxNano: deps.windows.unpaidNano },
    metricsContentType: deps.observer.contentType,
    metricsOpen: LOOPBACK.includes(config.adminHost),
  });
  const all = inEnvelope(withLog([...endpoints, ...operator], stores.records, systemClock));
  let port = config.adminPort;
  const base = () => config.adminUrl ?? listenerUrl(config.adminHost, port);
  const pages = config.pages ? openOperatorPages(all, { ...door, config, deps, base }) : [];
  const ownNames = config.adminUrl === null ? [] : [new URL(config.adminUrl).hostname];
  const server = await listen({
    ...edge(config, deps),
    host: config.adminHost,
    port: config.adminPort,
    endpoints: [...all, ...pages],
    cors: null,
    unknownPath: "admin_path",
    // Bound to every address, it cannot know the names it goes by.
    allowedHosts: ANY_ADDRESS.includes(config.adminHost) ? null : ownNames,
  });
  ({ port } = server);
  return server;
}
