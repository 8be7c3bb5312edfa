// The sidecar processes of this process: one for each file and key.
import type { Adapter } from "../../catalog/catalog.ts";
import type { Clock } from "../../core/clock.ts";
import { destinationOf, type Proxies } from "../../core/proxies.ts";
import { Sidecar } from "./sidecar.ts";

export interface Sidecars {
  /** Null: the vendor has HTTP, or a server takes its place. */
  of(adapter: Adapter, key: string): Sidecar | null;
  close(): Promise<void>;
}

/** None is started before it is asked. */
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
