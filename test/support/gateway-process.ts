// The gateway as a separate process, for tests that kill it.
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { endWithTests } from "./end-with-tests.ts";
import { PATIENT_MS } from "./patience.ts";
import { TESTED_ENGINE } from "./tested-engine.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NODE_OPTIONS = ["--disable-warning=ExperimentalWarning"];
/** Where nothing listens: the command line then opens the stores itself. */
const NO_ADMIN_PORT = "1";

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface GatewayProcess {
  readonly url: string;
  readonly adminUrl: string;
  readonly pid: number;
  /** Settles with the next matching line on standard error; rejects where the process ends without one. */
  says(pattern: RegExp): Promise<string>;
  send(signal: NodeJS.Signals): void;
  readonly exited: Promise<Exit>;
  /** Settles when it logs that it drains; rejects where it ends without. */
  readonly drains: Promise<void>;
  /** Kills it at once, whatever it is doing. */
  kill(): Promise<void>;
  /** Makes it drain. */
  terminate(): Promise<Exit>;
  admin(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
  /** The value of a metric without labels. */
  gauge(name: string): Promise<number>;
}

function spawnNode(words: readonly string[], environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [...NODE_OPTIONS, ...words], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, NODE_OPTIONS: process.env.NODE_OPTIONS, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithTests(child);
  return child;
}

/** The program, from its very start. */
export const main = (environment: Readonly<Record<string, string>>) => spawnNode(["src/main.ts"], environment);

/** Starts a gateway on `DATA_DIR`; an abort of `signal` kills it, even while it starts. */
export async function spawnGateway(
  environment: Readonly<Record<string, string>> & { readonly DATA_DIR: string },
  signal?: AbortSignal,
  program: readonly string[] = ["src/main.ts"],
): Promise<GatewayProcess> {
  const settings = {
    ...TESTED_ENGINE,
    PORT: "0",
    ADMIN_PORT: "0",
    REDIS_COMMAND_MS: String(PATIENT_MS),
    // Every start with Redis requires it.
    ...(environment.REDIS_URL === undefined ? {} : { SIGNING_SECRET: "of-all-the-processes" }),
  };
  const child = spawnNode(program, { ...settings, ...environment });
  child.stdout.resume();
  const exited = once(child, "exit").then(([code, by]) => ({ code, signal: by }) as Exit);
  const closed = once(child, "close");
  const stop = () => child.kill("SIGKILL");
  signal?.addEventListener("abort", stop);
  const said: string[] = [];
  const drains = Promise.withResolvers<void>();
  drains.promise.catch(() => {});
  void closed.then(() => drains.reject(new Error(`the gateway ended and did not drain: ${said.join("\n")}`)));
  const heard = new EventEmitter();
  const addresses = await new Promise<{ url: string; adminUrl: string }>((resolve, reject) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      said.push(line);
      heard.emit("line", line);
      if (line.startsWith("Draining")) drains.resolve();
      const match = /listens on (\S+), its admin listener on (\S+)\.$/.exec(line);
      if (match?.[1] !== undefined && match[2] !== undefined) resolve({ url: match[1], adminUrl: match[2] });
    });
    void exited.then(() => reject(new Error(`the gateway ended before it listened: ${said.join("\n")}`)));
  });
  signal?.removeEventListener("abort", stop);
  const token = readFileSync(join(environment.DATA_DIR, "admin.token"), "utf8").trim();

  return {
    ...addresses,
    pid: child.pid ?? 0,
    // A permanent listener: lines that arrive together are handled in order, before any `await` continues.
    says(pattern) {
      const line = new Promise<string>((resolve, reject) => {
        const listen = (line: string): void => {
          if (!pattern.test(line)) return;
          heard.off("line", listen);
          resolve(line);
        };
        heard.on("line", listen);
        void closed.then(() => reject(new Error(`the gateway ended and never said ${pattern}: ${said.join("\n")}`)));
      });
      // A test that fails before it waits for the line must fail with its own error.
      line.catch(() => {});
      return line;
    },
    send: (name) => void child.kill(name),
    exited,
    drains: drains.promise,
    async kill() {
      stop();
      await exited;
    },
    terminate() {
      child.kill("SIGTERM");
      return exited;
    },
    async admin(method, path, body) {
      const response = await fetch(`${addresses.adminUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return (await response.json()) as Record<string, unknown>;
    },
    async gauge(name) {
      const text = await (await fetch(`${addresses.adminUrl}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    },
  };
}

/** `tollgate doctor` on a folder whose gateway is down. */
export async function doctorOffline(dataDir: string) {
  const child = spawnNode(["src/cli/tollgate.ts", "doctor", "--json"], {
    DATA_DIR: dataDir,
    ADMIN_PORT: NO_ADMIN_PORT,
  });
  let out = "";
  child.stdout.on("data", (chunk) => {
    out += String(chunk);
  });
  child.stderr.resume();
  const [code] = await once(child, "close");
  return { code: Number(code), report: JSON.parse(out) as { holds: number; postings: number; findings: unknown[] } };
}
