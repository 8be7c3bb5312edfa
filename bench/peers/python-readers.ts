// trafilatura and html2text, installed into bench/.peers: each reads all pages in one process.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Unavailable } from "../subjects.ts";

const VERSIONS = ["trafilatura==2.3.1", "lxml_html_clean==0.4.6", "html2text==2025.4.15"];
const HOME = fileURLToPath(new URL("../.peers/extraction-py", import.meta.url));
const PYTHON = join(HOME, "bin/python");
const PROGRAM = fileURLToPath(new URL("./extraction-peers.py", import.meta.url));
const ANSWER_BYTES_MAX = 64 * 1_048_576;
const READ_MS_MAX = 300_000;

function install(): void {
  if (existsSync(PYTHON) && spawnSync(PYTHON, ["-c", "import trafilatura, html2text"]).status === 0) return;
  if (spawnSync("python3", ["--version"]).status !== 0) throw new Unavailable("Python is not installed");
  mkdirSync(HOME, { recursive: true });
  spawnSync("python3", ["-m", "venv", HOME], { stdio: "ignore" });
  const installed = spawnSync(join(HOME, "bin/pip"), ["install", "--quiet", ...VERSIONS], { stdio: "ignore" });
  if (installed.status !== 0) throw new Unavailable("trafilatura could not be installed (is the registry reachable?)");
}

/** The library's text of each page, in order. */
export function readInPython(
  library: "trafilatura" | "html2text",
  pages: readonly { readonly html: string; readonly url: string }[],
): readonly string[] {
  install();
  const input = pages.map(({ html, url }) => JSON.stringify({ html, url })).join("\n");
  const { status, stdout, stderr } = spawnSync(PYTHON, [PROGRAM, library], {
    input,
    encoding: "utf8",
    maxBuffer: ANSWER_BYTES_MAX,
    timeout: READ_MS_MAX,
  });
  if (status !== 0) throw new Unavailable(`${library} failed: ${stderr.slice(-300)}`);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as string);
}
