// A shell line that runs a command and prints three lines: its exit code, and its stdout and stderr up to a limit.
import type { BoxCommand, BoxOutput, SessionLanguage } from "./session.ts";

/** Per stream; a command that prints more is stopped by a closed pipe. */
const OUTPUT_BYTES_MAX = 262_144;
const TIMED_OUT = 124;
/** A command that ignores SIGTERM is killed after this. */
const KILL_SECONDS = 2;

const INTERPRETERS = { python: "python3 -c", javascript: "node -e", bash: "bash -c" } as const satisfies Partial<
  Record<SessionLanguage, string>
>;

type Bounded = keyof typeof INTERPRETERS;

const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64");

/** Whether a machine with bash, python3 and node can run it. */
export function isBounded(language: BoxCommand["language"]): language is Bounded | null {
  return language === null || language in INTERPRETERS;
}

/** For a machine with bash, coreutils, python3 and node. All text from the caller is base64, so no shell on the way interprets it. */
export function boundedLine(language: Bounded | null, { text, timeoutMs }: Omit<BoxCommand, "language">): string {
  const seconds = Math.ceil(timeoutMs / 1_000);
  const most = OUTPUT_BYTES_MAX + 1;
  const script = [
    "d=$(mktemp -d); mkfifo $d/o $d/e",
    // Unbuffered, so that everything read has been written when the process is killed below.
    `stdbuf -o0 head -c ${most} <$d/o >$d/1 & p=$!`,
    `stdbuf -o0 head -c ${most} <$d/e >$d/2 & q=$!`,
    `timeout -k ${KILL_SECONDS} ${seconds} ${INTERPRETERS[language ?? "bash"]} "$(echo ${base64(text)} | base64 -d)" </dev/null >$d/o 2>$d/e; c=$?`,
    // Background processes of the command may keep its output open.
    "(sleep 1; kill $p $q) >/dev/null 2>&1 & wait $p $q 2>/dev/null",
    'echo $c; base64 -w0 $d/1; echo; base64 -w0 $d/2; echo; rm -rf "$d"',
  ].join("\n");
  return `sh -c "echo '${base64(script)}' | base64 -d | bash"`;
}

/** Parses the output of such a line; null for any other output. */
export function boundedOutput(printed: string): BoxOutput | null {
  const [code = "", out, err] = printed.split("\n");
  if (!/^\d{1,3}$/.test(code) || out === undefined || err === undefined) return null;
  const [stdout, stderr] = [Buffer.from(out, "base64"), Buffer.from(err, "base64")];
  const isCut = stdout.length > OUTPUT_BYTES_MAX || stderr.length > OUTPUT_BYTES_MAX;
  return {
    stdout: stdout.subarray(0, OUTPUT_BYTES_MAX).toString("utf8"),
    stderr: stderr.subarray(0, OUTPUT_BYTES_MAX).toString("utf8"),
    exit_code: Number(code),
    ...(Number(code) === TIMED_OUT ? { timed_out: true as const } : {}),
    ...(isCut ? { truncated: true as const } : {}),
  };
}

const LINE = /^sh -c "echo '([A-Za-z0-9+/=]+)' \| base64 -d \| bash"$/;
const COMMAND = /timeout -k \d+ (\d+) (python3 -c|node -e|bash -c) "\$\(echo ([A-Za-z0-9+/=]*) \| base64 -d\)"/;

/** For a vendor's stand-in: the command in such a line, or null for any other line. */
export function boundedCommand(line: string): BoxCommand | null {
  const script = Buffer.from(LINE.exec(line)?.[1] ?? "", "base64").toString("utf8");
  const [, seconds, interpreter, text = ""] = COMMAND.exec(script) ?? [];
  const language = (Object.keys(INTERPRETERS) as Bounded[]).find((one) => INTERPRETERS[one] === interpreter);
  if (language === undefined) return null;
  const timeoutMs = Number(seconds) * 1_000;
  return { language, text: Buffer.from(text, "base64").toString("utf8"), timeoutMs };
}

export function boundedPrint({ stdout, stderr, exit_code, timed_out }: BoxOutput): string {
  return [timed_out === true ? TIMED_OUT : exit_code, base64(stdout), base64(stderr), ""].join("\n");
}
