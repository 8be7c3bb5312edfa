// The gateway's two listeners, for callers and for the operator, in front of the same request handling.

import { systemClock } from "../core/clock.ts";
import type { Certificate } from "../edge/http/certificate.ts";
import type { ConnectionLimits, Engine } from "../edge/http/engine.ts";
import { type HttpOptions, type HttpServer, listen } from "../edge/http/server.ts";
import { tellAddress } from "../edge/serve/admit.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import { openSocket } from "../edge/serve/open-socket.ts";
import { refuseAtEdge } from "../edge/serve/refuse.ts";
import { screen } from "../edge/serve/screen.ts";
import { serve } from "../edge/serve/serve.ts";
import { MARGIN_SCOPE, UNPAID_SCOPE } from "../kernel/windows.ts";
import { type AdminParts, adminEndpoints } from "../money/accounts/admin-endpoints.ts";
import type { Unsold } from "../money/accounts/allowed.ts";
import { adminProviderKeyEndpoints } from "../money/accounts/provider-key-endpoints.ts";
import { adminEventEndpoints } from "../money/events/event-endpoints.ts";
import { INFERENCE_SCOPE } from "../money/ledger/model/state.ts";
import { adminRunEndpoints } from "../money/runs/run-endpoints.ts";
import type { Config } from "../platform/config.ts";
import type { BodyBytes } from "../platform/limits/body-bytes.ts";
import { certificateEndpoints } from "./certificates.ts";
import { openAccountPages, openMcp, openOperatorPages } from "./open-edge.ts";
import type { Foundation } from "./open-foundation.ts";
import type { Work } from "./open-work.ts";
import { operatorEndpoints } from "./operator-endpoints.ts";
import { withLog } from "./operator-log.ts";
import { inEnvelope, openingParts, providerKeyParts, publicEndpoints, runParts } from "./public-endpoints.ts";
import { listenerUrl } from "./public-url.ts";
import { explained, refusalsIn } from "./refused-key.ts";
import { requestLogEndpoints } from "./request-log.ts";
import type { Setup } from "./setup.ts";

const ANY_ADDRESS = ["0.0.0.0", "::"];
const LOOPBACK = ["127.0.0.1", "localhost", "::1"];

/** What both listeners need: request handling, and the memory limit for long bodies. */
export interface DoorDeps extends ServeDeps {
  readonly bodies: BodyBytes;
}

/** How either listener accepts requests. */
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

/** Behind proxies all callers have the last proxy's address. */
function connectionLimits(config: Config): ConnectionLimits {
  const { trustProxy, connectionsPerAddress, requestsPerConnection, headerMsMax, idleMsMax } = config;
  return {
    connectionsPerAddress: trustProxy > 0 ? 0 : connectionsPerAddress,
    requestsPerConnection,
    headerMsMax,
    idleMsMax,
  };
}

interface PublicParts {
  readonly engine: Engine;
  readonly unsold: Unsold;
  readonly certificate: Certificate | null;
}

/** Opens the public listener. Null: this process serves no callers. Rejects where the port is taken. */
export async function openPublic(
  foundation: Foundation,
  work: Work,
  { engine, unsold, certificate }: PublicParts,
): Promise<HttpServer | null> {
  const { options, config, url, opened } = foundation;
  const { role } = options;
  const { deps } = work;
  if (role?.kind === "parent" || (role?.kind === "child" && !role.serves)) return null;
  const endpoints = publicEndpoints(foundation, work, unsold);
  const mcp = await openMcp(endpoints, foundation, deps);
  const pages = openAccountPages(endpoints, foundation, work);
  const server = await listen({
    ...edge(config, deps),
    engine,
    limits: connectionLimits(config),
    certificate,
    host: config.host,
    port: config.port,
    exclusive: role === undefined,
    endpoints: [...endpoints, ...mcp, ...pages],
    cors: { announce: (request, reply) => tellAddress(request, reply, deps) },
    allowedHosts: null,
  });
  opened.add(() => server.close());
  url.listensOn(server.port);
  return server;
}

/** What the admin listener shows: this process, or all processes that it reports for. */
interface Shown extends Pick<AdminParts, "readiness" | "metricsText" | "unsold"> {
  readonly setup: () => Promise<Setup>;
  readonly engine: Engine;
}

/** Opens the admin listener. Rejects where the port is taken. */
export async function openAdmin(foundation: Foundation, work: Work, shown: Shown): Promise<HttpServer> {
  const { config, catalog, stores, upstream, failedCalls, wallets, opened } = foundation;
  const { deps, callers, anonymousPayers, events, requestLog } = work;
  const { records } = stores;
  const { engine, setup, ...admin } = shown;
  const endpoints = adminEndpoints({
    ...openingParts(config, stores),
    ...admin,
    failedCalls: explained(failedCalls, catalog.current),
    proofs: [anonymousPayers?.prove ?? null, wallets.prove].filter((prove) => prove !== null),
    refusals: () => refusalsIn(upstream.failures, catalog.current()),
    rules: records,
    forget: deps.forget,
    sandbox: config.sandbox,
    inferenceScope: INFERENCE_SCOPE,
    unpaid: { scope: UNPAID_SCOPE, marginScope: MARGIN_SCOPE, maxNano: deps.windows.unpaidNano },
    metricsContentType: deps.observer.contentType,
    metricsOpen: LOOPBACK.includes(config.adminHost),
  });
  const operator = [
    ...operatorEndpoints(foundation, work, setup),
    ...certificateEndpoints(catalog.current, records),
    ...(anonymousPayers?.admin ?? []),
    ...wallets.admin,
    ...adminEventEndpoints(events),
    ...adminRunEndpoints(runParts(foundation, work, admin.unsold), { books: stores.ledger, forget: deps.forget }),
    ...requestLogEndpoints({ stores, log: requestLog, forget: deps.forget }),
    ...adminProviderKeyEndpoints(providerKeyParts(foundation, callers)),
  ];
  const all = inEnvelope(withLog([...endpoints, ...operator], records, systemClock));
  let port = config.adminPort;
  const base = () => config.adminUrl ?? listenerUrl(config.adminHost, port);
  const pages = config.pages ? openOperatorPages(all, foundation, work, base) : [];
  const ownNames = config.adminUrl === null ? [] : [new URL(config.adminUrl).hostname];
  const server = await listen({
    ...edge(config, deps),
    engine,
    host: config.adminHost,
    port,
    endpoints: [...all, ...pages],
    cors: null,
    unknownPath: "admin_path",
    // A listener bound to all addresses cannot know its own host names.
    allowedHosts: ANY_ADDRESS.includes(config.adminHost) ? null : ownNames,
  });
  opened.add(() => server.close());
  ({ port } = server);
  return server;
}
