// From a command line to an exit code: finds the command, checks its arguments, prints its result.
import { parseArgs } from "node:util";
import { VERSION } from "../core/version.ts";
import { type Environment, readConfig } from "../platform/config.ts";
import { ACCOUNT_COMMANDS } from "./account-commands.ts";
import { createAdminClient, createOwnClient } from "./admin-client.ts";
import { certifyCommand } from "./certify/certify-command.ts";
import { check, routesCommand } from "./check-command.ts";
import { type Command, CommandError, type Typed, UsageError, usageLine, type Workplace } from "./command.ts";
import { EVENT_COMMANDS } from "./event-commands.ts";
import { GROUP_COMMANDS } from "./group-commands.ts";
import { KEY_COMMANDS } from "./key-commands.ts";
import { LOCAL_COMMANDS, settingsText } from "./local-commands.ts";
import { LOG_COMMANDS } from "./log-commands.ts";
import { MCP_COMMAND } from "./mcp-command.ts";
import { MODELS_COMMANDS } from "./models-commands.ts";
import { RUN_COMMAND } from "./run-command.ts";
import { jobs, RUNS_COMMANDS } from "./runs-commands.ts";
import { STORE_COMMANDS } from "./store-commands.ts";
import { pairs, wrapped } from "./text.ts";
import { USAGE_COMMANDS } from "./usage-commands.ts";
import { PAYMENT_COMMANDS, WALLET_COMMANDS } from "./wallet-commands.ts";

export const COMMANDS: readonly Command[] = [
  ...ACCOUNT_COMMANDS,
  ...KEY_COMMANDS,
  ...GROUP_COMMANDS,
  ...EVENT_COMMANDS,
  ...USAGE_COMMANDS,
  ...RUNS_COMMANDS,
  ...LOG_COMMANDS,
  jobs,
  ...PAYMENT_COMMANDS,
  ...WALLET_COMMANDS,
  ...STORE_COMMANDS,
  check,
  routesCommand,
  certifyCommand,
  ...LOCAL_COMMANDS,
  ...MODELS_COMMANDS,
  MCP_COMMAND,
  RUN_COMMAND,
];

const USAGE_INDENT = "         ";

export interface Surroundings {
  /** Default: the process's own. */
  readonly environment?: Environment;
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /** The terminal's width; without it lines are not wrapped. */
  readonly columns?: number;
  readonly title?: Workplace["title"];
}

/** Any command line may end in one of these. */
const ASKS_HELP = ["--help", "-h"];
const ASKS_VERSION = ["--version", "-V", "version"];

function overview(columns: number, commands: readonly Command[] = COMMANDS): string {
  const rows = commands.map((command) => [command.name, command.summary] as const);
  return [
    "Usage: tollgate COMMAND [OPTIONS] [--json]",
    "",
    pairs(rows, columns),
    "",
    ...wrapped("`tollgate COMMAND --help` explains a command. Start the gateway itself with `npm start`.", columns),
  ].join("\n");
}

function help(command: Command, columns: number): string {
  const options = Object.entries(command.options ?? {}).map(
    ([name, { value, meaning }]) => [value === null ? `--${name}` : `--${name} ${value}`, meaning] as const,
  );
  const shown = pairs([...options, ["--json", "print the result as JSON"]], columns);
  const usage = wrapped(`Usage: ${usageLine(command)} [--json]`, columns - USAGE_INDENT.length);
  const lines = [usage.join(`\n${USAGE_INDENT}`), "", ...wrapped(`${command.summary}.`, columns), "", shown];
  return (command.name === "config" ? [...lines, "", settingsText(columns)] : lines).join("\n");
}

function groupOf(word: string | undefined): readonly Command[] {
  return COMMANDS.filter(({ name }) => name.startsWith(`${word} `));
}

/** The command that the line begins with, and the rest of the line. */
function find(words: readonly string[]): { command: Command; rest: readonly string[] } {
  for (const count of [2, 1]) {
    const command = COMMANDS.find(({ name }) => name === words.slice(0, count).join(" "));
    if (command !== undefined) return { command, rest: words.slice(count) };
  }
  const group = groupOf(words[0]).map(({ name }) => name);
  if (group.length > 0) throw new UsageError(`Which one? ${group.join(", ")}`);
  throw new UsageError(`There is no command ${JSON.stringify(words[0])}; \`tollgate help\` lists them.`);
}

interface Parsed {
  readonly values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
}

function parse(command: Command, rest: readonly string[]): Parsed {
  const own = Object.entries(command.options ?? {}).map(([name, { value }]) => [
    name,
    { type: value === null ? ("boolean" as const) : ("string" as const) },
  ]);
  const flags = { json: { type: "boolean" as const }, help: { type: "boolean" as const, short: "h" } };
  try {
    return parseArgs({ args: [...rest], options: { ...Object.fromEntries(own), ...flags }, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? (error.message.split(". ")[0] ?? error.message) : String(error));
  }
}

function typedFor({ takes = [], rest, options = {} }: Command, { values, positionals }: Parsed): Typed {
  const [extra] = positionals.slice(takes.length);
  if (extra !== undefined && rest === undefined) throw new UsageError(`${JSON.stringify(extra)} is one word too many.`);
  const missing = takes[positionals.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing.`);
  const texts = new Map(
    Object.entries(values).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
  for (const [name, { required }] of Object.entries(options)) {
    if (required && !texts.get(name)) throw new UsageError(`--${name} is missing.`);
  }
  return {
    word: (name) => positionals[takes.indexOf(name)] ?? "",
    rest: () => positionals.slice(takes.length),
    text: (option) => texts.get(option),
    number(option) {
      const text = texts.get(option);
      if (text === undefined) return undefined;
      if (!/^\d{1,12}$/.test(text))
        throw new UsageError(`--${option} takes a whole number, not ${JSON.stringify(text)}.`);
      return Number(text);
    },
    flag: (option) => values[option] === true,
  };
}

async function perform(command: Command, rest: readonly string[], place: Surroundings): Promise<number> {
  const { environment, out, err, columns = Infinity, title } = place;
  const parsed = parse(command, rest);
  if (parsed.values.help === true) {
    out(help(command, columns));
    return 0;
  }
  const typed = typedFor(command, parsed);
  const config = readConfig(environment);
  const json = parsed.values.json === true;
  const say = (line: string) => out(json ? JSON.stringify({ message: line }) : line);
  const result = await command.run(typed, {
    config,
    admin: createAdminClient(config),
    own: createOwnClient(config),
    say,
    progress: err,
    columns,
    title,
    environment,
  });
  if (json || result.text !== "") out(json ? JSON.stringify(result.json, null, 2) : result.text);
  return result.exitCode ?? (result.good === false ? 1 : 0);
}

/** The help for a line that names no command; null: the line does not ask for help. */
function helpFor(words: readonly string[], columns: number): string | null {
  const [first = "help", second = ""] = words;
  const asksFirst = ["help", ...ASKS_HELP].includes(first);
  if (asksFirst && words.length < 2) return overview(columns);
  const named = asksFirst ? words.slice(1) : words;
  const isCommand = COMMANDS.some(({ name }) => name === named[0]);
  const group = isCommand ? [] : groupOf(named[0]);
  const alone = asksFirst ? named.length === 1 : ASKS_HELP.includes(second);
  if (group.length > 0 && alone) return overview(columns, group);
  return asksFirst ? help(find(named).command, columns) : null;
}

/** An error's message with its causes: "the ledger cannot be reached" alone leaves the operator to guess. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? wordsOf(error.cause) : "";
  return cause === "" || error.message.includes(cause) ? error.message : `${error.message} (${cause})`;
}

/** Runs a command line. Returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function run(words: readonly string[], place: Surroundings): Promise<number> {
  const { out, err } = place;
  let command: Command | null = null;
  try {
    if (ASKS_VERSION.includes(words[0] ?? "")) {
      out(words.includes("--json") ? JSON.stringify({ version: VERSION }) : VERSION);
      return 0;
    }
    const asked = helpFor(words, place.columns ?? Infinity);
    if (asked !== null) {
      out(asked);
      return 0;
    }
    const found = find(words);
    command = found.command;
    return await perform(command, found.rest, place);
  } catch (error) {
    if (error instanceof UsageError) {
      err(`tollgate: ${error.message}`);
      if (command !== null) err(`Usage: ${usageLine(command)}`);
      return 2;
    }
    const { code, exitCode } = error instanceof CommandError ? error : { code: "failed", exitCode: 1 };
    const message = wordsOf(error);
    // After `--` stand the words of another program.
    if (words.slice(0, words.includes("--") ? words.indexOf("--") : words.length).includes("--json"))
      out(JSON.stringify({ ok: false, error: code, message }, null, 2));
    else err(`tollgate: ${message}`);
    return exitCode;
  }
}
