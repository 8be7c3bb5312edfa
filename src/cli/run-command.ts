// `tollgate run`: runs a command whose model and action calls share a budget. Standard output belongs to the command alone.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { basename } from "node:path";
import { centsOf, parseUsd } from "../core/money.ts";
import type { RunShown } from "../money/runs/run-endpoints.ts";
import { environmentWith } from "../platform/config.ts";
import { type AdminClient, createOwnClient, ownOrigin } from "./admin-client.ts";
import { type Command, CommandError, type Typed, UsageError, type Workplace } from "./command.ts";
import { type Bill, billText, leftText } from "./runs-commands.ts";

const POLL_MS = 2_000;
/** Exit codes of a command that cannot start, as shells and env(1) use them. */
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;
/** A shell adds the signal's number to this. */
const BY_SIGNAL = 128;

/** What clients read, with placeholders; null: removed, because it would bypass the gateway or conflict with the rest. */
const VARIABLES = Object.entries(
  JSON.parse(readFileSync(new URL("run-environment.json", import.meta.url), "utf8")) as Record<string, string | null>,
);

function keyOfRun(key: string, runId: string): string {
  return `${key.split("+", 1)[0]}+${runId}`;
}

function environmentOf(url: string, key: string, run: string): Readonly<Record<string, string | undefined>> {
  const filled = (text: string) => text.replace("{url}", url).replace("{key}", key).replace("{run}", run);
  return Object.fromEntries(VARIABLES.map(([name, text]) => [name, text === null ? undefined : filled(text)]));
}

function budgetOf(typed: Typed): number {
  const text = typed.text("budget") ?? "";
  const amount = parseUsd(text.replace(/^\$/, ""));
  const cents = amount === null ? 0 : centsOf(amount);
  if (Number.isInteger(cents) && cents > 0) return cents;
  throw new UsageError(`--budget takes dollars and whole cents, such as 5 or 0.50, not ${JSON.stringify(text)}.`);
}

/** The terminal sends its own signals to the command too; sent twice, an interrupt would end an agent that asks first. */
function signalsToForward(): readonly NodeJS.Signals[] {
  const fromTerminal: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];
  return process.stdin.isTTY ? ["SIGTERM", "SIGHUP"] : [...fromTerminal, "SIGTERM", "SIGHUP"];
}

function ended(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [file = "", ...rest] = words;
  return new Promise((resolve, reject) => {
    const forwarded = signalsToForward();
    const forward = (signal: NodeJS.Signals) => void (forwarded.includes(signal) && child.kill(signal));
    const caught: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"];
    // Before the command starts: a signal in between would end this process and leave the command running.
    for (const signal of caught) process.on(signal, forward);
    const child = spawn(file, rest, { env, stdio: "inherit" });
    const over = () => {
      for (const signal of caught) process.off(signal, forward);
    };
    child.once("error", (error: NodeJS.ErrnoException) => {
      over();
      const code = error.code === "ENOENT" ? NOT_FOUND : NOT_EXECUTABLE;
      reject(new CommandError(`${file} cannot be started (${error.code ?? error.message}).`, "failed", code));
    });
    child.once("close", (code, signal) => {
      over();
      resolve(code ?? BY_SIGNAL + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}

/** Shows what is left in the terminal's title, the one place that the command's output does not share. Returns what ends it. */
function showLeft(own: AdminClient, run: RunShown, title: Workplace["title"]): () => void {
  if (title === undefined) return () => {};
  let over = false;
  const look = async () => {
    // The next look may succeed, and calls are bounded regardless.
    const now = await own.call<RunShown>("GET", `/api/v1/runs/${run.id}?limit=0`).catch(() => null);
    if (now !== null && !over) title(leftText(now));
  };
  title(leftText(run));
  const timer = setInterval(() => void look(), POLL_MS);
  return () => {
    over = true;
    clearInterval(timer);
    title(null);
  };
}

export const RUN_COMMAND: Command = {
  name: "run",
  rest: "-- COMMAND",
  options: {
    budget: { value: "DOLLARS", required: true, meaning: "most that the command may spend, such as 5 or 0.50" },
    label: { value: "TEXT", meaning: "a name for the run; default: the program's" },
    key: {
      value: "KEY",
      meaning: "the key to use; better in TOLLGATE_API_KEY, because other users can read command lines",
    },
    url: { value: "URL", meaning: "the gateway's address; default: TOLLGATE_URL, else the one in the settings" },
  },
  summary: "Runs a command (after --) with a budget for all its calls, and prints their bill",
  async run(typed, { config, environment, progress, title, columns }) {
    const words = typed.rest();
    if (words.length === 0) throw new UsageError("Name a command after --.");
    const budget = budgetOf(typed);
    const settings = { ...config, apiKey: typed.text("key") ?? config.apiKey, url: typed.text("url") ?? config.url };
    const own = createOwnClient(settings);
    const label = typed.text("label") ?? basename(words[0] ?? "");
    const run = await own.call<RunShown>("POST", "/api/v1/runs", { label, budget_cents: budget });
    const key = keyOfRun(settings.apiKey ?? "", run.id);
    const env = environmentWith(environmentOf(ownOrigin(settings), key, run.id), environment);
    const hide = showLeft(own, run, title);
    const exitCode = await ended(words, env).finally(hide);
    try {
      const bill = await own.call<Bill>("GET", `/api/v1/runs/${run.id}`);
      progress(billText(bill, columns));
      return { json: bill, text: "", exitCode };
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      progress(`tollgate: the bill of ${run.id} is not available: ${error.message}`);
      return { json: { id: run.id }, text: "", exitCode };
    }
  },
};
