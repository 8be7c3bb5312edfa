// This process's sidecars: one for each helper file and key.
import type { Adapter } from "../../catalog/catalog.ts";
import type { Clock } from "../../core/clock.ts";
import { destinationOf, type Proxies } from "../../core/proxies.ts";
import { Sidecar } from "./sidecar.ts";

export interface Sidecars {
  /** Null if the vendor has HTTP, or a server replaces it. */
  of(adapter: Adapter, key: string): Sidecar | null;
  close(): Promise<void>;
}

/** Starts a sidecar only at its first request. */
export function createSidecars(clock: Clock, proxies: Proxies): Sidecars {
  const known = new Map<string, Sidecar>();
  return {
    of({ spec, origin, isSandbox }, key) {
      const { sidecar: file } = spec;
      if (file === undefined || isSandbox === true || origin !== spec.origin) return null;
      const name = `${file} ${key}`;
      const sidecar =
        known.get(name) ?? new Sidecar({ file, key, clock, proxy: proxies.proxyFor(destinationOf(new URL(origin))) });
      known.set(name, sidecar);
      return sidecar;
    },
    async close() {
      await Promise.all([...known.values()].map((sidecar) => sidecar.close()));
    },
  };
}
