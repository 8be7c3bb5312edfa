// Outgoing safety, the second question: which addresses a name has, asked once, so that what was checked is what is connected to.
import { Resolver } from "node:dns/promises";

const QUERY_MS_MAX = 3_000;
const TRIES = 2;
const NO_SUCH_NAME = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

/** All addresses of a name; none where the name does not exist. Rejects where that could not be found out. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Asks the name servers of the machine (`servers`: others) itself, past its hosts file and its search domains, which name
 * inner hosts; and off the few threads that reading files needs too, where slow name servers of callers' choosing would
 * fill them.
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
