// Counts a session's running commands and its busy time in one record that all processes share.
import type { Clock } from "../../core/clock.ts";
import type { Records } from "../../platform/records/records.ts";
import { revise } from "../../platform/records/revise.ts";

const KIND = "session-commands";
const KEPT_MS = 48 * 3_600_000;
/** Each command needs a connection to the vendor and memory for its output. */
export const COMMANDS_MAX = 4;

interface Commands {
  /** The latest end of each running command, by call id. */
  readonly running: Readonly<Record<string, number>>;
  /** Whole milliseconds in which at least one ran. */
  readonly busyMs: number;
  /** When the current busy period began; null: no command runs. */
  readonly sinceMs: number | null;
  readonly answeredMs: number | null;
}

const NONE: Commands = { running: {}, busyMs: 0, sinceMs: null, answeredMs: null };

/** Drops commands whose process must have died; their busy time counts up to their latest possible end. */
function current(commands: Commands, nowMs: number): Commands {
  const { running, busyMs, sinceMs } = commands;
  const left = Object.entries(running).filter(([, untilMs]) => untilMs > nowMs);
  if (sinceMs === null || left.length > 0) return { ...commands, running: Object.fromEntries(left) };
  const lastMs = Math.max(sinceMs, ...Object.values(running));
  return { ...commands, running: {}, busyMs: busyMs + Math.min(nowMs, lastMs) - sinceMs, sinceMs: null };
}

export interface SessionUse {
  readonly busyMs: number;
  readonly answeredMs: number | null;
}

export class SessionCommands {
  readonly #records: Records;
  readonly #clock: Clock;

  constructor(records: Records, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  begin(jobId: string, callId: string, msMax: number): Promise<boolean> {
    return this.#change(jobId, (commands, nowMs) => {
      if (Object.keys(commands.running).length >= COMMANDS_MAX) return null;
      const running = { ...commands.running, [callId]: nowMs + msMax };
      return { ...commands, running, sinceMs: commands.sinceMs ?? nowMs };
    });
  }

  async end(jobId: string, callId: string, answered: boolean): Promise<void> {
    await this.#change(jobId, (commands, nowMs) => {
      const { [callId]: _, ...running } = commands.running;
      const { sinceMs, busyMs } = commands;
      const isLast = Object.keys(running).length === 0 && sinceMs !== null;
      const answeredMs = answered ? nowMs : commands.answeredMs;
      if (!isLast) return { ...commands, running, answeredMs };
      return { running, answeredMs, busyMs: busyMs + Math.max(0, nowMs - sinceMs), sinceMs: null };
    });
  }

  async use(jobId: string, atMs: number): Promise<SessionUse> {
    const found = await this.#records.get(KIND, jobId);
    const { busyMs, sinceMs, answeredMs } = found === null ? NONE : current(JSON.parse(found.value), atMs);
    return { busyMs: sinceMs === null ? busyMs : busyMs + Math.max(0, atMs - sinceMs), answeredMs };
  }

  async forget(jobId: string): Promise<void> {
    await this.#records.delete(KIND, jobId);
  }

  async #change(jobId: string, change: (commands: Commands, nowMs: number) => Commands | null): Promise<boolean> {
    let isChanged = false;
    await revise(this.#records, { kind: KIND, id: jobId, payer: null, ttlMs: KEPT_MS }, (value) => {
      const nowMs = Math.floor(this.#clock.epochMs());
      const changed = change(value === null ? NONE : current(JSON.parse(value), nowMs), nowMs);
      isChanged = changed !== null;
      return changed && JSON.stringify(changed);
    });
    return isChanged;
  }
}
