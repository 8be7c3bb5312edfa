// What an attempt has learned that has heard nothing yet.
import type { Reading } from "../core/route.ts";

export const NOTHING_READ: Reading = {
  usage: null,
  delivered: { text: "", bytes: 0 },
  upstreamCostNano: null,
  skippedEvents: 0,
};
