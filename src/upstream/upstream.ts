// The gateway's outbound side: connections, keys and route health of this process, and the candidates that use them.

import type { MerchantPayerFor } from "../catalog/auth.ts";
import type { ActionOffer, Adapter, Offer, UnitOffer } from "../catalog/catalog.ts";
import type { SessionContext } from "../catalog/session.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { getOrMake } from "../core/maps.ts";
import { destinationOf, NO_PROXIES, type Proxies, withoutPassword } from "../core/proxies.ts";
import type { AttemptFailure } from "../core/route.ts";
import { createAccessTokens, type Login, loginAt, type Paying, plainLogins } from "./access-tokens.ts";
import { type ActionOrder, actionCandidate, ReadyAction } from "./action-candidate.ts";
import { BatchClient, type BatchClientOrder } from "./batch-client.ts";
import { createConnections } from "./connections.ts";
import { MediaFetcher, type UnpaidLinks } from "./fetch-media.ts";
import type { Dialects } from "./format-kit/dialect.ts";
import type { KeyRing } from "./key-ring.ts";
import { type ChatOrder, chatCandidate, type UnitOrder, type UnpricedUsage, unitCandidate } from "./model-candidate.ts";
import { createMovedConversations } from "./moved-conversations.ts";
import { createPublicFetch, type PublicFetch } from "./public-fetch.ts";
import { createRouteFailures } from "./route-failures.ts";
import { RouteHealth } from "./route-health.ts";
import { createSidecars } from "./sidecar/sidecar.ts";
import { createVendorRateLimiter } from "./vendor-rate-limiter.ts";
import { readyVendor, type Vendor } from "./vendor-request.ts";
import { runVendorScript, type ScriptOrder } from "./vendor-script.ts";
import { openVendorSocket, type VendorSocketOrder } from "./vendor-socket.ts";

const KEY_REST_MS = 60_000;
const KEY_REST_RATE_LIMITED_MS = 5_000;

export type Upstream = ReturnType<typeof createUpstream>;

/** A vendor rejected our key as invalid, or because its balance is used up. */
export interface RefusedKey {
  readonly adapter: Adapter;
  /** The rejected one of the adapter's keys. */
  readonly key: string;
  readonly failure: AttemptFailure;
}

export interface UpstreamOptions {
  readonly dialects: Dialects;
  /** Called at most once per rest of a key. */
  readonly onRefusedKey?: (refused: RefusedKey) => void;
  /** Fetches links that a vendor cannot open. */
  readonly publicFetch?: PublicFetch;
  /** Counts the links that an account had opened in unpaid calls. */
  readonly unpaidLinks?: UnpaidLinks;
  readonly onUnpriced?: (told: UnpricedUsage) => void;
  /** Pays vendors that charge per call. */
  readonly merchantPayerFor?: MerchantPayerFor;
  /** Use HTTP/2 where vendors offer it, unless their adapter says otherwise. Default: false. */
  readonly http2?: boolean;
  /** Default: none. */
  readonly proxies?: Proxies;
}

/** A failure that is our key's fault rests the key; the candidate may retry at once if another key is usable. */
function keyRests(of: {
  readonly ringOf: (adapter: Adapter) => KeyRing;
  /** Drops a token of this key that is no longer valid. */
  readonly forget: (adapter: Adapter, key: string) => void;
  readonly onRefusedKey: (refused: RefusedKey) => void;
}) {
  return (adapter: Adapter, key: string, failure: AttemptFailure): AttemptFailure => {
    const auth = failure.kind === "provider_auth_failed" || failure.kind === "provider_billing";
    if (!auth && failure.kind !== "provider_rate_limited") return failure;
    const ring = of.ringOf(adapter);
    if (auth) of.forget(adapter, key);
    if (auth && adapter.ownKey !== true && !ring.rests(key)) of.onRefusedKey({ adapter, key, failure });
    const restMs = auth ? KEY_REST_MS : (failure.retryAfterMs ?? KEY_REST_RATE_LIMITED_MS);
    const rested = { ...failure, spareKey: ring.rest(key, restMs) };
    // The caller's own key was refused, so tell the caller, who can fix it, if no other candidate remains.
    if (!auth || adapter.ownKey !== true) return rested;
    return { ...rested, told: new GatewayError("provider_key_refused", { detail: { provider: adapter.id } }) };
  };
}

/** Opens no connection before the first call. */
export function createUpstream(clock: Clock, options: UpstreamOptions) {
  const { onRefusedKey = () => {}, publicFetch = createPublicFetch(options), unpaidLinks = null } = options;
  const { onUnpriced = () => {}, merchantPayerFor = () => null, http2 = false, proxies = NO_PROXIES } = options;
  const mediaFetcher = new MediaFetcher(publicFetch.open, unpaidLinks);
  const { dispatcher, ...connections } = createConnections(clock, http2, proxies);
  const tokens = createAccessTokens(clock, dispatcher);
  const loginParts = { tokens, clock, merchantPayerFor };
  const logins = plainLogins(loginParts);
  const sidecars = createSidecars(clock, proxies);
  const loginOf = (adapter: Adapter, key: string, paying?: Paying): Login =>
    paying === undefined ? logins.of(adapter, key) : loginAt(adapter, key, loginParts, paying);
  const failures = createRouteFailures(clock);
  const vendors = new WeakMap<Adapter, Vendor>();
  const readyOffers = new WeakMap<ActionOffer, ReadyAction>();

  const makeVendor = (adapter: Adapter) => {
    connections.keepFor(adapter);
    return readyVendor(adapter, clock);
  };
  const vendorOf = (adapter: Adapter) => getOrMake(vendors, adapter, makeVendor);

  const restKey = keyRests({ ringOf: (adapter) => vendorOf(adapter).ring, forget: tokens.forget, onRefusedKey });
  const parts = {
    dialects: options.dialects,
    dispatcher,
    clock,
    vendorOf,
    ringOf: (adapter: Adapter) => vendorOf(adapter).ring,
    restKey,
    limiter: createVendorRateLimiter(clock),
    sidecarOf: sidecars.of,
    loginOf,
    mediaFetcher,
    readyOf: (offer: ActionOffer) => getOrMake(readyOffers, offer, () => new ReadyAction(offer)),
    onUnpriced,
  };

  return {
    health: new RouteHealth(clock, failures),
    failures,
    /** The proxy for an address, without its password; null for a direct connection. */
    proxyOf(address: string): string | null {
      const proxy = proxies.proxyFor(destinationOf(new URL(address)));
      return proxy && withoutPassword(proxy.href).replace(/\/$/, "");
    },
    moved: createMovedConversations(clock),
    actionCandidate: (offer: ActionOffer, order: ActionOrder) => actionCandidate(offer, order, parts),
    /** Runs an adapter's script outside any call. Throws VendorFailure, or an exception of the script's. */
    vendorScript: <T>(script: (context: SessionContext) => Promise<T>, order: ScriptOrder): Promise<T> =>
      runVendorScript(script, order, parts),
    /** Makes the candidate of one offer; returns a reason if the offer cannot serve this request. */
    chatCandidate: (offer: Offer, order: ChatOrder) => chatCandidate(offer, order, parts),
    unitCandidate: (offer: UnitOffer, order: UnitOrder) => unitCandidate(offer, order, parts),
    batchClient: (adapter: Adapter, order: BatchClientOrder) => new BatchClient(adapter, order, parts),
    vendorSocket: (offer: UnitOffer, order: VendorSocketOrder) => openVendorSocket(offer, order, parts),
    async close(): Promise<void> {
      publicFetch.close();
      await Promise.all([connections.close(), sidecars.close()]);
    },
  };
}
