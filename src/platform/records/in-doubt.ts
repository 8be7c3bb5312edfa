// Open outcomes, such as payments without a conclusive answer: checks all of them every half minute until each is known.
import type { Clock } from "../../core/clock.ts";

const LOOK_MS = 30_000;

export interface InDoubtParts<Doubt, State> {
  readonly open: () => Promise<readonly Doubt[]>;
  readonly sinceMs: (doubt: Doubt) => number;
  /** The outcome of one; `open`, or a rejection: not known yet. */
  readonly stateOf: (doubt: Doubt) => Promise<State>;
  /** While it is younger than this, its own call settles it. */
  readonly ownMs: number;
  readonly clock: Clock;
  readonly onBroken: (error: unknown) => void;
}

/** Runs one look at a time; callers during a look share its result. */
export function inDoubt<Doubt, State extends string>(parts: InDoubtParts<Doubt, State | "open">) {
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
    /** Checks all open for at least this long (default: what a call's own settlement takes); returns the outcomes. */
    look: lookOnce,
    /** As of the last look. */
    seen: () => ({
      count: left.length,
      oldestMs: left.length === 0 ? 0 : Math.max(0, clock.epochMs() - Math.min(...left)),
    }),
    start(): void {
      timer = setInterval(() => void lookOnce().catch(onBroken), LOOK_MS);
      timer.unref();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await looking?.catch(() => {});
    },
  };
}
