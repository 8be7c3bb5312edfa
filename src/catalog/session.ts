// Metered sessions: a vendor's machine that keeps running between calls, described by an adapter as data and small scripts.
import { z } from "zod";
import { cents, count, fn, type JsonObject, type Said, some, words } from "./said.ts";
import type { ScriptContext } from "./script.ts";

export const SESSION_LANGUAGES = ["python", "javascript", "typescript", "bash"] as const;
/** The actions of each adapter with sessions, as `<adapter id>/<name>`. */
export const SESSION_ACTIONS = ["create_session", "session", "close"] as const;
export type SessionLanguage = (typeof SESSION_LANGUAGES)[number];

/**
 * What a session's scripts get: `ask` stays within the vendor's rate limit and the script's time, and applies the adapter's rules to each
 * answer unless `judged: false`. `ask` and `end` throw failures, which are reported like any action's.
 */
export type SessionContext = Pick<ScriptContext, "key" | "signal" | "ask" | "end">;

export interface NewBox {
  /** One of `templates`; null if the vendor has none. */
  readonly template: string | null;
  readonly envs: Readonly<Record<string, string>>;
  /** How long the vendor lets it live if we never contact it again: `leaseMinutes`. */
  readonly minutes: number;
  /** `tg-` and 24 hexadecimal digits: the box's name or label at the vendor, by which `closeLabelled` finds a box without an answer. */
  readonly label: string;
}

export interface BoxCommand {
  /** The language of `code`; null for a shell command line. */
  readonly language: SessionLanguage | null;
  readonly text: string;
  /** The vendor must stop it after this; our request waits slightly longer. */
  readonly timeoutMs: number;
}

/** The command's result. Texts may be as long as the vendor's answer; the caller truncates them and makes them valid UTF-8. */
export interface BoxOutput {
  readonly stdout: string;
  /** "" if the vendor does not separate the two streams. */
  readonly stderr: string;
  readonly exit_code: number;
  /** The vendor stopped it because it timed out. Its exit code is then 124, as with timeout(1). */
  readonly timed_out?: true;
  readonly truncated?: true;
}

const templateName = z.string().regex(/^[a-z0-9][a-z0-9._/-]{0,127}$/);
/** Metered usage is sold at no less than this multiple of our cost; slightly below 1.1 because of rounding. */
const COST_FACTOR_MIN = 1.0999;

/** We always order the same machine, so the price is fixed. */
export const session = z
  .strictObject({
    /** One sentence that describes the machine, without size and price. */
    description: words,
    vcpus: z.number().positive(),
    memoryGb: z.number().positive(),
    /** `open`: every started minute from create to close. `busy`: only while a command runs, with a minimum of one minute in total. */
    metered: z.enum(["open", "busy"]),
    /** The sale price of this size, in cents: vCPUs x 5, or our cost x 1.1 if that is higher. */
    centsPerHour: z.number().positive(),
    /** An explanation of the price for callers, if it is neither of the two. */
    madeOf: words.optional(),
    /** What the vendor charges us, in cents. */
    upstreamCentsPerHour: cents,
    /** The maximum lifetime that the vendor or the gateway allows. */
    minutesMax: count,
    /** How far ahead create and `extend` set the vendor's own deadline, so that a machine does not run long if the gateway dies. */
    leaseMinutes: count,
    /** The first is the default. Absent: the vendor has none, and callers cannot choose. */
    templates: z.array(templateName).min(1).optional(),
    /** The languages of `code`; the first is the default. */
    languages: some(z.enum(SESSION_LANGUAGES)),
    /** For create, in milliseconds. Default 60,000. */
    createMsMax: count.optional(),
    /** Resolves once the box can run commands, with what the other scripts need (ids, tokens): stored and never logged. */
    create: fn<(context: SessionContext, wanted: NewBox) => Promise<JsonObject>>(),
    /** Throws BoxGone if the box no longer exists. */
    run: fn<(context: SessionContext, box: JsonObject, command: BoxCommand) => Promise<BoxOutput>>(),
    /** Moves the vendor's deadline to `minutes` from now. Absent: it has no deadline that can be moved. */
    extend: fn<(context: SessionContext, box: JsonObject, minutes: number) => Promise<void>>().optional(),
    isOpen: fn<(context: SessionContext, box: JsonObject) => Promise<boolean>>(),
    /** Closes a box; one that the vendor no longer knows counts as closed. */
    close: fn<(context: SessionContext, box: JsonObject) => Promise<void>>(),
    /** Closes the box of a create whose answer was lost, by its label; if there is none, it counts as closed. */
    closeLabelled: fn<(context: SessionContext, label: string) => Promise<void>>(),
  })
  .refine((one) => one.centsPerHour >= one.upstreamCentsPerHour * COST_FACTOR_MIN, {
    path: ["centsPerHour"],
    message: "must be at least our cost and a tenth of it",
  });

export type SessionSpec = Said<z.infer<typeof session>>;

/** The vendor no longer has the box: the session is over. */
export class BoxGone extends Error {}

const QUOTE = /'/g;

/** Quotes any text as one word for a shell. */
export function shellWord(text: string): string {
  return `'${text.replace(QUOTE, `'\\''`)}'`;
}

const INTERPRETERS = {
  python: ["python3", "-c"],
  javascript: ["node", "-e"],
  typescript: ["node", "--experimental-strip-types", "--input-type=module-typescript", "-e"],
  bash: ["bash", "-c"],
} as const satisfies Record<SessionLanguage, readonly string[]>;

/** A command's argv for a machine with bash, python3 and node: code is passed to its interpreter unchanged. */
export function argvOf({ language, text }: Pick<BoxCommand, "language" | "text">): readonly string[] {
  return language === null ? ["bash", "-c", text] : [...INTERPRETERS[language], text];
}
