// A real PostgreSQL for tests, on a free port with a folder of its own: Debian's, installed where it is missing and that is possible.
import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { INSTALLED_MS_MAX, installed } from "./apt-install.ts";
import { freePort } from "./free-port.ts";
import { type GuardedServer, startGuarded } from "./guarded-server.ts";

const run = promisify(execFile);
const VERSIONS = "/usr/lib/postgresql";
const STARTED = /ready to accept connections/;
/** Room for the installation, which happens once on a machine. */
export const POSTGRES_MS_MAX = INSTALLED_MS_MAX;

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

/** PostgreSQL does not run as root: there it runs as the user that its package makes. */
async function servant(): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const id = async (flag: string) => Number((await run("id", [flag, "postgres"])).stdout);
  return { uid: await id("-u"), gid: await id("-g") };
}

/** Starts a server of the test's own, with one empty database. */
export async function startPostgres(): Promise<PostgresServer> {
  const bin = await installed(findPrograms, "PostgreSQL", "postgresql");
  const as = await servant();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-postgres-"));
  if (as.uid !== undefined && as.gid !== undefined) chownSync(folder, as.uid, as.gid);
  const init = ["-D", join(folder, "data"), "-U", "tollgate", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await run(join(bin, "initdb"), init, { ...as, cwd: folder });
  const port = await freePort();

  const words = ["-D", join(folder, "data"), "-p", String(port), "-h", "127.0.0.1", "-k", folder];
  const settings = ["-c", "shared_buffers=16MB", "-c", "max_connections=40", "-c", "full_page_writes=off"];
  const launch = () => startGuarded(join(bin, "postgres"), [...words, ...settings], STARTED, { ...as, cwd: folder });

  let running: GuardedServer | null = await launch();
  async function kill(): Promise<void> {
    // To its parent process this is an immediate shutdown of all: as after a loss of power.
    running?.signal("SIGQUIT");
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
