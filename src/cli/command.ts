// What a command of `tollgate` is: its words, what it takes, what it does; and how it fails.
import type { Config, Environment } from "../platform/config.ts";
import type { AdminClient } from "./admin-client.ts";

/** The command could not be done: exit code 1. Its message is for the operator. */
export class CommandError extends Error {
  /** The gateway's error code, where it was the gateway that refused. */
  readonly code: string;

  constructor(message: string, code = "failed") {
    super(message);
    this.code = code;
  }
}

/** The command was not understood: exit code 2. */
export class UsageError extends Error {}

export interface OptionShape {
  /** What stands for its value in the usage line, such as `CENTS`; null: a flag. */
  readonly value: string | null;
  readonly required?: boolean;
  readonly meaning: string;
}

/** What was typed, checked against the command's shape. */
export interface Typed {
  /** A word by the name the command's `takes` gives it. */
  word(name: string): string;
  /** The words behind those of `takes`, where the command has a `rest`. */
  rest(): readonly string[];
  text(option: string): string | undefined;
  /** A whole number that is not negative. Throws UsageError otherwise. */
  number(option: string): number | undefined;
  flag(option: string): boolean;
}

export interface Workplace {
  /** Undefined: the process's own. */
  readonly environment: Environment | undefined;
  readonly config: Config;
  readonly admin: AdminClient;
  /** As the caller whose key is TOLLGATE_API_KEY. */
  readonly own: AdminClient;
  /** For commands that run until they are stopped: a line at once. */
  say(line: string): void;
  /** How far a command is, for the person who waits: beside the result, never within it. */
  progress(line: string): void;
  /** How wide the terminal is that text goes to; Infinity where it goes to none. */
  readonly columns: number;
}

export interface Result {
  /** Printed with `--json`. */
  readonly json: unknown;
  /** Printed without. */
  readonly text: string;
  /** False: exit code 1 although the command ran, such as a doctor with findings. */
  readonly good?: boolean;
}

export interface Command {
  /** One or two words, such as `account create`. */
  readonly name: string;
  /** The names of its words, all required. Default: none. */
  readonly takes?: readonly string[];
  /** The name of any number of words behind them. */
  readonly rest?: string;
  readonly options?: Readonly<Record<string, OptionShape>>;
  readonly summary: string;
  readonly run: (typed: Typed, place: Workplace) => Promise<Result>;
}

/** A command that is one request to the admin listener, and shows its answer. */
export function requesting<Answer>({
  request,
  shown,
  ...words
}: Omit<Command, "run"> & {
  /** Method, path and body. */
  request(typed: Typed): readonly [method: string, path: string, body?: unknown];
  shown(answer: Answer, typed: Typed, columns: number): string;
}): Command {
  return {
    ...words,
    async run(typed, { admin, columns }) {
      const json = await admin.call<Answer>(...request(typed));
      return { json, text: shown(json, typed, columns) };
    },
  };
}

/** `tollgate credit ACCOUNT --cents CENTS --reference TEXT` */
export function usageLine({ name, takes = [], rest, options = {} }: Command): string {
  const shown = Object.entries(options).map(([option, { value, required }]) => {
    const text = value === null ? `--${option}` : `--${option} ${value}`;
    return required ? text : `[${text}]`;
  });
  const more = rest === undefined ? [] : [`[${rest}...]`];
  return ["tollgate", name, ...takes, ...more, ...shown].join(" ");
}
