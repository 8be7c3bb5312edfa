// How a gateway shuts down: stops accepting requests, lets running answers finish and settle, and closes what it opened.

import { systemClock } from "../core/clock.ts";
import type { HttpServer } from "../edge/http/server.ts";
import type { Foundation } from "./open-foundation.ts";

export class Opened {
  readonly #closes: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#closes.push(close);
  }

  /** Closes everything, even where closing one part fails; then rejects with the first failure. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closes.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

const LOOK_MS = 20;
/** Idle connections learn with their next request to reconnect elsewhere. */
const RETIRE_MS_MIN = 1_000;
/** How long interrupted calls may take to settle. */
const SETTLE_MS_MAX = 10_000;

/** While the gateway drains, new requests are refused. */
export interface Phase {
  draining: boolean;
}

async function quiet(isQuiet: () => boolean, msMax: number): Promise<void> {
  const untilMs = systemClock.elapsedMs() + msMax;
  while (!isQuiet() && systemClock.elapsedMs() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** Calls whose connection has closed are charged or released when their request ends: waits for that. */
export function settled({ observer }: Pick<Foundation, "observer">): Promise<void> {
  return quiet(() => observer.inFlight() === 0, SETTLE_MS_MAX);
}

/** `publicServer` is null where this process has none. */
export function createDrain({ config, phase, opened }: Foundation, publicServer: HttpServer | null) {
  const answered = (): boolean => publicServer === null || publicServer.openRequests() === 0;

  async function leave(): Promise<void> {
    phase.draining = true;
    publicServer?.stopAccepting();
    await quiet(answered, config.drainMs);
    await opened.close();
  }

  let left: Promise<void> | null = null;
  function drain(): Promise<void> {
    left ??= leave();
    return left;
  }

  return {
    /** Stops accepting requests, gives running answers the configured time, settles and closes everything. A second call waits for the first. */
    drain,
    /** The same where other processes share the port: refuses no request, and running answers have no time limit. */
    async retire() {
      publicServer?.handOver();
      await quiet(() => phase.draining, RETIRE_MS_MIN);
      await quiet(() => phase.draining || answered(), config.wholeMsMax);
      await drain();
    },
  };
}
