// Starts the processes of a run and sees to it that none outlives it.
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Row } from "./bench.ts";
import type { Job, JobResult } from "./load/jobs.ts";

/** A bound for hanging starts: the machine may be loaded. */
const START_MS_MAX = 120_000;
const STOP_MS_MAX = 8_000;
const NODE_FLAGS = ["--disable-warning=ExperimentalWarning"];

export interface Started {
  readonly pid: number;
  readonly port: number;
}

/** The message of a ready process of ours. */
interface Hello {
  readonly port: number;
  readonly bigPort?: number;
  readonly tlsPort?: number;
  readonly http2Port?: number;
  readonly adminPort?: number;
  readonly rows?: readonly Row[];
}

interface ForkOptions {
  readonly args?: readonly string[];
  readonly nodeFlags?: readonly string[];
}

/** All running processes; `stop` ends one, `stopAll` the rest. */
export class Processes {
  readonly #children = new Set<ChildProcess>();

  #keep(child: ChildProcess): ChildProcess {
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** Starts one of our files and waits for its port. It exits when we do. */
  async fork(file: URL, options: ForkOptions = {}): Promise<{ child: ChildProcess; hello: Hello }> {
    const execArgv = [...NODE_FLAGS, ...(options.nodeFlags ?? [])];
    const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
    const child = this.#keep(fork(file, options.args ?? [], { execArgv, stdio: [...stdio] }));
    const hello = (await message(child, file.pathname)) as Hello;
    return { child, hello };
  }

  /** Starts a foreign server with its output in a file, and waits until `port` answers. */
  async spawn(
    command: string,
    args: readonly string[],
    options: ServerOptions & { readonly port: number },
  ): Promise<Started & { child: ChildProcess }> {
    const isReady = async () => ((await answers(options.port)) ? true : null);
    const { child } = await this.spawnUntil(command, args, { ...options, isReady });
    return { child, pid: child.pid ?? 0, port: options.port };
  }

  /** The same, but waits until `isReady` returns anything but null for the server's output so far. */
  async spawnUntil<Ready>(
    command: string,
    args: readonly string[],
    options: ServerOptions & { readonly isReady: (said: string) => Promise<Ready | null> | Ready | null },
  ): Promise<{ child: ChildProcess; ready: Ready }> {
    const log = openSync(options.logFile, "a");
    const child = this.#keep(
      spawn(command, args, { cwd: options.folder, env: options.env, stdio: ["ignore", log, log] }),
    );
    child.once("error", () => {});
    const deadline = performance.now() + START_MS_MAX;
    for (;;) {
      const said = readFileSync(options.logFile, "utf8");
      const ready = await options.isReady(said);
      if (ready !== null) return { child, ready };
      if (child.exitCode !== null || child.pid === undefined || performance.now() > deadline)
        throw new Error(`${command} ${args.at(-1)} does not listen; it said:\n${said.slice(-2000)}`);
      await sleep(50);
    }
  }

  async stop(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const gone = once(child, "exit");
    child.kill("SIGTERM");
    const timer = globalThis.setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
    await gone;
    clearTimeout(timer);
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#children].map((child) => this.stop(child)));
  }
}

export interface ServerOptions {
  readonly logFile: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The next message of a process of ours; throws where it exits first. */
export function message(child: ChildProcess, what: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const exited = (code: number | null) => reject(new Error(`${what} ended with ${code}`));
    child.once("exit", exited);
    child.once("message", (value) => {
      child.off("exit", exited);
      resolve(value);
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/** A port that was free a moment ago, for servers that cannot report theirs. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

/** A load generator in its own process. */
export class Client {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  async run(job: Job): Promise<JobResult> {
    const answer = message(this.#child, "the load generator");
    this.#child.send(job);
    const { result, error } = (await answer) as { result?: JobResult; error?: string };
    if (result === undefined) throw new Error(error ?? "the load generator failed");
    return result;
  }
}
