// Says under which key the requests of an address are counted.

/**
 * What requests of an address are counted under: an IPv4 address by itself, an IPv6 address by its first 64 bits, since who
 * has one IPv6 address has 2^64 of them.
 */
export function addressWindowKey(address: string): string {
  return address.includes(":") ? `${address.split(":", 4).join(":")}::/64` : address;
}
