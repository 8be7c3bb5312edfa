// The reading of an attempt that has received nothing yet.
import type { Reading } from "../core/route.ts";

export const NOTHING_READ: Reading = {
  usage: null,
  delivered: { text: "", bytes: 0 },
  upstreamCostNano: null,
  skippedEvents: 0,
};
