// One sidecar process from the gateway's side: starts at the first request, restarts after a crash, and ends when idle.
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Adapter } from "../../catalog/catalog.ts";
import type { Clock } from "../../core/clock.ts";
import { isRecord, parsedJson } from "../../core/json.ts";
import { getOrMake } from "../../core/maps.ts";
import { destinationOf, type Proxies } from "../../core/proxies.ts";
import type { VendorAnswer } from "../judge-answer.ts";
import { failureOfKind, VendorFailure } from "../vendor-failure.ts";
import { ANSWERS_FD, eachLine, type FromSidecar, type ToSidecar } from "./lines.ts";

const PROGRAM = fileURLToPath(new URL("./serve-lines.ts", import.meta.url));
const IN_FLIGHT_MAX = 128;
/** The limit per payer, so that one payer leaves room for others. */
const OF_ONE_MAX = 32;
const LINE_BYTES_MAX = 8 * 1024 * 1024;
/** A process that stops reading gets no more requests, because unread data stays in our memory. */
const UNREAD_BYTES_MAX = 16 * 1024 * 1024;
const HEAP_MIB = 256;
const IDLE_MS = 5 * 60_000;
/** The wait before a restart after a crash; doubles with each crash until an answer arrives. */
const BACKOFF_MS = 500;
const BACKOFF_MS_MAX = 30_000;
const CLOSE_MS = 5_000;

export interface SidecarOptions {
  readonly file: string;
  readonly key: string;
  readonly clock: Clock;
  /** The proxy to its vendor. Default: none. */
  readonly proxy?: URL | null;
  /** Default: five minutes. */
  readonly idleMs?: number;
}

interface Waiting {
  /** The payer; null for the gateway itself. */
  readonly who: string | null;
  resolve(answer: VendorAnswer): void;
  reject(failure: VendorFailure): void;
}

interface Running {
  readonly child: ChildProcess;
  readonly waiting: Map<number, Waiting>;
  readonly ended: Promise<void>;
}

function unasked(message: string, kind: "provider_connection_failed" | "provider_busy"): VendorFailure {
  return new VendorFailure({ ...failureOfKind(kind, message), mayHaveRun: false });
}

function isFull({ waiting, child }: Running, who: string | null): boolean {
  if (waiting.size >= IN_FLIGHT_MAX || (child.stdin?.writableLength ?? 0) > UNREAD_BYTES_MAX) return true;
  if (who === null || waiting.size < OF_ONE_MAX) return false;
  return [...waiting.values()].filter((one) => one.who === who).length >= OF_ONE_MAX;
}

function answerIn(line: string): FromSidecar | null {
  const said = parsedJson(line);
  return isRecord(said) && typeof said.id === "number" && typeof said.status === "number"
    ? { id: said.id, status: said.status, body: said.body }
    : null;
}

export interface Asked {
  readonly answer: Promise<VendorAnswer>;
  /** Rejects the answer, and stops waiting for it. */
  cancel(failure: VendorFailure): void;
}

/** A sidecar as seen by one payer's calls. */
export interface AskedSidecar {
  /** Sends a request; `body` is JSON. */
  ask(path: string, body: string): Asked;
}

export class Sidecar implements AskedSidecar {
  readonly #options: SidecarOptions;
  #running: Running | null = null;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  /** The number of crashes since its last answer. */
  #deaths = 0;
  /** In `clock.elapsedMs()` time. */
  #notBeforeMs = 0;
  #isClosed = false;

  constructor(options: SidecarOptions) {
    this.#options = options;
  }

  /** The id of the running process; undefined if none runs. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** The sidecar for one payer's calls. */
  of(who: string): AskedSidecar {
    return { ask: (path, body) => this.ask(path, body, who) };
  }

  ask(path: string, body: string, who: string | null = null): Asked {
    const { promise, resolve, reject } = Promise.withResolvers<VendorAnswer>();
    const id = ++this.#lastId;
    const running = this.#running ?? this.#start();
    if (running instanceof VendorFailure || isFull(running, who)) {
      const busy = unasked("too many requests at once", "provider_busy");
      reject(running instanceof VendorFailure ? running : busy);
      return { answer: promise, cancel() {} };
    }
    clearTimeout(this.#idle);
    running.waiting.set(id, { who, resolve, reject });
    running.child.stdin?.write(`{"id":${id},"path":${JSON.stringify(path)},"body":${body}}\n`);
    return {
      answer: promise,
      cancel: (failure) => {
        if (!running.waiting.delete(id)) return;
        this.#write(running, { cancel: id });
        this.#rest(running);
        reject(failure);
      },
    };
  }

  /** Closes the process's input; the process then cleans up its running requests itself. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    const running = this.#running;
    if (running === null) return;
    running.child.stdin?.end();
    const late = setTimeout(() => running.child.kill("SIGKILL"), CLOSE_MS);
    await running.ended;
    clearTimeout(late);
  }

  #write({ child }: Running, line: ToSidecar): void {
    child.stdin?.write(`${JSON.stringify(line)}\n`);
  }

  #start(): Running | VendorFailure {
    const { file, key, clock, proxy } = this.#options;
    const waitMs = this.#notBeforeMs - clock.elapsedMs();
    if (waitMs > 0 || this.#isClosed) return unasked("the sidecar has died", "provider_connection_failed");
    const args = ["--disable-warning=ExperimentalWarning", `--max-old-space-size=${HEAP_MIB}`, PROGRAM, file];
    // The child must not see our other environment variables. Its key goes over stdin, because other processes can read an environment.
    const child = spawn(process.execPath, args, {
      env: proxy ? { https_proxy: proxy.href } : {},
      stdio: ["pipe", "ignore", "ignore", "pipe"],
    });
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const running: Running = { child, waiting: new Map(), ended };
    const end = (): void => {
      this.#died(running);
      resolve();
    };
    child.once("close", end);
    child.on("error", () => {
      if (child.pid === undefined) end();
    });
    // Ignore write errors to a process that just died; its end event reports that.
    child.stdin?.on("error", () => {});
    const answers = child.stdio[ANSWERS_FD] as Readable;
    eachLine(answers, {
      bytesMax: LINE_BYTES_MAX,
      onLine: (line) => this.#hear(running, line),
      onTooLong: () => child.kill("SIGKILL"),
    });
    this.#running = running;
    this.#write(running, { key });
    return running;
  }

  #hear(running: Running, line: string): void {
    const said = answerIn(line);
    // A process that writes anything else here is not trusted any more, nor is anything after it.
    if (said === null) {
      running.child.kill("SIGKILL");
      return this.#died(running);
    }
    const { id, status, body } = said;
    const waiting = running.waiting.get(id);
    // Its request was cancelled, or the process is not trusted any more.
    if (waiting === undefined) return;
    running.waiting.delete(id);
    this.#deaths = 0;
    this.#rest(running);
    const text = JSON.stringify(body ?? null);
    const headers = { "content-type": "application/json" };
    waiting.resolve({ status, headers, json: body, text, bytes: Buffer.from(text) });
  }

  /** Schedules the end of the process while no request is running. */
  #rest(running: Running): void {
    if (running.waiting.size > 0 || this.#running !== running) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      this.#running = null;
      running.child.stdin?.end();
    }, this.#options.idleMs ?? IDLE_MS);
    this.#idle.unref();
  }

  #died(running: Running): void {
    if (this.#running === running) {
      this.#running = null;
      clearTimeout(this.#idle);
      const backoffMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** this.#deaths++);
      this.#notBeforeMs = this.#options.clock.elapsedMs() + backoffMs;
    }
    const failure = failureOfKind("provider_connection_failed", "the sidecar died while it was asked");
    for (const { reject } of running.waiting.values()) reject(new VendorFailure({ ...failure, mayHaveRun: true }));
    running.waiting.clear();
  }
}

/** Starts a sidecar only at its first request. */
export function createSidecars(clock: Clock, proxies: Proxies) {
  const known = new Map<string, Sidecar>();
  return {
    /** Null if the vendor has HTTP, or a server replaces it. */
    of({ spec, origin, isSandbox }: Adapter, key: string): Sidecar | null {
      const { sidecar: file } = spec;
      if (file === undefined || isSandbox === true || origin !== spec.origin) return null;
      const proxy = () => proxies.proxyFor(destinationOf(new URL(origin)));
      return getOrMake(known, `${file} ${key}`, () => new Sidecar({ file, key, clock, proxy: proxy() }));
    },
    async close(): Promise<void> {
      await Promise.all([...known.values()].map((sidecar) => sidecar.close()));
    },
  };
}
