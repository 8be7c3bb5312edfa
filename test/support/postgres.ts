// A real PostgreSQL for tests, on a free port with a folder of its own: Debian's, installed where it is missing and that is possible.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { freePort } from "./redis.ts";

const run = promisify(execFile);
const VERSIONS = "/usr/lib/postgresql";
const INSTALL_MS_MAX = 280_000;
/** Room for the installation, which happens once on a machine. */
export const POSTGRES_MS_MAX = 300_000;

export interface PostgresServer {
  readonly url: string;
  /** Ends it at once, in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Starts it again on the same port and folder. */
  start(): Promise<void>;
  dispose(): Promise<void>;
}

function findPrograms(): string | undefined {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(VERSIONS, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

async function programs(): Promise<string> {
  const there = findPrograms();
  if (there !== undefined) return there;
  const byHand = "no PostgreSQL was found; run: apt-get install -y postgresql";
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) throw new Error(byHand);
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, timeout: INSTALL_MS_MAX };
  try {
    await run("apt-get", ["update"], options);
    await run("apt-get", ["install", "-y", "--no-install-recommends", "postgresql"], options);
  } catch (cause) {
    throw new Error(byHand, { cause });
  }
  return findPrograms() ?? Promise.reject(new Error(byHand));
}

/** PostgreSQL does not run as root: there it runs as the user that its package makes. */
async function servant(): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const id = async (flag: string) => Number((await run("id", [flag, "postgres"])).stdout);
  return { uid: await id("-u"), gid: await id("-g") };
}

/** Ends the server when this process does, however that comes about: its end of the pipe is closed then. */
const GUARD = `exec 3<&0; "$@" & child=$!; echo "pid $child"; (cat <&3 >/dev/null; kill -9 $child 2>/dev/null) & wait $child`;

/** Starts a server of the test's own, with one empty database. */
export async function startPostgres(): Promise<PostgresServer> {
  const bin = await programs();
  const as = await servant();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-postgres-"));
  if (as.uid !== undefined && as.gid !== undefined) chownSync(folder, as.uid, as.gid);
  const init = ["-D", join(folder, "data"), "-U", "tollgate", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await run(join(bin, "initdb"), init, { ...as, cwd: folder });
  const port = await freePort();

  async function launch() {
    const words = ["-D", join(folder, "data"), "-p", String(port), "-h", "127.0.0.1", "-k", folder];
    const settings = ["-c", "shared_buffers=16MB", "-c", "max_connections=40", "-c", "full_page_writes=off"];
    const guarded = ["-c", GUARD, "sh", join(bin, "postgres"), ...words, ...settings];
    const child = spawn("/bin/sh", guarded, { ...as, cwd: folder, stdio: ["pipe", "pipe", "pipe"] });
    const exited = once(child, "exit").then(() => {
      child.stdin.destroy();
    });
    let pid = 0;
    const said: string[] = [];
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        if (line.startsWith("pid ")) pid = Number(line.slice(4));
      });
      createInterface({ input: child.stderr }).on("line", (line) => {
        said.push(line);
        if (line.includes("ready to accept connections")) resolve();
      });
      void exited.then(() => reject(new Error(`PostgreSQL did not start: ${said.join("\n")}`)));
    });
    // To its parent process this is an immediate shutdown of all: as after a loss of power.
    return { exited, kill: () => process.kill(pid, "SIGQUIT") };
  }

  let running: Awaited<ReturnType<typeof launch>> | null = await launch();
  async function kill(): Promise<void> {
    running?.kill();
    await running?.exited;
    running = null;
  }
  return {
    url: `postgres://tollgate@127.0.0.1:${port}/postgres`,
    kill,
    async start() {
      running ??= await launch();
    },
    async dispose() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
