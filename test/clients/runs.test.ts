// Coding agents in a run, unchanged: with a key that carries it, and started by `tollgate run`; ended by its budget and by a stop.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folderForFile, forFile } from "../support/for-file.ts";
import { eventually, startTestGateway } from "../support/gateway.ts";
import { getAs, postAs } from "../support/keyed-fetch.ts";

const TOLLGATE = new URL("../../src/cli/tollgate.ts", import.meta.url).pathname;
const CLAUDE = new URL("node_modules/.bin/claude", import.meta.url).pathname;
const CODEX = new URL("node_modules/.bin/codex", import.meta.url).pathname;
const CALL = "echo made by an agent > made.txt";

const folder = folderForFile("tollgate-runs-");
const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

interface Bill {
  readonly id: string;
  readonly label: string | null;
  readonly budget_cents: number;
  readonly status: string;
  readonly spent_nano_usd: number;
  readonly held_nano_usd: number;
  readonly totals: { readonly calls: number; readonly charged_nano_usd: number };
  readonly calls: readonly {
    readonly transaction_id: string;
    readonly charged_nano_usd: number;
    readonly status: string;
  }[];
}

async function openRun(cents: number): Promise<string> {
  const response = await postAs(account.key, `${gateway.url}/api/v1/runs`, { budget_cents: cents });
  return String(((await response.json()) as { id: string }).id);
}

/** A run's bill, whose sums are those of its transactions to the nano. */
async function billOf(id: string): Promise<Bill> {
  const bill = (await (await getAs(account.key, `${gateway.url}/api/v1/runs/${id}`)).json()) as Bill;
  const charged = await Promise.all(
    bill.calls.map(async ({ transaction_id: transaction }) => {
      const found = await getAs(account.key, `${gateway.url}/api/v1/transactions/${transaction}`);
      return ((await found.json()) as { charged_nano_usd: number }).charged_nano_usd;
    }),
  );
  const sum = charged.reduce((all, nano) => all + nano, 0);
  expect([bill.totals.charged_nano_usd, bill.spent_nano_usd, bill.held_nano_usd]).toEqual([sum, sum, 0]);
  expect(sum).toBeLessThanOrEqual(bill.budget_cents * 10_000_000);
  return bill;
}

/** The newest run with this label. */
async function billNamed(label: string): Promise<Bill> {
  const { runs } = (await (await getAs(account.key, `${gateway.url}/api/v1/runs`)).json()) as { runs: readonly Bill[] };
  return billOf(runs.find((run) => run.label === label)?.id ?? "");
}

interface Started {
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
  readonly work: string;
}

/** Starts a program in its own folder, isolated from the user's settings. */
function start(words: readonly string[], environment: Readonly<Record<string, string>>): Started {
  const home = mkdtempSync(join(folder, "home-"));
  const work = join(home, "work");
  mkdirSync(work);
  writeFileSync(join(home, "config.toml"), codexConfig());
  const [program = "", ...rest] = words;
  const child = spawn(program, rest, {
    cwd: work,
    env: {
      ...{ PATH: process.env.PATH, HOME: home, CLAUDE_CONFIG_DIR: join(home, "config"), CODEX_HOME: home },
      ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_TELEMETRY: "1", DISABLE_AUTOUPDATER: "1" },
      ...{ CLAUDE_CODE_MAX_RETRIES: "1", DATA_DIR: join(home, "data") },
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  return { work, ended: once(child, "close").then(([code]) => ({ code: code as number | null, said })) };
}

const codexConfig = () => `model_provider = "tollgate"
model = "sandbox-responses/ok"
check_for_update_on_startup = false

[model_providers.tollgate]
name = "Tollgate"
base_url = "${gateway.url}/api/llm/v1"
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"

[analytics]
enabled = false
`;

const claude = (task: string) => [CLAUDE, "-p", task, "--allowedTools", "Bash", "--output-format", "json"];
const claudeTask = claude(`[[call: Bash {"command":"${CALL}"}]]`);
const codexTask = [
  ...[CODEX, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
  `[[call: exec_command {"cmd":"${CALL}"}]]`,
];
const models = (model: string) => ({ ANTHROPIC_MODEL: model, ANTHROPIC_DEFAULT_HAIKU_MODEL: model });
const withRun = (id: string) => ({
  ...{ ANTHROPIC_BASE_URL: `${gateway.url}/api/llm`, ANTHROPIC_AUTH_TOKEN: `${account.key}+${id}` },
  TOLLGATE_API_KEY: `${account.key}+${id}`,
});
const tollgate = (dollars: string, label: string, command: readonly string[]) => [
  ...[process.execPath, "--disable-warning=ExperimentalWarning", TOLLGATE],
  ...["run", "--budget", dollars, "--label", label, "--", ...command],
];
const asUser = () => ({ TOLLGATE_API_KEY: account.key, TOLLGATE_URL: gateway.url });

describe.each([
  ["Claude Code", "sandbox-messages/ok", claudeTask],
  ["Codex", "sandbox-responses/ok", codexTask],
])("%s", (name, model, task) => {
  test("works with a key that carries its run", async () => {
    const id = await openRun(500);
    const { ended, work } = start(task, { ...withRun(id), ...models(model) });
    const { code, said } = await ended;
    expect(code, said).toBe(0);
    expect(readFileSync(join(work, "made.txt"), "utf8")).toBe("made by an agent\n");
    expect((await billOf(id)).totals.calls).toBeGreaterThanOrEqual(2);
  });

  test("works under `tollgate run`, which prints the bill, and never the key", async () => {
    const { ended, work } = start(tollgate("5", name, task), { ...asUser(), ...models(model) });
    const { code, said } = await ended;
    expect(code, said).toBe(0);
    expect(readFileSync(join(work, "made.txt"), "utf8")).toBe("made by an agent\n");
    const { id, totals } = await billNamed(name);
    expect(said).toContain(`Run ${id}: `);
    expect(said).toContain(` spent in ${totals.calls} calls.`);
    expect(said).not.toContain(account.key);
  });

  test("ends at its budget, with its words and its exit code", async () => {
    const { ended } = start(tollgate("0.01", `${name} 1 cent`, task), { ...asUser(), ...models(model) });
    const { code, said } = await ended;
    expect(code, said).not.toBe(0);
    expect(said).toMatch(/and the run \S+ has [\d.]+ USD free/);
    await billNamed(`${name} 1 cent`);
  });
});

test("a stop ends an agent in the middle of an answer, and charges what was delivered", async () => {
  const id = await openRun(500);
  const { ended } = start(claude("[[words: 20000]] [[pace: 20]]"), {
    ...withRun(id),
    ...models("sandbox-messages/ok"),
  });
  await eventually(async () => ((await billHeld(id)) > 0 ? true : undefined), "a running call");
  const stopped = await postAs(account.key, `${gateway.url}/api/v1/runs/${id}/stop`, {});
  expect(stopped.status).toBe(200);
  const { code, said } = await ended;
  expect(code, said).not.toBe(0);
  expect(said).toContain("has been stopped");
  expect(await billOf(id)).toMatchObject({ status: "stopped" });
});

async function billHeld(id: string): Promise<number> {
  const bill = (await (await getAs(account.key, `${gateway.url}/api/v1/runs/${id}?limit=0`)).json()) as Bill;
  return bill.held_nano_usd;
}
