// Outgoing safety: resolves a host that a caller chose to addresses that are all public, or to none.
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { systemClock } from "../core/clock.ts";
import type { Proxies } from "../core/proxies.ts";
import { isPublicAddress } from "./public-address.ts";
import { createResolveName, type ResolveName } from "./public-names.ts";
import type { PublicUrl } from "./public-url.ts";

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
