// Installs Python packages for client tests into the tests' own folders, and parses the output of scripts line by line.
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Installs the packages, given as arguments of `pip install`, into a new folder; null if Python or a package is unavailable. */
export function installedPython(folder: string, ...wanted: readonly string[]): string | null {
  const site = join(folder, wanted.join("-").replaceAll(/[^\w.]/g, "-"));
  const options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", site];
  const { status } = spawnSync("python3", [...options, ...wanted], { stdio: "ignore", timeout: 150_000 });
  return status === 0 ? site : null;
}

export async function toldByPython(
  script: string,
  site: string | null,
  given: readonly string[],
): Promise<Record<string, unknown>[]> {
  const env = { ...process.env, PYTHONPATH: site ?? "", PYTHONDONTWRITEBYTECODE: "1" };
  const { stdout } = await run("python3", [join(import.meta.dirname, script), ...given], { env });
  const lines = stdout.trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
