// LiteLLM's proxy, installed into bench/.peers, with one worker as its production guide advises. Everything that works without a database
// is on: its key, a provider's budget, cost by model, and one JSON line per failed call.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../processes.ts";
import { type Ground, OPENAI_MODEL, OPENAI_PATH, type Subject, Unavailable } from "../subjects.ts";

const VERSION = "1.105.3";
const HOME = fileURLToPath(new URL("../.peers/litellm", import.meta.url));
const PROGRAM = join(HOME, "bin/litellm");
const KEY = "sk-litellm-bench-0123456789abcdefghijklmnop";

function install(ground: Ground): void {
  if (existsSync(PROGRAM)) return;
  if (spawnSync("python3", ["--version"]).status !== 0) throw new Unavailable("Python is not installed");
  ground.say(`installing litellm ${VERSION} into bench/.peers`);
  mkdirSync(HOME, { recursive: true });
  spawnSync("python3", ["-m", "venv", HOME], { stdio: "ignore" });
  spawnSync(join(HOME, "bin/pip"), ["install", "--quiet", `litellm[proxy]==${VERSION}`], { stdio: "ignore" });
  if (!existsSync(PROGRAM)) throw new Unavailable("litellm could not be installed (is the registry reachable?)");
}

/** JSON is valid YAML. */
function configuration(upstreamPort: number): string {
  const price = { input_cost_per_token: 0.000_001_25, output_cost_per_token: 0.000_01 };
  const api = { api_base: `http://127.0.0.1:${upstreamPort}/v1`, api_key: "sk-bench" };
  return JSON.stringify({
    model_list: [{ model_name: OPENAI_MODEL, litellm_params: { model: `openai/${OPENAI_MODEL}`, ...api, ...price } }],
    general_settings: { master_key: KEY },
    litellm_settings: { request_timeout: 600, set_verbose: false, json_logs: true },
    router_settings: { provider_budget_config: { openai: { budget_limit: 1_000_000, time_period: "1d" } } },
  });
}

export async function startLitellm(ground: Ground): Promise<Subject> {
  install(ground);
  mkdirSync(ground.folder, { recursive: true });
  const port = await freePort();
  const file = join(ground.folder, "config.yaml");
  writeFileSync(file, configuration(ground.upstreamPort));
  const args = ["--config", file, "--host", "127.0.0.1", "--port", String(port), "--num_workers", "1"];
  const { child, pid } = await ground.processes.spawn(PROGRAM, args, {
    port,
    logFile: join(ground.folder, "output.log"),
    folder: ground.folder,
    env: {
      PATH: process.env.PATH,
      LITELLM_MODE: "PRODUCTION",
      LITELLM_LOG: "ERROR",
      // Only loopback is contacted: prices are those of the package.
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
    },
  });
  const headers = { authorization: `Bearer ${KEY}` };
  return { name: "litellm", port, pid, child, path: OPENAI_PATH, model: OPENAI_MODEL, headers };
}
