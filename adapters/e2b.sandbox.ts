// Sandbox stand-in for E2B: its machine API, and on its other host the daemon inside each machine.
import { z } from "#adapter";
import { defineStandIn, type Machines, type StandInAnswer, type StandInRequest } from "#sandbox";

const DAEMON_PORT = "49983";
const LAST_FRAME = 2;
const TEMPLATES = ["base", "code-interpreter-v1"];

const newSandbox = z.strictObject({
  templateID: z.string().min(1),
  timeout: z.int().min(0).max(86_400),
  envVars: z.record(z.string(), z.string()).optional(),
  metadata: z.record(z.string(), z.string()).optional(),
});
const start = z.strictObject({
  process: z.strictObject({ cmd: z.string(), args: z.array(z.string()) }),
  stdin: z.boolean().optional(),
});

function refusal(code: number, message: string): StandInAnswer {
  return { status: code, body: { code, message } };
}

function frames(messages: readonly (readonly [mark: number, message: unknown])[]): StandInAnswer {
  const parts = messages.map(([mark, message]) => {
    const bytes = Buffer.from(JSON.stringify(message));
    const head = Buffer.alloc(5);
    head.writeUInt8(mark, 0);
    head.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([head, bytes]);
  });
  return { status: 200, headers: { "content-type": "application/connect+json" }, body: Buffer.concat(parts) };
}

function framed(body: Uint8Array): unknown {
  const bytes = Buffer.from(body);
  if (bytes.length < 5 || bytes.readUInt8(0) !== 0 || bytes.readUInt32BE(1) !== bytes.length - 5) return undefined;
  return JSON.parse(bytes.toString("utf8", 5));
}

function daemon({ method, path, headers, body, json }: StandInRequest, machines: Machines): StandInAnswer {
  if (headers["x-api-key"] !== undefined) return refusal(400, "The key of the account has no place here.");
  const machine = machines.find(String(headers["e2b-sandbox-id"]));
  if (machine === null) return refusal(502, "The sandbox was not found");
  if (headers["e2b-sandbox-port"] !== DAEMON_PORT) return refusal(502, "The sandbox is running but port is not open");
  if (headers["x-access-token"] !== machine.notes.token)
    return refusal(401, "unauthorized access, please provide a valid access token");
  if (method !== "POST" || headers["connect-protocol-version"] !== "1")
    return refusal(400, "no call of the Connect protocol");
  if (path === "/process.Process/SendSignal") {
    return headers["content-type"] === "application/json" && json !== undefined
      ? { status: 200, body: {} }
      : { status: 415 };
  }
  if (path !== "/process.Process/Start") return { status: 404 };
  if (headers["content-type"] !== "application/connect+json") return { status: 415 };
  const asked = start.safeParse(framed(body));
  if (!asked.success)
    return frames([[LAST_FRAME, { error: { code: "invalid_argument", message: "unmarshal message" } }]]);
  const { args } = asked.data.process;
  const text = args.at(-1) ?? "";
  const language = args[3] === "python3" ? "python" : args[3] === "node" ? "javascript" : null;
  const timeoutMs = Number(headers["connect-timeout-ms"] ?? 60_000);
  const ran = machines.run(machine, { language, text, timeoutMs });
  const base64 = (one: string) => Buffer.from(one).toString("base64");
  const told: [number, unknown][] = [[0, { event: { start: { pid: 412 } } }]];
  if (ran.stdout !== "") told.push([0, { event: { data: { stdout: base64(ran.stdout) } } }]);
  if (ran.stderr !== "") told.push([0, { event: { data: { stderr: base64(ran.stderr) } } }]);
  if (ran.timed_out)
    return frames([
      ...told,
      [LAST_FRAME, { error: { code: "deadline_exceeded", message: "the operation timed out" } }],
    ]);
  const code = ran.exit_code;
  const end = { exited: true, status: `exit status ${code}` };
  return frames([...told, [0, { event: { end: code === 0 ? end : { ...end, exitCode: code } } }], [LAST_FRAME, {}]]);
}

function sessions(request: StandInRequest, machines: Machines): StandInAnswer {
  if (request.origin === "sandbox") return daemon(request, machines);
  const { method, path, json, query } = request;
  if (method === "POST" && path === "/v2/sandboxes") {
    const asked = newSandbox.safeParse(json);
    if (!asked.success) return refusal(400, `error validating the body: ${asked.error.issues[0]?.message}`);
    const { templateID, envVars = {}, metadata = {} } = asked.data;
    if (!TEMPLATES.includes(templateID)) return refusal(404, `template '${templateID}' not found`);
    const name = metadata.label ?? "";
    const made = machines.make({ name, envs: envVars, notes: { token: `token-of-${name}` } });
    const told = { clientID: "6532622b", envdVersion: "0.4.2", domain: null, envdAccessToken: `token-of-${name}` };
    return { status: 201, body: { sandboxID: made.id, templateID, ...told } };
  }
  if (method === "GET" && path === "/v2/sandboxes") {
    const label = new URLSearchParams(query.get("metadata") ?? "").get("label");
    const found = label === null ? null : machines.find(label);
    return {
      status: 200,
      body: found === null ? [] : [{ sandboxID: found.id, metadata: { label }, state: "running" }],
    };
  }
  const [, id = "", rest] = /^\/sandboxes\/([^/]+)(\/timeout)?$/.exec(path) ?? [];
  const machine = machines.find(id);
  if (machine === null) return refusal(404, `sandbox "${id}" not found`);
  if (method === "DELETE" && rest === undefined) machines.end(machine);
  else if (method === "GET" && rest === undefined) {
    const size = { cpuCount: 2, memoryMB: 512, diskSizeMB: 10_240, envdVersion: "0.4.2", templateID: "base" };
    return { status: 200, body: { sandboxID: machine.id, state: "running", ...size } };
  } else if (method !== "POST" || rest === undefined) return { status: 405 };
  else if (!z.strictObject({ timeout: z.int().min(0).max(86_400) }).safeParse(json).success) {
    return refusal(400, "Invalid timeout");
  }
  return { status: 204 };
}

export default defineStandIn({ sessions });
