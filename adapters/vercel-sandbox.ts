// Vercel Sandbox: virtual machines of a project. Times are in milliseconds, and a command answers in JSON lines. The wire format follows
// its SDK (August 2026). From memory: the error body, and the answer to stopping a machine that has already stopped.
import { argvOf, type BoxCommand, BoxGone, bearer, defineAdapter, HeardOutput, type SessionContext, z } from "#adapter";

const MINUTE_MS = 60_000;
/** How long the vendor has to end a command before we do. */
const GRACE_MS = 1_000;
const KILL = 9;
const KILLED = 137;
/** Statuses of a machine that has stopped or is about to. */
const GONE = [404, 410, 422];

const answerLine = z.object({
  command: z.object({ id: z.string(), exitCode: z.int().nullish(), durationMs: z.number().optional() }).optional(),
  stream: z.enum(["stdout", "stderr", "error"]).optional(),
  data: z.union([z.string(), z.object({ code: z.string().optional() })]).optional(),
});

/** Our key consists of a token, the team and the project. */
function scope({ key }: SessionContext): { readonly team: string; readonly projectId: string } {
  const [, team = "", projectId = ""] = key.split("\n");
  return { team, projectId };
}

/** A request about one machine, with `values` added. */
function about(context: SessionContext, id: unknown, values: Readonly<Record<string, unknown>> = {}) {
  return { values: { id, team: scope(context).team, ...values }, accepts: GONE };
}

const MACHINE = "/v2/sandboxes/sessions/{id}";
const ONE = { method: "GET", path: `${MACHINE}?teamId={team}` } as const;
const RUN = { method: "POST", path: `${MACHINE}/cmd?teamId={team}` } as const;
const END_COMMAND = { method: "POST", path: `${MACHINE}/cmd/{command}/kill?teamId={team}` } as const;
const STOP = { method: "POST", path: `${MACHINE}/stop?teamId={team}` } as const;
const EXTEND = { method: "POST", path: `${MACHINE}/extend-timeout?teamId={team}` } as const;

/** Whether the vendor's answer says that the machine no longer exists. */
function isGone({ status, json }: { readonly status: number; readonly json: unknown }): boolean {
  if (status !== 422) return GONE.includes(status);
  const codes = ["sandbox_stopping", "sandbox_stopped"];
  return z.object({ error: z.object({ code: z.enum(codes) }) }).safeParse(json).success;
}

async function run(context: SessionContext, id: string, command: BoxCommand) {
  const output = new HeardOutput();
  const heard: { id?: string; exitCode?: number; durationMs?: number; error?: string; flooded?: true } = {};
  const [program, ...args] = argvOf(command);
  const answer = await context.ask(RUN, {
    ...about(context, id, {
      command: program,
      args,
      env: {},
      sudo: false,
      wait: true,
      logs: true,
      timeout: command.timeoutMs,
    }),
    msMax: command.timeoutMs + GRACE_MS,
    messages: {
      form: "lines",
      heard(bytes) {
        const { command: told, stream, data } = answerLine.parse(JSON.parse(bytes.toString("utf8")));
        if (told?.id !== undefined) heard.id = told.id;
        if (typeof told?.exitCode === "number") {
          heard.exitCode = told.exitCode;
          heard.durationMs = told.durationMs ?? 0;
        }
        if (stream === "error") heard.error = typeof data === "object" ? (data.code ?? "") : "";
        const piece = Buffer.from(typeof data === "string" ? data : "");
        const more = stream === "stderr" ? output.stderr(piece) : output.stdout(piece);
        if (!more) heard.flooded = true;
        return more && heard.exitCode === undefined && heard.error === undefined;
      },
    },
  });
  if (isGone(answer) || /^sandbox_/.test(heard.error ?? "")) throw new BoxGone("the vendor has stopped it");
  const late = answer.cut === "late" && heard.exitCode === undefined;
  if (heard.id !== undefined && (heard.flooded || late)) {
    const how = about(context, id, { command: heard.id, signal: KILL });
    // A command that cannot be stopped ends with its machine.
    await context.ask(END_COMMAND, { ...how, judged: false, msMax: GRACE_MS }).catch(() => null);
  }
  if (heard.flooded) return output.flooded();
  const ended = heard.exitCode === KILLED && (heard.durationMs ?? 0) >= command.timeoutMs;
  if (late || ended) return output.timedOut();
  if (heard.exitCode === undefined) {
    return context.end("provider_server_error", { message: heard.error ?? "the command's end was not told" });
  }
  return output.ended(heard.exitCode);
}

async function stop(context: SessionContext, id: string): Promise<void> {
  const answer = await context.ask(STOP, about(context, id));
  if (answer.status === 422 && !isGone(answer)) context.end("provider_server_error");
}

const sessionAnswer = z.object({
  session: z.object({ id: z.string(), status: z.string(), timeout: z.number(), startedAt: z.number().optional() }),
});

export default defineAdapter({
  name: "Vercel Sandbox",
  docs: "https://vercel.com/docs/vercel-sandbox",
  beliefs: { "*": "the body of an error, and what a stop of a machine that has stopped is answered" },
  origin: "https://vercel.com/api",
  auth: bearer,
  keyParts: ["VERCEL_TOKEN", "VERCEL_TEAM_ID", "VERCEL_PROJECT_ID"],
  sessions: {
    description:
      "An Ubuntu virtual machine that keeps its files and processes between commands, with Python and Node.js.",
    vcpus: 2,
    memoryGb: 4,
    metered: "open",
    // On 2025-11-26: 12.8 per hour of an active processor, 2.12 per GB-hour. The maximum: both processors active all the time.
    upstreamCentsPerHour: 34.08,
    centsPerHour: 37.49,
    minutesMax: 300,
    leaseMinutes: 10,
    languages: ["python", "javascript", "bash"],
    async create(context, { envs, minutes, label }) {
      const request = { method: "POST", path: "/v3/sandboxes?teamId={team}" } as const;
      const box = { ...scope(context), name: label, timeout: minutes * MINUTE_MS, resources: { vcpus: 2 } };
      const { json } = await context.ask(request, { values: { ...box, persistent: false, env: envs } });
      const made = sessionAnswer.safeParse(json);
      if (!made.success) return context.end("provider_malformed", { message: "the new machine has no id" });
      return { id: made.data.session.id };
    },
    run: (context, { id }, asked) => run(context, String(id), asked),
    async extend(context, { id }, minutes) {
      const { status, json, headers } = await context.ask(ONE, about(context, id));
      const known = sessionAnswer.safeParse(json);
      if (status !== 200 || !known.success) throw new BoxGone("the vendor does not know it");
      const { timeout, startedAt: sinceMs } = known.data.session;
      const nowMs = Date.parse(String(headers.date));
      const leftMs = sinceMs === undefined || Number.isNaN(nowMs) ? 0 : Math.max(0, sinceMs + timeout - nowMs);
      const duration = Math.round(minutes * MINUTE_MS - leftMs);
      if (duration < MINUTE_MS) return;
      const how = about(context, id, { duration });
      // 400: a small plan does not allow a longer lifetime than the machine already has.
      const extended = await context.ask(EXTEND, { ...how, accepts: [...GONE, 400] });
      if (isGone(extended)) throw new BoxGone("the vendor has stopped it");
    },
    async isOpen(context, { id }) {
      const { status, json } = await context.ask(ONE, about(context, id));
      const known = sessionAnswer.safeParse(json);
      return status === 200 && known.success && ["pending", "running"].includes(known.data.session.status);
    },
    close: (context, { id }) => stop(context, String(id)),
    async closeLabelled(context, label) {
      const request = { method: "GET", path: "/v2/sandboxes/{label}?teamId={team}" } as const;
      const values = { ...scope(context), label, resume: "false" };
      const { status, json } = await context.ask(request, { values, accepts: GONE });
      const found = sessionAnswer.safeParse(json);
      if (status === 200 && found.success) await stop(context, found.data.session.id);
    },
  },
});
