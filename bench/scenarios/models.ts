// The time of `models update` with a list of 2,000 models, and of a price check.
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { atMost, type Bench, type Row, told, withGateway } from "../bench.ts";
import { median } from "../measure.ts";
import type { Subject } from "../subjects.ts";

const NAME = "a list of 2,000 models";
const MODELS = 2_000;
/** New models of a family that is sold. */
const NEW = 300;
const CLI = fileURLToPath(new URL("../../src/cli/tollgate.ts", import.meta.url));
const UPDATE = ["models", "update", "--json", "--yes", "--from"];
const run = promisify(execFile);

interface Sold {
  readonly id: string;
  readonly pricing?: { readonly prompt?: string; readonly completion?: string };
}

/** A list in LiteLLM's format: all sold models at prices 1 % off, new models, and models of other vendors. */
function listOf(sold: readonly Sold[], percent: number): string {
  const known = sold.flatMap(({ id, pricing }) => {
    const [litellm_provider, name] = id.split("/");
    const [input, output] = [Number(pricing?.prompt), Number(pricing?.completion)];
    return name !== undefined && input > 0 && output > 0 ? [[name, { litellm_provider, input, output }] as const] : [];
  });
  const fresh = Array.from({ length: NEW }, (_, at) => {
    return [`gpt-6.${at + 2}-luna`, { litellm_provider: "openai", input: 1e-7, output: 5e-7 }] as const;
  });
  const rest = Array.from({ length: MODELS - NEW - known.length }, (_, at) => {
    return [`other-${at}`, { litellm_provider: "nobody", input: 1e-6, output: 2e-6 }] as const;
  });
  const rows = [...known, ...fresh, ...rest].map(([name, { litellm_provider, input, output }]) => {
    const [input_cost_per_token, output_cost_per_token] = [input, output].map((usd) => (usd * (100 + percent)) / 100);
    return [name, { litellm_provider, mode: "chat", input_cost_per_token, output_cost_per_token }];
  });
  return JSON.stringify(Object.fromEntries(rows));
}

async function tookMs(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

export function models(bench: Bench): Promise<Row[]> {
  return withGateway(bench, (subject) => measure(bench, subject));
}

async function measure(bench: Bench, subject: Subject): Promise<Row[]> {
  const answer = await fetch(`http://127.0.0.1:${subject.port}/api/llm/v1/models`);
  const { data } = (await answer.json()) as { readonly data: readonly Sold[] };
  const env = { ...process.env, DATA_DIR: join(bench.folder, "models-check") };
  mkdirSync(env.DATA_DIR, { recursive: true });
  const took: number[] = [];
  let changes = 0;
  for (let round = 1; round <= bench.rounds; round++) {
    const from = join(bench.folder, `models-${round}.json`);
    writeFileSync(from, listOf(data, round));
    took.push(
      await tookMs(async () => {
        const { stdout } = await run(process.execPath, [CLI, ...UPDATE, from], { env, maxBuffer: 64 * 1_048_576 });
        changes = (JSON.parse(stdout) as { readonly taken: number }).taken;
      }),
    );
    bench.say(`  ${NAME}, round ${round}: ${changes} changes in ${took.at(-1)?.toFixed(0)} ms`);
  }
  const checks: number[] = [];
  for (let time = 0; time < 3; time++) {
    // It exits with 1 where a price differs, which does not matter here.
    checks.push(await tookMs(() => run(process.execPath, [CLI, "prices", "check", "--json"], { env }).catch(() => {})));
  }
  return [
    told(NAME, "changes taken", String(changes)),
    atMost(NAME, "models update, with the start of the command", median(took), 3_000, " ms"),
    atMost(NAME, "prices check, with the start of the command", median(checks), 1_000, " ms"),
  ];
}
