// The other gateway in this language, installed for the bench alone into bench/.peers. Its npm build answers unary calls only.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../processes.ts";
import { DUMMY_KEY, type Ground, OPENAI_MODEL, OPENAI_PATH, type Subject, Unavailable } from "../subjects.ts";

const VERSION = "1.15.2";
const HOME = fileURLToPath(new URL("../.peers", import.meta.url));
const ENTRY = join(HOME, "node_modules/@portkey-ai/gateway/build/start-server.js");

function install(ground: Ground): void {
  if (existsSync(ENTRY)) return;
  ground.say(`installing @portkey-ai/gateway ${VERSION} into bench/.peers`);
  mkdirSync(HOME, { recursive: true });
  const flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
  spawnSync("npm", ["install", "--prefix", HOME, ...flags, `@portkey-ai/gateway@${VERSION}`], { stdio: "ignore" });
  if (!existsSync(ENTRY))
    throw new Unavailable("@portkey-ai/gateway could not be installed (is the registry reachable?)");
}

export async function startPortkey(ground: Ground): Promise<Subject> {
  install(ground);
  mkdirSync(ground.folder, { recursive: true });
  const port = await freePort();
  const { child, pid } = await ground.processes.spawn(process.execPath, [ENTRY, `--port=${port}`, "--headless"], {
    port,
    logFile: join(ground.folder, "output.log"),
    folder: ground.folder,
    env: { PATH: process.env.PATH, NODE_ENV: "production" },
  });
  const headers = {
    ...DUMMY_KEY,
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `http://127.0.0.1:${ground.upstreamPort}/v1`,
  };
  return { name: "portkey", port, pid, child, path: OPENAI_PATH, model: OPENAI_MODEL, headers };
}
