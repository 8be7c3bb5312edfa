// Finds the program that a test runs for real; where it is missing, Debian's package is installed if that is possible.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const INSTALL_MS_MAX = 280_000;
/** Room for the installation, which happens once on a machine. */
export const INSTALLED_MS_MAX = 300_000;

/** Files of tests run side by side, and apt-get does not wait for itself: whoever comes second waits here. */
const LOCK = join(tmpdir(), "tollgate-apt-install.lock");
const INSTALL = `apt-get update && apt-get install -y --no-install-recommends "$@"`;

/** Answers what `find` finds, after an installation where that is nothing. Rejects with how to install it by hand. */
export async function installed(
  find: () => string | undefined,
  what: string,
  ...packages: readonly string[]
): Promise<string> {
  const there = find();
  if (there !== undefined) return there;
  const byHand = `no ${what} was found; run: apt-get install -y ${packages.join(" ")}`;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) throw new Error(byHand);
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, timeout: INSTALL_MS_MAX };
  try {
    await run("flock", [LOCK, "sh", "-c", INSTALL, "sh", ...packages], options);
  } catch (cause) {
    throw new Error(byHand, { cause });
  }
  return find() ?? Promise.reject(new Error(byHand));
}
