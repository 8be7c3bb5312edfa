// Bifrost's core, built from `peers/bifrost` into bench/.peers. Its HTTP server is unavailable as a Go module, because no module has the
// dashboard files that it embeds.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../processes.ts";
import { type Ground, OPENAI_MODEL, OPENAI_PATH, type Subject, Unavailable } from "../subjects.ts";

const SOURCE = fileURLToPath(new URL("./bifrost", import.meta.url));
const HOME = fileURLToPath(new URL("../.peers", import.meta.url));
const PROGRAM = join(HOME, "bifrost-core");
const KEY = "sk-bf-bench-0123456789abcdefghijklmnop";

function install(ground: Ground): void {
  if (existsSync(PROGRAM)) return;
  if (spawnSync("go", ["version"]).status !== 0) throw new Unavailable("Go is not installed");
  ground.say("building Bifrost's core into bench/.peers, which takes minutes");
  mkdirSync(HOME, { recursive: true });
  const { stderr } = spawnSync("go", ["build", "-o", PROGRAM, "."], { cwd: SOURCE, encoding: "utf8" });
  if (!existsSync(PROGRAM))
    throw new Unavailable(`Bifrost's core could not be built: ${stderr.trim().split("\n").at(-1)}`);
}

export async function startBifrost(ground: Ground): Promise<Subject> {
  install(ground);
  mkdirSync(ground.folder, { recursive: true });
  const port = await freePort();
  const args = [`127.0.0.1:${port}`, `http://127.0.0.1:${ground.upstreamPort}`, KEY];
  const { child, pid } = await ground.processes.spawn(PROGRAM, args, {
    port,
    logFile: join(ground.folder, "output.log"),
    folder: ground.folder,
    // As its documentation advises for production; the limit that GOMEMLIMIT would set is never reached here.
    env: { PATH: process.env.PATH, GOGC: "200" },
  });
  const headers = { authorization: `Bearer ${KEY}` };
  return { name: "bifrost-core", port, pid, child, path: OPENAI_PATH, model: OPENAI_MODEL, headers };
}
