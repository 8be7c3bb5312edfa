// How a gateway ends: it stops accepting, lets running answers finish and their charges be made, and closes what it opened.
import { systemClock } from "../core/clock.ts";
import type { HttpServer } from "../edge/http/server.ts";
import type { Config } from "../platform/config.ts";
import type { Observer } from "../platform/observe/observer.ts";

const LOOK_MS = 20;
/** Connections that rest between two requests learn with the next one that they should go elsewhere. */
const RETIRE_MS_MIN = 1_000;
/** How long the calls that were cut off may take to be settled. */
const SETTLE_MS_MAX = 10_000;

/** Whether the gateway is on its way out: a caller who asks for something new is told so. */
export interface Phase {
  draining: boolean;
}

export interface DrainParts {
  readonly config: Config;
  readonly phase: Phase;
  /** Null: this process has none. */
  readonly publicServer: HttpServer | null;
  readonly adminServer: HttpServer | null;
  readonly observer: Observer;
  /** Closes what is behind the listeners, when the last charge has been made. */
  readonly closeParts: () => Promise<void>;
}

export interface Drain {
  /** Answers are given up to the configured time. A second call waits for the first. */
  drain(): Promise<void>;
  /** The same where other processes share the port: no caller is turned away, and running answers have all the time they may take. */
  retire(): Promise<void>;
}

/** Looks until `isQuiet`, for at most `msMax`. */
async function quiet(isQuiet: () => boolean, msMax: number): Promise<void> {
  const untilMs = systemClock.elapsedMs() + msMax;
  while (!isQuiet() && systemClock.elapsedMs() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

export function createDrain({ config, phase, publicServer, adminServer, observer, closeParts }: DrainParts): Drain {
  const answered = (): boolean => publicServer === null || publicServer.openRequests() === 0;

  async function leave(): Promise<void> {
    phase.draining = true;
    publicServer?.stopAccepting();
    await quiet(answered, config.drainMs);
    publicServer?.close();
    adminServer?.close();
    // Whose connection has gone has been charged or released only when its request has ended.
    await quiet(() => observer.inFlight() === 0, SETTLE_MS_MAX);
    await closeParts();
  }

  let left: Promise<void> | null = null;
  function drain(): Promise<void> {
    left ??= leave();
    return left;
  }

  return {
    drain,
    async retire() {
      publicServer?.handOver();
      await quiet(() => phase.draining, RETIRE_MS_MIN);
      await quiet(() => phase.draining || answered(), config.wholeMsMax);
      await drain();
    },
  };
}
