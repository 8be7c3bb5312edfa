// A metered session: a vendor's machine that goes on between calls. What an adapter says of one, as data and small scripts.
import { z } from "zod";
import { cents, count, fn, type JsonObject, type Said, some, words } from "./said.ts";
import type { ScriptContext } from "./script.ts";

export const SESSION_LANGUAGES = ["python", "javascript", "typescript", "bash"] as const;
/** What each adapter with sessions sells, as `<adapter id>/<name>`. */
export const SESSION_ACTIONS = ["create_session", "session", "close"] as const;
export type SessionLanguage = (typeof SESSION_LANGUAGES)[number];

/**
 * What the scripts of a session are given: `ask` at the vendor's pace and within the script's time, each answer held against the
 * adapter's rules unless it is asked with `judged: false`. A failure is thrown by `ask` and by `end`, and told as any action's is.
 */
export type SessionContext = Pick<ScriptContext, "key" | "signal" | "ask" | "end">;

/** What is ordered. */
export interface NewBox {
  /** One of `templates`; null where the vendor has none. */
  readonly template: string | null;
  readonly envs: Readonly<Record<string, string>>;
  /** How long the vendor is to let it live if it hears no more of us: `leaseMinutes`. */
  readonly minutes: number;
  /**
   * `tg-` and 24 hexadecimal digits, of no other box: it goes to the vendor as the box's name, or as its label, so that a box whose
   * answer was lost is found by `closeLabelled`.
   */
  readonly label: string;
}

/** What a session is asked to run. */
export interface BoxCommand {
  /** Of `code` its language, and of a command null: a line for a shell. */
  readonly language: SessionLanguage | null;
  readonly text: string;
  /** The vendor is to end it after so long; it is asked for a little longer. */
  readonly timeoutMs: number;
}

/** What came of it. Texts may be as long as the vendor's answer: they are cut, and made UTF-8, by the caller. */
export interface BoxOutput {
  readonly stdout: string;
  /** "" where the vendor does not keep the two apart. */
  readonly stderr: string;
  readonly exit_code: number;
  /** The vendor ended it because its time was over. Its exit code is then 124, as that of timeout(1) is. */
  readonly timed_out?: true;
  /** Not all of what it printed is there. */
  readonly truncated?: true;
}

const templateName = z.string().regex(/^[a-z0-9][a-z0-9._/-]{0,127}$/);
/** What is metered is sold at no less than so many times our cost; a little less for what rounding takes. */
const COST_FACTOR_MIN = 1.0999;

/** What we order is always the same, so its price is. */
export const session = z
  .strictObject({
    /** One sentence on what the machine is, without its size and its price. */
    description: words,
    vcpus: z.number().positive(),
    memoryGb: z.number().positive(),
    /** `open`: each started minute from create to close. `busy`: only while a command runs, and never less than a minute in all. */
    metered: z.enum(["open", "busy"]),
    /** The sale price of this size, in cents: vCPUs x 5, or our cost x 1.1 where that is more. */
    centsPerHour: z.number().positive(),
    /** What the price is made of, for callers, where it is neither of the two. */
    madeOf: words.optional(),
    /** What the vendor takes from us, in cents. */
    upstreamCentsPerHour: cents,
    /** The longest that the vendor lets it live, or that we do. */
    minutesMax: count,
    /** How far ahead the vendor's own deadline is set at create and by `extend`, so that a gateway that dies leaves nothing running for long. */
    leaseMinutes: count,
    /** The first is the default. Absent: the vendor has none, and callers name none. */
    templates: z.array(templateName).min(1).optional(),
    /** What `code` may be of; the first is the default. */
    languages: some(z.enum(SESSION_LANGUAGES)),
    /** For create, in milliseconds. Default 60,000. */
    createMsMax: count.optional(),
    /** Answers once the box can run commands, with what the other scripts need: ids and tokens. They are kept and never logged. */
    create: fn<(context: SessionContext, wanted: NewBox) => Promise<JsonObject>>(),
    /** A box that is gone throws BoxGone. */
    run: fn<(context: SessionContext, box: JsonObject, command: BoxCommand) => Promise<BoxOutput>>(),
    /** Pushes the vendor's own deadline to `minutes` from now. Absent: it has none that can be pushed. */
    extend: fn<(context: SessionContext, box: JsonObject, minutes: number) => Promise<void>>().optional(),
    isOpen: fn<(context: SessionContext, box: JsonObject) => Promise<boolean>>(),
    /** Ends it. One that the vendor does not know any more is closed. */
    close: fn<(context: SessionContext, box: JsonObject) => Promise<void>>(),
    /** Ends whatever a create has made under this label whose answer never came; nothing is there: it is closed. */
    closeLabelled: fn<(context: SessionContext, label: string) => Promise<void>>(),
  })
  .refine((one) => one.centsPerHour >= one.upstreamCentsPerHour * COST_FACTOR_MIN, {
    path: ["centsPerHour"],
    message: "must be at least our cost and a tenth of it",
  });

export type SessionSpec = Said<z.infer<typeof session>>;

/** The vendor has no such box any more: the session is over. */
export class BoxGone extends Error {}

const QUOTE = /'/g;

/** A word of a shell, whatever is in it. */
export function shellWord(text: string): string {
  return `'${text.replace(QUOTE, `'\\''`)}'`;
}

const INTERPRETERS = {
  python: ["python3", "-c"],
  javascript: ["node", "-e"],
  typescript: ["node", "--experimental-strip-types", "--input-type=module-typescript", "-e"],
  bash: ["bash", "-c"],
} as const satisfies Record<SessionLanguage, readonly string[]>;

/** The argv of a command for a machine that has bash, python3 and node: code is given to its interpreter as it is. */
export function argvOf({ language, text }: Pick<BoxCommand, "language" | "text">): readonly string[] {
  return language === null ? ["bash", "-c", text] : [...INTERPRETERS[language], text];
}
