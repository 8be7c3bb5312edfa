// Outgoing safety, third check: whether we may connect to an address on behalf of a caller.
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

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
