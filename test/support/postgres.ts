// A real PostgreSQL for tests, on a free port with its own folder: Debian's, installed where it is missing if possible.
import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { INSTALLED_MS_MAX, installed } from "./apt-install.ts";
import { freePort } from "./free-port.ts";
import { type GuardedServer, startGuarded } from "./guarded-server.ts";
import { removeFolder } from "./remove-folder.ts";

const run = promisify(execFile);
const VERSIONS = "/usr/lib/postgresql";
const STARTED = /ready to accept connections/;
/** Time for the installation, which happens once on a machine. */
export const POSTGRES_MS_MAX = INSTALLED_MS_MAX;

export interface PostgresServer {
  readonly url: string;
  /** Kills it at once, whatever it is doing. */
  kill(): Promise<void>;
  /** Restarts it on the same port and folder. */
  start(): Promise<void>;
  dispose(): Promise<void>;
}

function findPrograms(): string | undefined {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(VERSIONS, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

/** PostgreSQL does not run as root: there it runs as the user that its package creates. */
async function servant(): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const id = async (flag: string) => Number((await run("id", [flag, "postgres"])).stdout);
  return { uid: await id("-u"), gid: await id("-g") };
}

/** Starts a server for one test, with one empty database. */
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
    // On this signal the parent process shuts everything down immediately: as after a loss of power.
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
      removeFolder(folder);
    },
  };
}

/** The server that this process's test files share. */
let shared: Promise<PostgresServer> | null = null;
let databases = 0;

/** An empty database of a server that the test neither stops nor restarts. */
export async function anyPostgres(): Promise<Pick<PostgresServer, "url" | "dispose">> {
  shared ??= startPostgres();
  const { url } = await shared;
  const name = `test_${++databases}`;
  await command(url, `CREATE DATABASE ${name}`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return { url: own.href, dispose: () => command(url, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function command(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}
