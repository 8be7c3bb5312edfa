// Another gateway in this language, installed into bench/.peers.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../processes.ts";
import { DUMMY_KEY, type Ground, OPENAI_MODEL, OPENAI_PATH, type Subject } from "../subjects.ts";
import { installWithNpm } from "./npm.ts";

const ENTRY = "@portkey-ai/gateway/build/start-server.js";
const WANTED = {
  dependencies: { "@portkey-ai/gateway": "1.15.2" },
  // The oldest in its range: with the newest, which npm would choose, every stream fails with 500.
  overrides: { "@hono/node-server": "1.3.3" },
};

export async function startPortkey(ground: Ground): Promise<Subject> {
  const entry = installWithNpm("portkey", ENTRY, WANTED);
  mkdirSync(ground.folder, { recursive: true });
  const port = await freePort();
  const { child, pid } = await ground.processes.spawn(process.execPath, [entry, `--port=${port}`, "--headless"], {
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
