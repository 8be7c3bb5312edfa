// A gateway that is killed at each step of taking a list of models, or of going back from one, sells at the price before or the one after, wholly.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { anyRedis } from "../support/redis.ts";

const DATA_DIR = mkdtempSync(join(tmpdir(), "tollgate-models-kill-"));
afterAll(() => rmSync(DATA_DIR, { recursive: true, force: true }));

const MODEL = "gpt-5.4-mini";
const BEFORE = [0.75, 4.5];
const AFTER = [1.5, 9];
const PROGRAM = "test/support/dies-writing.ts";

const LIST = join(DATA_DIR, "list.json");
const [input_cost_per_token, output_cost_per_token] = AFTER.map((usd) => usd / 1_000_000);
const row = { litellm_provider: "openai", mode: "chat", input_cost_per_token, output_cost_per_token };
writeFileSync(LIST, JSON.stringify({ [MODEL]: row }));

async function pricesOf({ url }: GatewayProcess): Promise<number[]> {
  const answer = await fetch(`${url}/api/llm/v1/models/openai/${MODEL}`);
  const { pricing } = (await answer.json()) as { pricing: { prompt: string; completion: string } };
  return [pricing.prompt, pricing.completion].map((usd) => Number((Number(usd) * 1_000_000).toFixed(6)));
}

const update = { path: "update", body: { from: LIST } };
const rollback = { path: "rollback", body: undefined };

/** In order: what is asked of a process that dies at a step of it, and what the next one sells at. */
const DEATHS = [
  { step: "writeFile:after", asked: update, left: BEFORE },
  { step: "rename:before", asked: update, left: BEFORE },
  { step: "rename:after", asked: update, left: AFTER },
  { step: "rename:before", asked: rollback, left: AFTER },
  { step: "rename:after", asked: rollback, left: BEFORE },
] as const;

it("sells wholly at one of the two prices after each death, with books that add up, and takes the next list", async () => {
  const sold: number[][] = [];
  for (const { step, asked } of DEATHS) {
    const gateway = await spawnGateway({ DATA_DIR }, undefined, [PROGRAM, step]);
    sold.push(await pricesOf(gateway));
    const answer = gateway.admin("POST", `/admin/v1/models/${asked.path}`, asked.body).catch(() => "none");
    expect([(await gateway.exited).signal, await answer]).toEqual(["SIGKILL", "none"]);
  }
  const last = await spawnGateway({ DATA_DIR });
  sold.push(await pricesOf(last));
  expect(sold).toEqual([BEFORE, ...DEATHS.map(({ left }) => left)]);
  expect(await last.admin("POST", "/admin/v1/models/update", { from: LIST })).toMatchObject({ taken: 1 });
  expect(await pricesOf(last)).toEqual(AFTER);
  await last.terminate();
  expect((await doctorOffline(DATA_DIR)).report.findings).toEqual([]);
});

it("two processes over one Redis sell at one price after one of them has died between the record of a list and its file", async () => {
  const redis = await anyRedis();
  onTestFinished(() => redis.dispose());
  const at = (name: string) => ({
    DATA_DIR: join(DATA_DIR, name),
    REDIS_URL: redis.url,
    ARCHIVE_URL: `file://${join(DATA_DIR, "archive.db")}`,
    ADDRESS_REQUESTS_PER_MINUTE: "1000000",
  });
  const [ours, others] = [at("ours"), at("others")];
  const other = await spawnGateway(others);
  for (const { step, asked, left } of [
    { step: "mkdir:before", asked: update, left: AFTER },
    { step: "rename:before", asked: rollback, left: BEFORE },
  ]) {
    const dies = await spawnGateway(ours, undefined, [PROGRAM, step]);
    const answer = dies.admin("POST", `/admin/v1/models/${asked.path}`, asked.body).catch(() => "none");
    expect([(await dies.exited).signal, await answer]).toEqual(["SIGKILL", "none"]);
    // It has told nobody; the one that follows it sells by the record, and says so.
    const next = await spawnGateway(ours);
    const fromMs = performance.now();
    expect(await pricesOf(next)).toEqual(left);
    await eventually(
      async () => (JSON.stringify(await pricesOf(other)) === JSON.stringify(left) ? true : undefined),
      "the same price at the other process",
    );
    // It was told: it looks by itself once a minute.
    expect(performance.now() - fromMs).toBeLessThan(15_000);
    await next.terminate();
  }
  await other.terminate();
});
