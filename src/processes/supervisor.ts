// Keeps a number of children running: replaces those that die, replaces all one by one, and shuts all down.
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { countedOnly, type Families, mergeMetrics, readMetrics } from "../platform/observe/merge-metrics.ts";
import { Child, type ChildPart, type WorkerStart } from "./child.ts";

/** The parent's timeouts and limits, in milliseconds. */
export interface Patience {
  /** From a child's start until it listens. */
  readonly startMsMax: number;
  /** A child that lives this long counts as a successful start. */
  readonly stableMs: number;
  /** Before the first restart; doubles with each further one. */
  readonly againMs: number;
  readonly againMsMax: number;
  /** The supervisor gives up after this many short lives in a row at every place. */
  readonly shortLivesMax: number;
  /** Between two checks of a child. */
  readonly lookMs: number;
  /** How long a child may take to answer a check. */
  readonly answerMsMax: number;
  /** A child that misses this many checks in a row hangs. More than one, since all timers have expired when a machine wakes from sleep. */
  readonly missedMax: number;
  /** How long a scrape waits for a child. */
  readonly scrapeMsMax: number;
}

export const PATIENCE: Patience = {
  startMsMax: 60_000,
  stableMs: 10_000,
  againMs: 200,
  againMsMax: 30_000,
  shortLivesMax: 5,
  lookMs: 5_000,
  answerMsMax: 10_000,
  missedMax: 3,
  scrapeMsMax: 2_000,
};

export interface SupervisorOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly count: number;
  /** The role of the child at a place; the first is 1. */
  readonly partOf: (place: number) => ChildPart;
  /** Each child has its own folder in it, `worker-<n>`. */
  readonly dataDir: string;
  /** The port that all children share; not 0. */
  readonly port: number;
  readonly sandboxUrl: string | null;
  /** How long children may take to leave: at a shutdown, and at a replacement. */
  readonly drainMsMax: number;
  readonly retireMsMax: number;
  readonly patience: Patience;
  readonly clock: Clock;
  readonly say: (sentence: string) => void;
  /** No child stays alive: the process should exit. */
  readonly onGivenUp: (error: Error) => void;
}

/** One of the wanted processes, whichever child currently fills it. */
interface Place {
  readonly number: number;
  child: Child | null;
  /** The folder of the current or the dead child: the next child continues with what was left there. */
  ownDir: string;
  shortLives: number;
  again: NodeJS.Timeout | null;
  /** Its child is being replaced: if the old one dies now, the new one is already starting. */
  replacing: boolean;
}

/** Starts `count` children. Rejects with a sentence where one exits before it listens. */
export async function startSupervisor(options: SupervisorOptions): Promise<Supervisor> {
  const supervisor = new Supervisor(options);
  await supervisor.start();
  return supervisor;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #places: readonly Place[];
  readonly #living = new Set<Child>();
  readonly #missed = new Map<Child, number>();
  /** The metrics of children that have exited: without them sums would fall, which looks like a restart of all. */
  #counted: Families = new Map();
  #started = false;
  #stopping = false;
  #looks: NodeJS.Timeout | null = null;
  #waitingRoll: Promise<void> | null = null;
  #lastRoll: Promise<void> = Promise.resolve();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#places = Array.from({ length: options.count }, (_, at) => {
      return { number: at + 1, child: null, ownDir: this.#dirOf(at + 1), shortLives: 0, again: null, replacing: false };
    });
  }

  async start(): Promise<void> {
    const [first, ...others] = this.#places;
    // Start one first to try the settings: a problem is then reported once.
    if (first !== undefined && (await this.#fill(first))) {
      const listening = await Promise.all(others.map((place) => this.#fill(place)));
      if (!listening.includes(false)) {
        this.#started = true;
        this.#looks = setInterval(() => this.#look(), this.#options.patience.lookMs).unref();
        // Restart those that died while the others started.
        for (const place of this.#places) if (place.child === null) this.#startAgain(place);
        return;
      }
    }
    await this.drain();
    throw new Error("a process ended before it listened; it has said why");
  }

  /** The number of processes that serve callers. */
  ready(): number {
    const { partOf } = this.#options;
    return this.#places.filter(({ number, child }) => partOf(number).serves && child?.isReady === true).length;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** The metrics of all children, including those that have exited, merged with the parent's own. */
  async metrics(own: Families): Promise<Families> {
    await Promise.all([...this.#living].map((child) => child.metrics(this.#options.patience.scrapeMsMax)));
    // Synchronously, so that a child that exits meanwhile is counted once.
    const now = [...this.#living].map(({ lastMetrics }) => readMetrics(lastMetrics));
    return mergeMetrics([own, this.#counted, ...now]);
  }

  /** Replaces the children one at a time; each old one leaves once its successor listens. A second call waits for the first. */
  roll(): Promise<void> {
    if (this.#waitingRoll !== null) return this.#waitingRoll;
    const roll = this.#lastRoll.then(async () => {
      this.#waitingRoll = null;
      for (const place of this.#places) if (!this.#stopping) await this.#replace(place);
    });
    this.#waitingRoll = roll;
    this.#lastRoll = roll.catch(() => {});
    return roll;
  }

  /** Shuts down all children concurrently; kills those that take too long. */
  async drain(): Promise<void> {
    this.#stopping = true;
    if (this.#looks !== null) clearInterval(this.#looks);
    for (const { again } of this.#places) if (again !== null) clearTimeout(again);
    const leaving = [...this.#living].map((child) => {
      if (child.isReady || child.leaving) child.leave("drain");
      // It has served no caller yet.
      else child.kill();
      return child.endWithin(this.#options.drainMsMax);
    });
    await Promise.all(leaving);
  }

  #launch({ number }: Place, ownDir: string): Child {
    const { file, args, clock, partOf, port, sandboxUrl } = this.#options;
    const start: WorkerStart = { kind: "start", part: partOf(number), ownDir, port, sandboxUrl };
    const child = new Child({ file, args, start, clock });
    this.#living.add(child);
    void child.ended.then((how) => this.#ended(child, how));
    return child;
  }

  /** Whether its child listens; false where it exited before, or took too long. */
  #fill(place: Place): Promise<boolean> {
    place.child = this.#launch(place, place.ownDir);
    return this.#listens(place.child);
  }

  async #listens(child: Child): Promise<boolean> {
    const timer = setTimeout(() => child.kill(), this.#options.patience.startMsMax);
    const listens = await child.ready;
    clearTimeout(timer);
    return listens;
  }

  #freeDir(): string {
    const taken = new Set([...this.#living, ...this.#places].map(({ ownDir }) => ownDir));
    for (let number = 1; ; number++) {
      const folder = this.#dirOf(number);
      if (!taken.has(folder)) return folder;
    }
  }

  #dirOf(number: number): string {
    return join(this.#options.dataDir, `worker-${number}`);
  }

  #ended(child: Child, how: string): void {
    this.#living.delete(child);
    this.#missed.delete(child);
    this.#counted = mergeMetrics([this.#counted, countedOnly(readMetrics(child.lastMetrics))]);
    const place = this.#places.find((other) => other.child === child);
    if (place === undefined) return;
    place.child = null;
    if (!this.#started || this.#stopping || place.replacing) return;
    const { clock, patience, say, onGivenUp } = this.#options;
    const short = clock.elapsedMs() - child.startedMs < patience.stableMs;
    place.shortLives = short ? place.shortLives + 1 : 1;
    const serving = this.#places.filter(({ number }) => this.#options.partOf(number).serves);
    if (serving.every((other) => this.#fails(other))) {
      this.#stopping = true;
      onGivenUp(new Error(`every process ended ${patience.shortLivesMax} times in a row soon after its start`));
      return;
    }
    say(`Process ${place.number} ended (${how}) and is started again.`);
    this.#startAgain(place);
  }

  #fails({ child, shortLives }: Place): boolean {
    const { clock, patience } = this.#options;
    const lives = child !== null && clock.elapsedMs() - child.startedMs >= patience.stableMs;
    return !lives && shortLives >= patience.shortLivesMax;
  }

  #startAgain(place: Place): void {
    const { againMs, againMsMax } = this.#options.patience;
    const waitMs = Math.min(againMs * 2 ** Math.max(place.shortLives - 1, 0), againMsMax);
    place.again = setTimeout(() => {
      place.again = null;
      void this.#fill(place);
    }, waitMs);
  }

  async #replace(place: Place): Promise<void> {
    if (place.again !== null) clearTimeout(place.again);
    place.again = null;
    place.replacing = true;
    const next = this.#launch(place, place.child === null ? place.ownDir : this.#freeDir());
    const listens = (await this.#listens(next)) && !next.hasEnded;
    place.replacing = false;
    const old = place.child;
    if (this.#stopping) return;
    if (!listens) {
      if (old === null) this.#startAgain(place);
      throw new Error(`process ${place.number} was not replaced: the new one ended before it listened`);
    }
    place.child = next;
    place.ownDir = next.ownDir;
    place.shortLives = 0;
    if (old === null) return;
    old.leave("retire");
    await old.endWithin(this.#options.retireMsMax);
  }

  /** Kills children whose event loop has missed several checks; stores the metrics of each. */
  #look(): void {
    const { patience, say } = this.#options;
    for (const child of this.#living) {
      if (!child.isReady && !child.leaving) continue;
      void child.metrics(patience.answerMsMax).then(({ fresh }) => {
        if (child.hasEnded) return;
        const missed = fresh ? 0 : (this.#missed.get(child) ?? 0) + 1;
        this.#missed.set(child, missed);
        if (missed !== patience.missedMax) return;
        say(`Process ${child.pid} answers no more and is killed.`);
        child.kill();
      });
    }
  }
}
