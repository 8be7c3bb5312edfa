// Daytona: sandboxes that go on between calls. The control plane makes and ends them, a toolbox proxy runs commands in them.
// As of its OpenAPI 0.190.0. From memory: the size of the snapshot `daytona-medium` and the list prices (5.04 cents a vCPU-hour,
// 1.62 a GiB-hour of memory, 0.0108 a GiB-hour of disk beyond 5 GiB).
import {
  BoxGone,
  type BoxOutput,
  bearer,
  boundedCommand,
  boundedLine,
  boundedOutput,
  boundedPrint,
  defineAdapter,
  isBounded,
  type Machine,
  type Machines,
  type SessionContext,
  type StandInAnswer,
  type StandInRequest,
  z,
} from "#adapter";

/** cpu and memory cannot be asked for beside a snapshot, so it is one of a fixed size. */
const SNAPSHOT = "daytona-medium";
const POLL_MS = 500;
const COMMAND_MS_MORE = 5_000;

/** States in which it runs, or soon will. */
const COMING = [
  "creating",
  "restoring",
  "starting",
  "pulling_snapshot",
  "pending_build",
  "building_snapshot",
  "unknown",
];
const OPEN = [...COMING, "started", "resizing", "snapshotting", "resuming"];

const sandbox = z.looseObject({ id: z.string().min(1), state: z.string() });
const executed = z.looseObject({ exitCode: z.number().default(0), result: z.string() });

type Box = Readonly<Record<string, unknown>>;

async function stateOf({ ask, end }: SessionContext, idOrName: string): Promise<string | null> {
  const answer = await ask({ method: "GET", path: "/sandbox/{id}" }, { values: { id: idOrName }, judged: false });
  if (answer.status === 404) return null;
  const read = sandbox.safeParse(answer.json);
  return answer.status === 200 && read.success ? read.data.state : end(failureOf(answer.status));
}

function failureOf(status: number) {
  if (status === 401 || status === 403) return "provider_auth_failed";
  if (status === 429) return "provider_rate_limited";
  return status >= 400 && status < 500 ? "caller_invalid" : "provider_server_error";
}

async function remove({ ask, end }: SessionContext, idOrName: string): Promise<void> {
  const answer = await ask(
    { method: "DELETE", path: "/sandbox/{id}", send: "none" },
    { values: { id: idOrName }, judged: false },
  );
  const isGone = answer.status === 404 || (answer.status >= 200 && answer.status < 300);
  if (!isGone) end(failureOf(answer.status));
}

const TIMED_OUT: BoxOutput = { stdout: "", stderr: "", exit_code: 124, timed_out: true };

/** One call of the toolbox: what it printed with its exit code, or null where its time was over. */
async function inToolbox(
  context: SessionContext,
  box: Box,
  call: { readonly path: string; readonly values: Box },
): Promise<z.infer<typeof executed> | null> {
  const id = String(box.id);
  const answer = await context.ask(
    { method: "POST", origin: "toolbox", path: `/{id}/process/${call.path}` },
    { values: { ...call.values, id }, judged: false },
  );
  if (answer.status === 408) return null;
  const read = executed.safeParse(answer.json);
  if (answer.status === 200 && read.success) return read.data;
  // The proxy says in many ways that there is no such machine; the control plane says it in one.
  const state = await stateOf(context, id);
  if (state === null || !OPEN.includes(state)) throw new BoxGone("the sandbox is gone");
  return context.end(failureOf(answer.status));
}

const createBody = z.strictObject({
  name: z.string().min(1),
  snapshot: z.literal(SNAPSHOT),
  env: z.record(z.string(), z.string()),
  labels: z.record(z.string(), z.string()),
  public: z.literal(false),
  autoStopInterval: z.int().min(0),
  autoDeleteInterval: z.int().min(-1),
});
const executeBody = z.strictObject({
  command: z.string().min(1),
  cwd: z.string().optional(),
  envs: z.record(z.string(), z.string()).optional(),
  timeout: z.int().min(0).optional(),
});
const codeBody = z.strictObject({
  code: z.string(),
  language: z.enum(["python", "javascript", "typescript"]),
  argv: z.array(z.string()).optional(),
  envs: z.record(z.string(), z.string()).optional(),
  timeout: z.int().min(0).optional(),
});

function says(status: number, message: string): StandInAnswer {
  return { status, body: { statusCode: status, message, error: message } };
}

function shown({ id, name, envs }: Machine, state: string) {
  return {
    id,
    name,
    state,
    snapshot: SNAPSHOT,
    env: envs,
    cpu: 2,
    memory: 4,
    disk: 8,
    toolboxProxyUrl: "https://proxy",
  };
}

/** The toolbox of one machine. */
function playToolbox({ path, json }: StandInRequest, machines: Machines): StandInAnswer {
  const [, id = "", , call] = path.split("/");
  const machine = machines.find(id);
  if (machine === null) return says(404, `Sandbox with ID ${id} not found`);
  if (call === "execute") {
    const body = executeBody.safeParse(json);
    if (!body.success) return says(400, "invalid request body");
    const { command, timeout = 10 } = body.data;
    const bounded = boundedCommand(command);
    const ran = machines.run(machine, bounded ?? { language: null, text: command, timeoutMs: timeout * 1_000 });
    if (bounded !== null) return { status: 200, body: { exitCode: 0, result: boundedPrint(ran) } };
    if (ran.timed_out === true) return says(408, "command execution timeout");
    return { status: 200, body: { exitCode: ran.exit_code, result: ran.stdout + ran.stderr } };
  }
  const body = codeBody.safeParse(json);
  if (call !== "code-run" || !body.success) return says(call === "code-run" ? 400 : 404, "invalid request");
  const { code, language, timeout = 10 } = body.data;
  const ran = machines.run(machine, { language, text: code, timeoutMs: timeout * 1_000 });
  if (ran.timed_out === true) return says(408, "command execution timeout");
  return { status: 200, body: { exitCode: ran.exit_code, result: ran.stdout + ran.stderr, artifacts: { charts: [] } } };
}

function play(request: StandInRequest, machines: Machines): StandInAnswer {
  const { method, path, origin, json } = request;
  if (origin === "toolbox") return method === "POST" ? playToolbox(request, machines) : says(404, "not found");
  if (method === "POST" && path === "/sandbox") {
    const body = createBody.safeParse(json);
    if (!body.success) return says(400, "Bad Request");
    const { name, env } = body.data;
    if (machines.find(name) !== null) return says(409, `Sandbox with name ${name} already exists`);
    return { status: 200, body: shown(machines.make({ name, envs: env, notes: {} }), "creating") };
  }
  const [, idOrName = "", more] = path.slice(1).split("/");
  const machine = path.startsWith("/sandbox/") ? machines.find(decodeURIComponent(idOrName)) : null;
  if (machine === null) return says(404, `Sandbox with ID or name ${idOrName} not found`);
  if (method === "GET" && more === undefined) return { status: 200, body: shown(machine, "started") };
  if (method === "POST" && more === "last-activity") return { status: 201 };
  if (method !== "DELETE" || more !== undefined) return says(404, `Cannot ${method} ${path}`);
  machines.end(machine);
  return { status: 200, body: shown(machine, "destroying") };
}

export default defineAdapter({
  name: "Daytona",
  docs: "https://www.daytona.io/docs",
  origin: "https://app.daytona.io/api",
  origins: { toolbox: "https://proxy.app.daytona.io/toolbox" },
  auth: bearer,
  sessions: {
    description: "A Linux machine with python, node and a shell, with its own files and the internet.",
    vcpus: 2,
    memoryGb: 4,
    metered: "open",
    centsPerHour: 18.3,
    upstreamCentsPerHour: 16.6,
    minutesMax: 1_440,
    leaseMinutes: 30,
    templates: ["python", "typescript", "javascript"],
    languages: ["python", "javascript", "typescript", "bash"],
    async create(context, { envs, label, minutes, template }) {
      const made = await context.ask(
        { method: "POST", path: "/sandbox" },
        {
          values: {
            name: label,
            snapshot: SNAPSHOT,
            env: envs,
            labels: { "code-toolbox-language": template ?? "python" },
            public: false,
            // Without a sign of us for so long it stops, and what stops is deleted.
            autoStopInterval: minutes,
            autoDeleteInterval: 0,
          },
        },
      );
      const { id } = sandbox.parse(made.json);
      for (let { state } = sandbox.parse(made.json); state !== "started"; ) {
        if (!COMING.includes(state))
          return context.end("provider_server_error", { message: `the sandbox is ${state}` });
        const next = await context.ask({ method: "GET", path: "/sandbox/{id}" }, { values: { id }, afterMs: POLL_MS });
        state = sandbox.parse(next.json).state;
      }
      return { id };
    },
    async run(context, box, { language, text, timeoutMs }) {
      const timeout = Math.ceil((timeoutMs + COMMAND_MS_MORE) / 1_000);
      if (isBounded(language)) {
        const command = boundedLine(language, { text, timeoutMs });
        const ran = await inToolbox(context, box, { path: "execute", values: { command, timeout } });
        return ran === null
          ? TIMED_OUT
          : (boundedOutput(ran.result) ?? { stdout: ran.result, stderr: "", exit_code: ran.exitCode });
      }
      const values = { code: text, language, timeout: Math.ceil(timeoutMs / 1_000) };
      const ran = await inToolbox(context, box, { path: "code-run", values });
      return ran === null ? TIMED_OUT : { stdout: ran.result, stderr: "", exit_code: ran.exitCode };
    },
    async extend({ ask }, box) {
      await ask({ method: "POST", path: "/sandbox/{id}/last-activity", send: "none" }, { values: { id: box.id } });
    },
    async isOpen(context, box) {
      const state = await stateOf(context, String(box.id));
      return state !== null && OPEN.includes(state);
    },
    close: (context, box) => remove(context, String(box.id)),
    closeLabelled: remove,
    standIn: play,
  },
});
