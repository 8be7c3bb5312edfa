// Runloop: machines called devboxes. A command is started, then long-polled for at most 25 seconds at a time. The wire format follows its
// SDK (August 2026). From memory: the error body, that a wait which times out answers 408, and how output beyond the requested lines is
// cut.
import { argvOf, type BoxCommand, BoxGone, bearer, defineAdapter, type SessionContext, shellWord, z } from "#adapter";

/** The number of output lines to request, and the fallback if that is too much; the vendor drops the beginning of longer output. */
const LINES_MAX = "10000";
const LINES_FEW = "100";
/** For an answer with output. */
const ANSWER_BYTES_MAX = 2 * 1024 * 1024;
/** The longest wait per poll, in seconds. */
const TURN_S_MAX = 25;
const TIMED_OUT = 124;
const KILLED = 137;
const KILL_MS_MAX = 3_000;
/** Its list has no filter by name; the newest come first (from memory). */
const LISTED_MAX = 5_000;
const LIVING = ["scheduled", "queued", "provisioning", "initializing", "resuming", "running"];

const ONE = { method: "GET", path: "/v1/devboxes/{id}" } as const;
const START = { method: "POST", path: "/v1/devboxes/{id}/execute_async" } as const;
const WAIT = {
  method: "POST",
  path: "/v1/devboxes/{id}/executions/{execution}/wait_for_status?last_n={lines}",
} as const;
const KILL = { method: "POST", path: "/v1/devboxes/{id}/executions/{execution}/kill" } as const;
const SHUTDOWN = { method: "POST", path: "/v1/devboxes/{id}/shutdown" } as const;

const devbox = z.object({ id: z.string(), status: z.string() });
const execution = z.object({
  execution_id: z.string(),
  status: z.string(),
  exit_status: z.int().nullish(),
  stdout: z.string().nullish(),
  stderr: z.string().nullish(),
  stdout_truncated: z.boolean().nullish(),
  stderr_truncated: z.boolean().nullish(),
});
type Execution = z.infer<typeof execution>;

/** Throws BoxGone if the machine no longer exists, otherwise the failure that the answer means. */
async function lost(context: SessionContext, id: unknown): Promise<never> {
  const { status, json } = await context.ask(ONE, { values: { id }, accepts: [404] });
  const known = devbox.safeParse(json);
  if (status === 404 || !known.success || !LIVING.includes(known.data.status)) throw new BoxGone("it was shut down");
  return context.end("provider_server_error", { message: "the devbox does not take the command" });
}

function outputOf({ stdout, stderr, stdout_truncated, stderr_truncated }: Execution, exit_code: number) {
  const kept = { stdout: stdout ?? "", stderr: stderr ?? "", exit_code };
  return stdout_truncated || stderr_truncated ? { ...kept, truncated: true as const } : kept;
}

interface Turn {
  readonly id: unknown;
  readonly started: Execution;
  readonly seconds: number;
  readonly lines: string;
}

/** One poll. Null: the command is still running. `large`: its output is too long for this many lines. */
async function waited(
  context: SessionContext,
  { id, started, seconds, lines }: Turn,
): Promise<Execution | "large" | null> {
  const values = { id, execution: started.execution_id, lines, statuses: ["completed"], timeout_seconds: seconds };
  const pieces: Buffer[] = [];
  let bytes = 0;
  const answer = await context.ask(WAIT, {
    values,
    accepts: [400, 404, 408],
    messages: {
      form: "lines",
      heard(line) {
        bytes += line.length;
        if (bytes <= ANSWER_BYTES_MAX) pieces.push(line);
        return bytes <= ANSWER_BYTES_MAX;
      },
    },
  });
  if (answer.status === 400 || answer.status === 404) return lost(context, id);
  if (answer.status === 408) return null;
  if (answer.cut !== undefined) return "large";
  const told = execution.parse(JSON.parse(Buffer.concat(pieces).toString("utf8")));
  return told.status === "completed" ? told : null;
}

async function run(context: SessionContext, id: unknown, command: BoxCommand) {
  const line = command.language === null ? command.text : argvOf(command).map(shellWord).join(" ");
  const answer = await context.ask(START, { values: { id, command: line }, accepts: [400, 404] });
  if (answer.status === 400 || answer.status === 404) return lost(context, id);
  const known = execution.safeParse(answer.json);
  if (!known.success) return context.end("provider_malformed", { message: "the execution has no id" });
  const started = known.data;
  let leftS = Math.ceil(command.timeoutMs / 1_000);
  let lines = LINES_MAX;
  while (leftS > 0) {
    const seconds = Math.min(leftS, TURN_S_MAX);
    const ended = await waited(context, { id, started, seconds, lines });
    if (ended === "large" && lines === LINES_FEW) break;
    if (ended === "large") lines = LINES_FEW;
    else if (ended !== null) return outputOf(ended, ended.exit_status ?? 0);
    else leftS -= seconds;
  }
  const values = { id, execution: started.execution_id, kill_process_group: true };
  await context.ask(KILL, { values, judged: false, msMax: KILL_MS_MAX }).catch(() => null);
  if (leftS > 0) return { ...outputOf(started, KILLED), truncated: true as const };
  return { ...outputOf(started, TIMED_OUT), timed_out: true as const };
}

async function shutdown(context: SessionContext, id: unknown): Promise<void> {
  await context.ask(SHUTDOWN, { values: { id }, accepts: [404] });
}

export default defineAdapter({
  name: "Runloop",
  docs: "https://docs.runloop.ai",
  beliefs: { "*": "the body of an error, how a wait whose time is over is answered, and how long output is cut" },
  origin: "https://api.runloop.ai",
  auth: bearer,
  sessions: {
    description: "A Linux machine that keeps its files and processes between commands, with Python and Node.js.",
    vcpus: 2,
    memoryGb: 4,
    metered: "open",
    // On 2026-05-25: 10.8 per CPU-hour and 2.52 per GB-hour.
    upstreamCentsPerHour: 31.68,
    centsPerHour: 34.85,
    minutesMax: 1_440,
    leaseMinutes: 10,
    languages: ["python", "javascript", "bash"],
    createMsMax: 120_000,
    async create(context, { envs, minutes, label }) {
      const launch_parameters = {
        resource_size_request: "MEDIUM",
        after_idle: { idle_time_seconds: minutes * 60, on_idle: "shutdown" },
      };
      const values = { name: label, environment_variables: envs, metadata: { label }, launch_parameters };
      const { json } = await context.ask({ method: "POST", path: "/v1/devboxes" }, { values });
      let known = devbox.safeParse(json);
      while (known.success && known.data.status !== "running") {
        if (!LIVING.includes(known.data.status))
          return context.end("provider_server_error", { message: known.data.status });
        const again = await context.ask(ONE, { values: { id: known.data.id }, afterMs: 1_000 });
        known = devbox.safeParse(again.json);
      }
      if (!known.success) return context.end("provider_malformed", { message: "the new devbox has no id" });
      return { id: known.data.id };
    },
    run: (context, { id }, command) => run(context, id, command),
    async extend({ ask }, { id }) {
      const request = { method: "POST", path: "/v1/devboxes/{id}/keep_alive" } as const;
      const { status } = await ask(request, { values: { id }, accepts: [404] });
      if (status === 404) throw new BoxGone("the vendor does not know it");
    },
    async isOpen({ ask }, { id }) {
      const { status, json } = await ask(ONE, { values: { id }, accepts: [404] });
      const known = devbox.safeParse(json);
      return status !== 404 && known.success && LIVING.includes(known.data.status);
    },
    close: (context, { id }) => shutdown(context, id),
    async closeLabelled(context, label) {
      const { json } = await context.ask({ method: "GET", path: "/v1/devboxes" }, { values: { limit: LISTED_MAX } });
      const listed = z.object({ devboxes: z.array(devbox.extend({ name: z.string().nullish() })) }).parse(json);
      const living = listed.devboxes.filter(({ name, status }) => name === label && LIVING.includes(status));
      for (const { id } of living) await shutdown(context, id);
    },
  },
});
