// The shipped catalog, as a gateway without settings loads it.
import type { Catalog } from "../../src/catalog/catalog.ts";
import { type LoadOptions, loadCatalog } from "../../src/catalog/load.ts";
import { systemClock } from "../../src/core/clock.ts";

/** `changes` are a test's settings. */
export function shippedCatalog(changes: Partial<LoadOptions> = {}): Promise<Catalog> {
  return loadCatalog({
    env: {},
    clock: systemClock,
    sandboxOrigin: "http://sandbox.test",
    contact: null,
    overlayDir: null,
    markupPercent: 0,
    allowLoss: false,
    ...changes,
  });
}
