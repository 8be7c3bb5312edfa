// Loads the configured HTTP engine, or the one that this Node.js can run.
import type { Engine, EngineName } from "./engine.ts";

type Uws = typeof import("uWebSockets.js");

/**
 * Loads the engine `name`, or the node engine if uWebSockets.js has no binary for this Node.js; `warn` gets one line about that.
 *
 * uWebSockets.js reads UWS_HTTP_MAX_HEADERS_SIZE (4 KiB without it) from the environment once, when it is loaded here.
 */
export async function loadEngine(
  name: EngineName,
  warn: (line: string) => void,
  loadUws: () => Promise<Uws> = () => import("uWebSockets.js"),
): Promise<Engine> {
  if (name === "uws") {
    try {
      const uws = await loadUws();
      return (await import("./uws-engine.ts")).uwsEngine(uws);
    } catch (error) {
      const reason = (error as Error).message.split("\n", 1)[0];
      warn(`HTTP_ENGINE=node is used, because uWebSockets.js did not load: ${reason}`);
    }
  }
  return (await import("./node-engine.ts")).nodeEngine;
}
