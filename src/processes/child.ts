// One child of the parent: started, queried, and watched until it exits.

import { type ChildProcess, fork } from "node:child_process";
import type { Clock } from "../core/clock.ts";

export interface ChildPart {
  readonly role: "both" | "serve" | "work";
  readonly serves: boolean;
}

/** What a child must know before it starts, besides the environment that it inherits. */
export interface WorkerStart {
  readonly kind: "start";
  /** Absent where a parent of a release before there were roles starts a child of this release at a reload. */
  readonly part?: ChildPart;
  readonly ownDir: string;
  /** The port that all processes share. */
  readonly port: number;
  /** The parent's sandbox upstream: a single process must remember its ids. */
  readonly sandboxUrl: string | null;
}

export type ToChild =
  | WorkerStart
  /** Other processes take new connections: finish open requests, then exit. */
  | { readonly kind: "retire" }
  /** All processes are leaving: refuse new requests, finish open ones, then exit. */
  | { readonly kind: "drain" }
  /** The answer contains the child's metrics; it also shows that its event loop runs. */
  | { readonly kind: "metrics"; readonly id: number };

export type FromChild =
  | { readonly kind: "ready" }
  | { readonly kind: "metrics"; readonly id: number; readonly text: string };

export interface ChildOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly start: WorkerStart;
  readonly clock: Clock;
}

export class Child {
  readonly ownDir: string;
  readonly startedMs: number;
  /** True once it listens; false where it exited before. */
  readonly ready: Promise<boolean>;
  /** How it exited, such as `code 1` or `SIGKILL`. */
  readonly ended: Promise<string>;
  isReady = false;
  hasEnded = false;
  /** The parent requested its exit. */
  leaving = false;
  lastMetrics = "";
  readonly #process: ChildProcess;
  readonly #asked = new Map<number, (text: string) => void>();
  #lastId = 0;

  constructor({ file, args, start, clock }: ChildOptions) {
    this.ownDir = start.ownDir;
    this.startedMs = clock.elapsedMs();
    this.#process = fork(file, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const ready = Promise.withResolvers<boolean>();
    this.ready = ready.promise;
    this.ended = new Promise((resolve) => {
      const end = (how: string): void => {
        this.hasEnded = true;
        this.isReady = false;
        ready.resolve(false);
        resolve(how);
      };
      // Its last messages may still arrive after the exit; once the channel is closed, all have arrived.
      this.#process.once("close", (code, signal) => end(signal ?? `code ${code}`));
      this.#process.on("error", (error) => {
        if (this.#process.pid === undefined) end(error.message);
      });
    });
    this.#process.on("message", (message: FromChild) => {
      if (message.kind === "ready") {
        this.isReady = !this.leaving;
        ready.resolve(true);
      } else {
        this.lastMetrics = message.text;
        this.#asked.get(message.id)?.(message.text);
        this.#asked.delete(message.id);
      }
    });
    this.send(start);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  send(message: ToChild): void {
    // A channel that has just closed shows in `ended`.
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  /** Tells it to leave; `retire` where other processes serve new requests. */
  leave(kind: "retire" | "drain"): void {
    this.leaving = true;
    this.isReady = false;
    this.send({ kind });
  }

  /** Its metrics; the last reported ones where it does not answer within `msMax`. */
  async metrics(msMax: number): Promise<{ readonly text: string; readonly fresh: boolean }> {
    if (this.hasEnded) return { text: this.lastMetrics, fresh: false };
    const id = ++this.#lastId;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, msMax, null);
    });
    const asked = new Promise<string>((resolve) => this.#asked.set(id, resolve));
    this.send({ kind: "metrics", id });
    const text = await Promise.race([asked, late, this.ended.then(() => null)]);
    clearTimeout(timer);
    this.#asked.delete(id);
    return { text: text ?? this.lastMetrics, fresh: text !== null };
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  /** Waits until it has exited; kills it after `msMax`. */
  async endWithin(msMax: number): Promise<void> {
    const timer = setTimeout(() => this.kill(), msMax);
    await this.ended;
    clearTimeout(timer);
  }
}
