// The thread that takes pages apart: one at a time, whatever its sender wrote into them.
import { parentPort } from "node:worker_threads";
import { type ExtractOrder, extractPage } from "./extract-page.ts";

parentPort?.on("message", (order: ExtractOrder) => {
  try {
    parentPort?.postMessage({ extracted: extractPage(order) });
  } catch (error) {
    parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
  }
});
parentPort?.postMessage({ isReady: true });
