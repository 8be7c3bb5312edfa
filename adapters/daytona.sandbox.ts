// Sandbox stand-in for Daytona: the control plane that creates machines, and each machine's toolbox.
import { boundedCommand, boundedPrint, z } from "#adapter";
import { defineStandIn, type Machine, type Machines, type StandInAnswer, type StandInRequest } from "#sandbox";

const SNAPSHOT = "daytona-medium";

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

function sessions(request: StandInRequest, machines: Machines): StandInAnswer {
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

export default defineStandIn({ sessions });
