// Sandbox stand-in for Sprites: machines by name, and commands over a WebSocket.
import { type BoxCommand, z } from "#adapter";
import { defineStandIn, type Machines, type StandInAnswer, type StandInRequest } from "#sandbox";

/** The first byte of a binary message is its type. */
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const EXIT = 3;
const STDIN_END = 4;

/** Where one of the adapter's programs stores a session's variables. */
const ENVS_FILE = "$HOME/.session-envs";
/** The last part of the adapter's commands that read the caller's program from standard input. */
const READERS = { python: "exec python3 -", javascript: "exec node -", bash: 'eval "$(cat)"' } as const;

function said(stream: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([stream]), bytes]);
}

const newSprite = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
  url_settings: z.strictObject({ auth: z.enum(["sprite", "public"]) }).optional(),
});
const EXEC_PARAMS = ["cmd", "path", "tty", "stdin", "cols", "rows", "max_run_after_disconnect", "env", "dir"];

function refusal(status: number, error: string): StandInAnswer {
  return { status, body: { error, message: error.replaceAll("_", " ") } };
}

function exec(request: StandInRequest, machines: Machines, name: string): StandInAnswer {
  const { query, said: messages } = request;
  const machine = machines.find(name);
  if (machine === null) return refusal(404, "not_found");
  const cmd = query.getAll("cmd");
  const strange = [...query.keys()].some((one) => !EXEC_PARAMS.includes(one));
  if (messages === undefined || cmd.length === 0 || strange) return refusal(400, "invalid_websocket_upgrade");
  if (query.get("stdin") === "true" && messages.at(-1)?.[0] !== STDIN_END) return { status: 101 };
  const stdin = Buffer.concat(messages.filter(([stream]) => stream === STDIN).map((one) => one.subarray(1))).toString();
  const program = cmd.at(-1) ?? "";
  if (program.startsWith("umask 077; cat > ")) {
    machine.files.set(ENVS_FILE, stdin);
    return { status: 101, messages: [Buffer.from([EXIT, 0])] };
  }
  const envs = [...(machine.files.get(ENVS_FILE) ?? "").matchAll(/^export (\w+)='(.*)'$/gm)];
  const box = { ...machine, envs: Object.fromEntries(envs.map(([, key = "", value = ""]) => [key, value])) };
  const language = Object.entries(READERS).find(([, reader]) => program.endsWith(reader))?.[0];
  const ran = machines.run(box, {
    language: language === undefined || language === "bash" ? null : (language as BoxCommand["language"]),
    text: language === undefined ? program : stdin,
    timeoutMs: 60_000,
  });
  const info = {
    type: "session_info",
    session_id: 1847,
    command: "bash",
    created: 1_767_609_000,
    is_owner: true,
    tty: false,
  };
  const printed = [said(STDOUT, Buffer.from(ran.stdout)), said(STDERR, Buffer.from(ran.stderr))];
  const told = printed.filter(({ length }) => length > 1);
  return { status: 101, messages: [JSON.stringify(info), ...told, Buffer.from([EXIT, ran.exit_code])] };
}

function sessions(request: StandInRequest, machines: Machines): StandInAnswer {
  const { method, path, json } = request;
  if (method === "POST" && path === "/v1/sprites") {
    const asked = newSprite.safeParse(json);
    if (!asked.success) return refusal(400, "invalid_request");
    const { name } = asked.data;
    if (machines.find(name) !== null) return refusal(409, "sprite_already_exists");
    const made = machines.make({ name, envs: {}, notes: {} });
    return { status: 201, body: { id: made.id, name, status: "cold", organization: "sandbox" } };
  }
  const [, name = "", isExec] = /^\/v1\/sprites\/([^/]+)(\/exec)?$/.exec(path) ?? [];
  if (isExec !== undefined && method === "GET") return exec(request, machines, name);
  const machine = machines.find(name);
  if (machine === null) return refusal(404, "not_found");
  if (method === "DELETE") machines.end(machine);
  if (method === "GET") return { status: 200, body: { id: machine.id, name: machine.name, status: "running" } };
  return { status: method === "DELETE" ? 204 : 405 };
}

export default defineStandIn({ sessions });
