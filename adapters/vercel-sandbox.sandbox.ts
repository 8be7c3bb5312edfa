// Sandbox stand-in for Vercel Sandbox: machines by name and by session id, with answers as JSON lines.
import { z } from "#adapter";
import { defineStandIn, type Machines, type StandInAnswer, type StandInRequest } from "#sandbox";

const MINUTE_MS = 60_000;
const KILLED = 137;
const startedAt = "2026-11-20T10:00:00Z";

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

function sessions(request: StandInRequest, machines: Machines): StandInAnswer {
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

export default defineStandIn({ sessions });
