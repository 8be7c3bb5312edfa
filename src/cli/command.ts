// The form of a `tollgate` command: its words, its arguments, what it does; and how it fails.
import type { Config, Environment } from "../platform/config.ts";
import type { AdminClient } from "./admin-client.ts";

/** The command failed. Its message is for the operator. */
export class CommandError extends Error {
  /** The gateway's error code, where the gateway refused. */
  readonly code: string;
  readonly exitCode: number;

  constructor(message: string, code = "failed", exitCode = 1) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** What a command does with an error that leaves its store unusable. */
export function fail(error: Error): never {
  throw error;
}

/** The command was not understood: exit code 2. */
export class UsageError extends Error {}

export interface OptionShape {
  /** The placeholder for its value in the usage line, such as `CENTS`; null: a flag. */
  readonly value: string | null;
  readonly required?: boolean;
  readonly meaning: string;
}

/** The parsed command line, checked against the command's form. */
export interface Typed {
  /** An argument by its name in the command's `takes`. */
  word(name: string): string;
  /** The arguments after those of `takes`, where the command has a `rest`. */
  rest(): readonly string[];
  text(option: string): string | undefined;
  /** A non-negative integer. Throws UsageError otherwise. */
  number(option: string): number | undefined;
  flag(option: string): boolean;
}

export interface Workplace {
  /** Undefined: the process's own. */
  readonly environment: Environment | undefined;
  readonly config: Config;
  readonly admin: AdminClient;
  readonly own: AdminClient;
  /** For commands that run until they are stopped: prints a line at once. */
  say(line: string): void;
  /** Reports progress to the person who waits, separate from the result. */
  progress(line: string): void;
  /** The width of the terminal that text goes to; Infinity without a terminal. */
  readonly columns: number;
  /** Sets the terminal's title, or restores it with null; undefined without a terminal. */
  readonly title: ((text: string | null) => void) | undefined;
}

export interface Result {
  /** Printed with `--json`. */
  readonly json: unknown;
  /** Printed without; nothing where empty. */
  readonly text: string;
  /** False: exit code 1 although the command ran, such as a doctor with findings. */
  readonly good?: boolean;
  /** Default: by `good`. */
  readonly exitCode?: number;
}

export interface Command {
  /** One or two words, such as `account create`. */
  readonly name: string;
  /** The names of its arguments, all required. Default: none. */
  readonly takes?: readonly string[];
  /** The name of any further arguments. */
  readonly rest?: string;
  readonly options?: Readonly<Record<string, OptionShape>>;
  readonly summary: string;
  readonly run: (typed: Typed, place: Workplace) => Promise<Result>;
}

/** A command that sends one request to the admin listener and shows the answer. */
export function requesting<Answer>({
  request,
  shown,
  ...words
}: Omit<Command, "run"> & {
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
  return ["tollgate", name, ...takes, ...shown, ...more].join(" ");
}
