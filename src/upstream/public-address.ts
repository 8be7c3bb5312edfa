// Outgoing safety, the last question: whether an address may be connected to on behalf of a caller.
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * Routed like public addresses, and yet what a machine finds there is its own host: 168.63.129.16 hands out the settings and
 * keys of virtual machines at one large cloud. The other clouds' such addresses lie in ranges that are refused anyway.
 */
const HOST_SERVICES = new Set(["168.63.129.16"]);

/** All of IPv6 that is handed out to the public so far. What lies outside, `::127.0.0.1` for one, leads elsewhere. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * True for an address that anybody on the internet could connect to. False for what is private, shared by carriers, loopback,
 * link-local, multicast, reserved, for documentation or measurements, for IPv6 addresses that carry an IPv4 address
 * inside (mapped, translated, 6to4, Teredo), and for what is no plainly written address. Ranges: IANA's special-purpose
 * registries, as ipaddr.js has them.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes("%") || HOST_SERVICES.has(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}
