// Outgoing safety: what a public address is, and hosts that a caller chose, resolved to addresses that are all public, or to none.

import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { systemClock } from "../core/clock.ts";
import type { Proxies } from "../core/proxies.ts";
import type { PublicUrl } from "./public-url.ts";

/**
 * Routed like public addresses, but each machine finds its own host there: 168.63.129.16 serves the settings and keys of virtual machines
 * at one large cloud. Other clouds use addresses in ranges that are refused anyway.
 */
const HOST_SERVICES = new Set(["168.63.129.16"]);

/** All public IPv6 allocations so far. Addresses outside, such as `::127.0.0.1`, lead elsewhere. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * True for an address that the whole internet can reach. False for private, carrier-shared, loopback, link-local, multicast and reserved
 * addresses, for those for documentation or measurements, for IPv6 addresses with an embedded IPv4 address (mapped, translated, 6to4,
 * Teredo), and for anything that is not a plain address. Ranges: IANA's special-purpose registries, as in ipaddr.js.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes("%") || HOST_SERVICES.has(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}

const QUERY_MS_MAX = 3_000;
const TRIES = 2;
const NO_SUCH_NAME = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

/** All addresses of a name; none if the name does not exist. Rejects if the lookup failed. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Queries the machine's name servers (or `servers`) directly. That bypasses its hosts file and search domains, which name internal hosts,
 * and Node's small thread pool, which file reads share and slow name servers chosen by callers could exhaust.
 */
export function createResolveName(servers: readonly string[] | null = null): ResolveName {
  return async (name, signal) => {
    const resolver = new Resolver({ timeout: QUERY_MS_MAX, tries: TRIES });
    if (servers !== null) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = found.flatMap((family) => (family.status === "fulfilled" ? family.value : []));
      const broken = found.find((family) => family.status === "rejected" && !NO_SUCH_NAME.has(family.reason?.code));
      if (addresses.length === 0 && broken?.status === "rejected") throw broken.reason;
      return addresses;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };
}

/** Listing this machine's addresses takes as long as connecting does. */
const OWN_ADDRESSES_KEPT_MS = 1_000;

export interface PublicAddressesOptions {
  readonly resolve?: ResolveName;
  /** This machine's addresses: services on them may trust it. Default: those of its network interfaces. */
  readonly ownAddresses?: () => readonly string[];
  /** `address:port` pairs that count as public; for tests only, no setting sets it. */
  readonly allowForTests?: readonly string[];
  /** Also allows internal names, private addresses and any port: only where the operator asked for it. */
  readonly mayBeInner?: boolean;
  /** Proxies to connect through, to an address checked here. Default: none. */
  readonly proxies?: Proxies;
}

/** All addresses of the name; none if any of them is not public. */
export type PublicAddresses = (
  place: Pick<PublicUrl, "host" | "port">,
  signal: AbortSignal,
) => Promise<readonly string[]>;

function interfaceAddresses(): () => readonly string[] {
  let addresses: readonly string[] = [];
  let untilMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = systemClock.elapsedMs();
    if (nowMs >= untilMs) {
      untilMs = nowMs + OWN_ADDRESSES_KEPT_MS;
      addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
    }
    return addresses;
  };
}

export function createPublicAddresses(options: PublicAddressesOptions): PublicAddresses {
  const { resolve = createResolveName(), ownAddresses = interfaceAddresses(), allowForTests = [] } = options;
  const { mayBeInner = false } = options;
  return async ({ host, port }, signal) => {
    const found = isIP(host) === 0 ? await resolve(host, signal) : [host];
    const own = new Set(ownAddresses());
    const fit = (address: string) =>
      mayBeInner || allowForTests.includes(`${address}:${port}`) || (isPublicAddress(address) && !own.has(address));
    return found.every(fit) ? found : [];
  };
}
