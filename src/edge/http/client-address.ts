// Determines the client's address: the socket's, or the one from trusted proxies.
import { isIP } from "node:net";

/** A socket's address in canonical form, from its 4 or 16 bytes or from text. Empty if the socket has closed. */
export function addressText(address: ArrayBuffer | string): string {
  if (typeof address === "string") return normalAddress(address) ?? "";
  const bytes = new Uint8Array(address);
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (bytes.length !== 16) return "";
  if (isMapped(bytes)) return `${bytes[12]}.${bytes[13]}.${bytes[14]}.${bytes[15]}`;
  return ipv6Text(bytes);
}

/** `::ffff:a.b.c.d` is how a dual-stack socket shows an IPv4 client. */
function isMapped(bytes: Uint8Array): boolean {
  return bytes[10] === 0xff && bytes[11] === 0xff && bytes.subarray(0, 10).every((byte) => byte === 0);
}

/** Eight groups without leading zeros; not shortened with `::`, so that equal addresses have equal text. */
function ipv6Text(bytes: Uint8Array): string {
  const groups: string[] = [];
  for (let i = 0; i < 16; i += 2) groups.push((((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)).toString(16));
  return groups.join(":");
}

/**
 * The client's address behind `proxies` trusted proxies. Each proxy appends the address it saw to X-Forwarded-For. So with n trusted
 * proxies, the n-th entry from the right is what the outermost one saw; the client could have made up the entries to its left. If the list
 * is too short or the entry is not an address, returns the socket's address.
 */
export function clientAddress(socketAddress: string, forwardedFor: string, proxies: number): string {
  if (proxies === 0 || forwardedFor === "") return socketAddress;
  const entries = forwardedFor.split(",");
  return normalAddress(entries.at(-proxies)?.trim() ?? "") ?? socketAddress;
}

/** An address as a proxy writes it, with or without port and brackets, in canonical form; null if it is not an address. */
function normalAddress(written: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(written)?.[1] ?? /^([\d.]+):\d+$/.exec(written)?.[1] ?? written;
  const family = isIP(bare);
  if (family === 4) return bare;
  return family === 6 && !bare.includes("%") ? ipv6Normal(bare) : null;
}

function ipv6Normal(text: string): string {
  const bytes = new Uint8Array(16);
  const [before = "", after] = text.split("::");
  const head = ipv6Bytes(before);
  const tail = ipv6Bytes(after ?? "");
  bytes.set(head, 0);
  bytes.set(tail, 16 - tail.length);
  return addressText(bytes.buffer);
}

function ipv6Bytes(groups: string): number[] {
  if (groups === "") return [];
  return groups.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
