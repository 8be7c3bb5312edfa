// Vercel Sandbox: virtual machines of a project. Times are in milliseconds here, and a command answers in lines of JSON.
// The wire is that of its SDK (August 2026). From memory: the body of an error, and what a stop of a machine that has stopped answers.
import {
  argvOf,
  type BoxCommand,
  BoxGone,
  bearer,
  defineAdapter,
  HeardOutput,
  type Machines,
  type SessionContext,
  type StandInAnswer,
  type StandInRequest,
  z,
} from "#adapter";

const MINUTE_MS = 60_000;
/** What the vendor is given to end a command by itself before we do it. */
const GRACE_MS = 1_000;
const KILL = 9;
const KILLED = 137;
/** It has stopped, or is about to. */
const GONE = [404, 410, 422];

/** A line of a command's answer. */
const answerLine = z.object({
  command: z.object({ id: z.string(), exitCode: z.int().nullish(), durationMs: z.number().optional() }).optional(),
  stream: z.enum(["stdout", "stderr", "error"]).optional(),
  data: z.union([z.string(), z.object({ code: z.string().optional() })]).optional(),
});

/** Our key is a token, the team and the project. */
function scope({ key }: SessionContext): { readonly team: string; readonly projectId: string } {
  const [, team = "", projectId = ""] = key.split("\n");
  return { team, projectId };
}

/** A request about one machine; `values` go with it. */
function about(context: SessionContext, id: unknown, values: Readonly<Record<string, unknown>> = {}) {
  return { values: { id, team: scope(context).team, ...values }, accepts: GONE };
}

const MACHINE = "/v2/sandboxes/sessions/{id}";
const ONE = { method: "GET", path: `${MACHINE}?teamId={team}` } as const;
const RUN = { method: "POST", path: `${MACHINE}/cmd?teamId={team}` } as const;
const END_COMMAND = { method: "POST", path: `${MACHINE}/cmd/{command}/kill?teamId={team}` } as const;
const STOP = { method: "POST", path: `${MACHINE}/stop?teamId={team}` } as const;
const EXTEND = { method: "POST", path: `${MACHINE}/extend-timeout?teamId={team}` } as const;

/** Whether the vendor says by its answer that the machine is no more. */
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
    // One that does not go is ended with its machine.
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

// The vendor's side, for the sandbox.

const newSandbox = z.strictObject({
  projectId: z.string().min(1),
  name: z.string().min(1).optional(),
  timeout: z.int().min(MINUTE_MS).max(18_000_000),
  resources: z.strictObject({ vcpus: z.union([z.literal(1), z.int().multipleOf(2)]) }).optional(),
  persistent: z.boolean().optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const newCommand = z.strictObject({
  command: z.string().min(1),
  args: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  cwd: z.string().optional(),
  sudo: z.boolean(),
  wait: z.boolean().optional(),
  logs: z.boolean().optional(),
  timeout: z.int().min(1).optional(),
});

function refusal(status: number, code: string): StandInAnswer {
  return { status, body: { error: { code, message: code.replaceAll("_", " ") } } };
}

function command(request: StandInRequest, machines: Machines, id: string): StandInAnswer {
  const asked = newCommand.safeParse(request.json);
  const machine = machines.find(id);
  if (machine === null) return refusal(410, "sandbox_stopped");
  if (!asked.success) return refusal(400, "bad_request");
  const { command: program, args, timeout: timeoutMs = MINUTE_MS } = asked.data;
  const language = program === "python3" ? "python" : program === "node" ? "javascript" : null;
  const ran = machines.run(machine, { language, text: args.at(-1) ?? "", timeoutMs });
  const told = {
    id: "cmd_7fQ2",
    name: program,
    args,
    cwd: "/home/ubuntu",
    sessionId: id,
    startedAt: 1_767_609_000_000,
  };
  const code = ran.timed_out ? KILLED : ran.exit_code;
  const lines = [
    { command: { ...told, exitCode: null } },
    ...(ran.stdout === "" ? [] : [{ stream: "stdout", data: ran.stdout }]),
    ...(ran.stderr === "" ? [] : [{ stream: "stderr", data: ran.stderr }]),
    { command: { ...told, exitCode: code, durationMs: ran.timed_out ? timeoutMs : 12 } },
  ];
  const body = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return { status: 200, headers: { "content-type": "application/x-ndjson" }, body };
}

function standIn(request: StandInRequest, machines: Machines): StandInAnswer {
  const { method, path, query, json } = request;
  if (!query.get("teamId")) return refusal(403, "forbidden");
  const session = (id: string, status: string) => {
    return { id, status, vcpus: 2, memory: 4096, region: "iad1", timeout: 600_000, startedAt: Date.parse(startedAt) };
  };
  if (method === "POST" && path === "/v3/sandboxes") {
    const asked = newSandbox.safeParse(json);
    if (!asked.success) return refusal(400, "bad_request");
    const name = asked.data.name ?? "sandbox";
    const made = machines.make({ name, envs: asked.data.env ?? {}, notes: {} });
    const sandbox = { name, persistent: asked.data.persistent ?? true, currentSessionId: made.id, status: "running" };
    return { status: 200, body: { sandbox, session: session(made.id, "running"), routes: [] } };
  }
  const [, name] = /^\/v2\/sandboxes\/([^/]+)$/.exec(path) ?? [];
  if (name !== undefined && method === "GET") {
    const machine = machines.find(name);
    if (machine === null || !query.get("projectId")) return refusal(404, "not_found");
    const sandbox = { name, persistent: false, currentSessionId: machine.id, status: "running" };
    return { status: 200, body: { sandbox, session: session(machine.id, "running"), routes: [] } };
  }
  const [, id = "", verb = ""] = /^\/v2\/sandboxes\/sessions\/([^/]+)(\/[a-z-]+)?$/.exec(path) ?? [];
  if (verb === "/cmd" && method === "POST") return command(request, machines, id);
  const machine = machines.find(id);
  if (machine === null) return refusal(verb === "" ? 404 : 410, verb === "" ? "not_found" : "sandbox_stopped");
  if (verb === "" && method === "GET") return { status: 200, body: { session: session(id, "running"), routes: [] } };
  if (method !== "POST") return refusal(405, "method_not_allowed");
  if (verb === "/stop") {
    machines.end(machine);
    return { status: 200, body: { session: session(id, "stopping") } };
  }
  const asked = z.strictObject({ duration: z.int().min(MINUTE_MS).max(18_000_000) }).safeParse(json);
  if (verb !== "/extend-timeout") return refusal(404, "not_found");
  return asked.success ? { status: 200, body: { session: session(id, "running") } } : refusal(400, "bad_request");
}

const startedAt = "2026-11-20T10:00:00Z";

export default defineAdapter({
  name: "Vercel Sandbox",
  docs: "https://vercel.com/docs/vercel-sandbox",
  origin: "https://vercel.com/api",
  auth: bearer,
  keyParts: ["VERCEL_TOKEN", "VERCEL_TEAM_ID", "VERCEL_PROJECT_ID"],
  sessions: {
    description:
      "An Ubuntu virtual machine that keeps its files and processes between commands, with Python and Node.js.",
    vcpus: 2,
    memoryGb: 4,
    metered: "open",
    // On 2025-11-26: 12.8 an hour of a processor that works, 2.12 a GB-hour. At most: both processors work all the time.
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
      // 400: a small plan lets it live no longer than it does already.
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
    standIn,
  },
});
