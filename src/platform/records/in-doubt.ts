// What is in doubt, such as a payment that no good answer came to: all of it is asked for every half minute, until it is known what became of each.
import type { Clock } from "../../core/clock.ts";

const LOOK_MS = 30_000;

export interface InDoubtParts<Doubt, State> {
  /** All that is in doubt now. */
  readonly open: () => Promise<readonly Doubt[]>;
  readonly sinceMs: (doubt: Doubt) => number;
  /** What became of one; `open`: it is not known yet, as where this rejects. */
  readonly stateOf: (doubt: Doubt) => Promise<State>;
  /** What is younger is its own call's to settle. */
  readonly ownMs: number;
  readonly clock: Clock;
  readonly onBroken: (error: unknown) => void;
}

export interface InDoubt<State> {
  start(): void;
  stop(): Promise<void>;
  /** Looks once at all that has been open for so long, by default for what a call's own settlement takes; answers what became of each. */
  look(openMsMin?: number): Promise<readonly State[]>;
  /** As the last look left it. */
  seen(): { readonly count: number; readonly oldestMs: number };
}

/** One look at a time: who asks while one goes on hears of that. */
export function inDoubt<Doubt, State extends string>(
  parts: InDoubtParts<Doubt, State | "open">,
): InDoubt<State | "open"> {
  const { open: opened, sinceMs, stateOf, ownMs, clock, onBroken } = parts;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<readonly (State | "open")[]> | null = null;
  let left: readonly number[] = [];

  async function look(openMsMin: number): Promise<readonly (State | "open")[]> {
    const nowMs = clock.epochMs();
    const due = (await opened()).filter((doubt) => nowMs - sinceMs(doubt) >= openMsMin);
    const states: (State | "open")[] = [];
    for (const doubt of due) {
      const state = await stateOf(doubt).catch((error: unknown) => {
        onBroken(error);
        return "open" as const;
      });
      states.push(state);
    }
    left = due.filter((_, at) => states[at] === "open").map(sinceMs);
    return states;
  }

  const lookOnce = (openMsMin = ownMs) => {
    looking ??= look(openMsMin).finally(() => {
      looking = null;
    });
    return looking;
  };
  return {
    look: lookOnce,
    seen: () => ({
      count: left.length,
      oldestMs: left.length === 0 ? 0 : Math.max(0, clock.epochMs() - Math.min(...left)),
    }),
    start() {
      timer = setInterval(() => void lookOnce().catch(onBroken), LOOK_MS);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await looking?.catch(() => {});
    },
  };
}
