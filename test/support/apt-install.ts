// Finds a real program for a test; where it is missing, installs Debian's package if possible.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Shorter than a test's own timeout. */
const INSTALL_MS_MAX = 170_000;
/** Time for the installation, which happens once on a machine. */
export const INSTALLED_MS_MAX = 300_000;

/** Test files run concurrently, and apt-get does not wait for itself: the second caller waits here. */
const LOCK = join(tmpdir(), "tollgate-apt-install.lock");
/** A network that drops packets never answers: better to fail soon. */
const APT = "apt-get -o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10";
const INSTALL = `${APT} update && ${APT} install -y --no-install-recommends "$@"`;

/** A test that fails with this error is skipped by name: see test/support/skip-missing.ts. */
export class MissingProgram extends Error {
  override readonly name = "MissingProgram";
}

/** After a failure of apt-get, this process does not try it again. */
let canInstall = process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");

/** Returns what `find` finds, after an installation where it finds nothing. Rejects with how to install it by hand. */
export async function installed(
  find: () => string | undefined,
  what: string,
  ...packages: readonly string[]
): Promise<string> {
  const there = find();
  if (there !== undefined) return there;
  if (canInstall) {
    const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, timeout: INSTALL_MS_MAX };
    canInstall = await run("flock", [LOCK, "sh", "-c", INSTALL, "sh", ...packages], options).then(
      () => true,
      () => false,
    );
  }
  const found = find();
  if (found !== undefined) return found;
  throw new MissingProgram(`no ${what} was found; run: apt-get install -y ${packages.join(" ")}`);
}
