// The gateway's two listeners, for callers and for the operator, in front of the same request handling.

import { systemClock } from "../core/clock.ts";
import { type Certificate, readCertificate } from "../edge/http/certificate.ts";
import type { ConnectionLimits, Engine } from "../edge/http/engine.ts";
import { type HttpOptions, type HttpServer, listen } from "../edge/http/server.ts";
import { tellAddress } from "../edge/serve/admit.ts";
import { openSocket } from "../edge/serve/open-socket.ts";
import { refuseAtEdge } from "../edge/serve/refuse.ts";
import { screen } from "../edge/serve/screen.ts";
import { serve } from "../edge/serve/serve.ts";
import { certificateEndpoints } from "../edge/web/console/certificates.ts";
import { withLog } from "../edge/web/console/operator-log.ts";
import { MARGIN_SCOPE, UNPAID_SCOPE } from "../kernel/windows.ts";
import { type AdminParts, adminEndpoints } from "../money/accounts/admin-endpoints.ts";
import { adminProviderKeyEndpoints } from "../money/accounts/shared-endpoints.ts";
import { adminEventEndpoints } from "../money/events/event-endpoints.ts";
import { INFERENCE_SCOPE } from "../money/ledger/model/state.ts";
import { adminRunEndpoints } from "../money/runs/run-endpoints.ts";
import type { Config } from "../platform/config.ts";
import { openAccountPages, openMcp, openOperatorPages } from "./open-edge.ts";
import { type Foundation, listenerUrl } from "./open-foundation.ts";
import type { Work } from "./open-work.ts";
import { operatorEndpoints } from "./operator-endpoints.ts";
import { inEnvelope, openingParts, providerKeyParts, publicEndpoints, runParts } from "./public-endpoints.ts";
import { explained, refusalsIn } from "./refused-key.ts";
import { requestLogEndpoints } from "./request-log.ts";
import type { Setup } from "./setup.ts";

/** Throws a sentence for the operator if the files do not make a certificate. */
export function openCertificate({ config, observer }: Foundation) {
  const { tlsCert, tlsKey } = config;
  const read = () => (tlsCert === null || tlsKey === null ? null : readCertificate(tlsCert, tlsKey));
  let current = read();
  observer.onScrape(({ certificateEnd }) => certificateEnd.set((current?.endMs ?? 0) / 1_000));
  return {
    current: () => current,
    /** Reads the files again. On an error the old certificate stays in use. */
    async reload(server: HttpServer | null) {
      const next = read();
      if (next === null) return;
      await server?.setCertificate(next);
      current = next;
    },
  };
}

const ANY_ADDRESS = ["0.0.0.0", "::"];
const LOOPBACK = ["127.0.0.1", "localhost", "::1"];

function edge(config: Config, deps: Work["deps"]) {
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

/** Opens the public listener. Null: this process serves no callers. Rejects where the port is taken. */
export async function openPublic(
  foundation: Foundation,
  work: Work,
  engine: Engine,
  certificate: Certificate | null,
): Promise<HttpServer | null> {
  const { options, config, url, opened } = foundation;
  const { role } = options;
  const { deps } = work;
  if (role?.kind === "parent" || (role?.kind === "child" && !role.serves)) return null;
  const endpoints = publicEndpoints(foundation, work);
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

/** Opens the admin listener, which shows this process, or all processes that it reports for. Rejects where the port is taken. */
export async function openAdmin(
  foundation: Foundation,
  work: Work,
  engine: Engine,
  { setup, ...shown }: Pick<AdminParts, "readiness" | "metricsText"> & { readonly setup: () => Promise<Setup> },
): Promise<HttpServer> {
  const { config, catalog, stores, upstream, failedCalls, wallets, opened } = foundation;
  const { deps, callers, anonymousPayers, events, requestLog } = work;
  const { records } = stores;
  const endpoints = adminEndpoints({
    ...openingParts(config, stores),
    ...shown,
    unsold: work.unsold,
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
    ...adminRunEndpoints(runParts(foundation, work), { books: stores.ledger, forget: deps.forget }),
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
