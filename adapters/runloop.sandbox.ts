// Sandbox stand-in for Runloop: devboxes, and commands that are started and polled.
import { z } from "#adapter";
import { defineStandIn, type Machines, type StandInAnswer, type StandInRequest } from "#sandbox";

/** The longest wait per poll, in seconds. */
const TURN_S_MAX = 25;
/** Where a machine stores the command that was started. */
const ASKED = "/.asked";

const newDevbox = z.strictObject({
  name: z.string().optional(),
  environment_variables: z.record(z.string(), z.string()).optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  launch_parameters: z.strictObject({
    resource_size_request: z.enum(["X_SMALL", "SMALL", "MEDIUM", "LARGE", "X_LARGE", "XX_LARGE"]),
    after_idle: z.strictObject({
      idle_time_seconds: z.int().min(1).max(172_800),
      on_idle: z.enum(["shutdown", "suspend"]),
    }),
  }),
});
const newWait = z.strictObject({
  statuses: z.array(z.enum(["queued", "running", "completed"])).min(1),
  timeout_seconds: z.int().min(1).max(TURN_S_MAX),
});

function refusal(status: number, message: string): StandInAnswer {
  return { status, body: { message, code: String(status) } };
}

function sessions(request: StandInRequest, machines: Machines): StandInAnswer {
  const { method, path, json } = request;
  const told = (id: string, name: string, status: string) => ({ id, name, status, metadata: { label: name } });
  if (method === "POST" && path === "/v1/devboxes") {
    const asked = newDevbox.safeParse(json);
    if (!asked.success) return refusal(400, "invalid devbox");
    const { name = "", environment_variables: envs = {} } = asked.data;
    const made = machines.make({ name, envs, notes: {} });
    return { status: 200, body: told(made.id, name, "provisioning") };
  }
  if (method === "GET" && path === "/v1/devboxes") {
    const devboxes = machines.all().map((one) => told(one.id, one.name, "running"));
    return { status: 200, body: { devboxes, has_more: false, total_count: devboxes.length } };
  }
  const [, id = "", rest = ""] = /^\/v1\/devboxes\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  const machine = machines.find(id);
  if (machine === null) return refusal(404, `devbox ${id} not found`);
  if (method === "GET" && rest === "") return { status: 200, body: told(id, machine.name, "running") };
  if (method !== "POST") return refusal(405, "method not allowed");
  if (rest === "/keep_alive") return { status: 200, body: {} };
  if (rest === "/shutdown") {
    machines.end(machine);
    return { status: 200, body: told(id, machine.name, "shutdown") };
  }
  const about = { devbox_id: id, execution_id: "exec_31" };
  if (rest === "/execute_async") {
    const asked = z.strictObject({ command: z.string().min(1) }).safeParse(json);
    if (!asked.success) return refusal(400, "invalid command");
    machine.files.set(ASKED, asked.data.command);
    return { status: 200, body: { ...about, status: "running" } };
  }
  const text = machine.files.get(ASKED);
  if (text === undefined || !rest.startsWith("/executions/exec_31/")) return refusal(404, "no such execution");
  if (rest.endsWith("/kill")) return { status: 200, body: { ...about, status: "completed", exit_status: 137 } };
  const wait = newWait.safeParse(json);
  if (!wait.success) return refusal(400, "invalid wait");
  const [, program, code = ""] = /^'(python3|node)' '-[ce]' '([\s\S]*)'$/.exec(text) ?? [];
  const language = program === "python3" ? "python" : program === "node" ? "javascript" : null;
  const timeoutMs = wait.data.timeout_seconds * 1_000;
  const asIs = code.replaceAll("'\\''", "'");
  const ran = machines.run(machine, { language, text: language === null ? text : asIs, timeoutMs });
  if (ran.timed_out) return refusal(408, "the execution has not completed");
  const { stdout, stderr, exit_code: exit_status } = ran;
  return { status: 200, body: { ...about, status: "completed", stdout, stderr, exit_status } };
}

export default defineStandIn({ sessions });
