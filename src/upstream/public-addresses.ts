// Outgoing safety: the addresses that a host of a caller's choosing may be connected at, all of them public, or none.
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { systemClock } from "../core/clock.ts";
import type { Proxies } from "../core/proxies.ts";
import { isPublicAddress } from "./public-address.ts";
import { createResolveName, type ResolveName } from "./public-names.ts";
import type { PublicUrl } from "./public-url.ts";

/** Asking for the addresses of this machine takes as long as connecting does. */
const OWN_ADDRESSES_KEPT_MS = 1_000;

export interface PublicAddressesOptions {
  readonly resolve?: ResolveName;
  /** The addresses of this machine: what listens there may trust it. Default: those of its network interfaces. */
  readonly ownAddresses?: () => readonly string[];
  /** `address:port` pairs that count as public, for tests alone: no setting leads here. */
  readonly allowForTests?: readonly string[];
  /** Inner names, private addresses and any port as well: where the operator has said that he means them. */
  readonly mayBeInner?: boolean;
  /** What is connected to goes through these, at an address that was checked here. Default: none. */
  readonly proxies?: Proxies;
}

/** The addresses to connect to: all that the name has, or none where a single one is not public. */
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
