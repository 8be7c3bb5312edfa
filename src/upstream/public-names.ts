// Outgoing safety, second check: resolves a name once, so that we connect to the addresses that were checked.
import { Resolver } from "node:dns/promises";

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
