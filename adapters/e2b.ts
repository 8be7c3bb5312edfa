// E2B: small virtual machines. One is created through E2B's API, and controlled on another host, where a daemon inside the machine answers:
// that host never gets our key, because the caller who has the machine can listen there. The wire format follows its specifications and SDK
// (August 2026). From memory: that its protobuf JSON leaves out exit code 0, the status of a missing machine on the second host, and that
// the plan lets a machine live for 24 hours (the free plan: 1).
import {
  argvOf,
  type BoxCommand,
  BoxGone,
  defineAdapter,
  HeardOutput,
  keyHeader,
  type SessionContext,
  z,
} from "#adapter";

interface Box {
  readonly id: string;
  readonly token: string;
}

/** What we read of a running command's messages (envd's process.Process/Start). A caller with the machine may have forged them. */
const processEvent = z.object({
  event: z
    .object({
      start: z.object({ pid: z.int() }).optional(),
      data: z.object({ stdout: z.string().optional(), stderr: z.string().optional() }).optional(),
      end: z.object({ exitCode: z.int().min(-256).max(256).default(0) }).optional(),
    })
    .optional(),
  error: z.object({ code: z.string().optional(), message: z.string().optional() }).optional(),
});

const ONE = { method: "GET", path: "/sandboxes/{id}" } as const;
const DAEMON_PORT = "49983";
/** The exit code that shells report for a command ended by a signal. */
const KILLED = 137;
/** How long the daemon has to end a command before we do. */
const GRACE_MS = 1_000;
/** A bash program that replaces itself with its arguments' program. */
const AS_GIVEN = 'exec "$0" "$@"';

function boxOf(box: Readonly<Record<string, unknown>>): Box {
  return box as unknown as Box;
}

function daemonHeaders({ id, token }: Box): Record<string, string> {
  return {
    "e2b-sandbox-id": id,
    "e2b-sandbox-port": DAEMON_PORT,
    "x-access-token": token,
    // The user `user` with an empty password.
    authorization: "Basic dXNlcjo=",
    "connect-protocol-version": "1",
  };
}

/** Throws BoxGone, or what the daemon's answer means: its host does not always tell a missing machine from a failing one. */
async function lost(context: SessionContext, box: Box, why: string): Promise<never> {
  const answer = await context.ask(ONE, { values: { id: box.id }, accepts: [404] });
  if (answer.status === 404) throw new BoxGone(why);
  return context.end("provider_server_error", { message: why });
}

async function kill(context: SessionContext, box: Box, pid: number): Promise<void> {
  const headers = daemonHeaders(box);
  const request = { method: "POST", origin: "sandbox", path: "/process.Process/SendSignal", headers } as const;
  const values = { process: { pid }, signal: "SIGNAL_SIGKILL" };
  // A command that cannot be stopped ends with its machine.
  await context.ask(request, { values, judged: false, msMax: GRACE_MS }).catch(() => null);
}

async function run(context: SessionContext, box: Box, command: BoxCommand) {
  const output = new HeardOutput();
  const heard: {
    pid?: number;
    exitCode?: number;
    error?: { code?: string | undefined; message?: string | undefined };
    flooded?: true;
  } = {};
  const args = command.language === null ? [command.text] : [AS_GIVEN, ...argvOf(command)];
  const answer = await context.ask(
    {
      method: "POST",
      origin: "sandbox",
      path: "/process.Process/Start",
      send: "connect",
      headers: {
        ...daemonHeaders(box),
        "connect-timeout-ms": String(command.timeoutMs),
        "keepalive-ping-interval": "50",
      },
    },
    {
      values: { process: { cmd: "/bin/bash", args: ["-l", "-c", ...args] }, stdin: false },
      judged: false,
      msMax: command.timeoutMs + GRACE_MS,
      messages: {
        form: "connect",
        heard(bytes) {
          const { event = {}, error } = processEvent.parse(JSON.parse(bytes.toString("utf8")));
          if (event.start?.pid !== undefined) heard.pid = event.start.pid;
          if (event.end !== undefined) heard.exitCode = event.end.exitCode;
          if (error !== undefined) heard.error = error;
          const { stdout = "", stderr = "" } = event.data ?? {};
          const more = output.stdout(Buffer.from(stdout, "base64")) && output.stderr(Buffer.from(stderr, "base64"));
          if (!more) heard.flooded = true;
          return more;
        },
      },
    },
  );
  if (answer.status !== 200) return lost(context, box, `the daemon answered ${answer.status}`);
  const { pid, exitCode, error } = heard;
  // The daemon may keep the answer open after its end; what we received counts.
  const isLate = exitCode === undefined && (answer.cut === "late" || error?.code === "deadline_exceeded");
  if (pid !== undefined && (heard.flooded || isLate)) await kill(context, box, pid);
  if (heard.flooded) return output.flooded();
  if (isLate) return output.timedOut();
  if (exitCode === undefined) return lost(context, box, error?.message ?? "the command's end was not told");
  return output.ended(exitCode < 0 ? KILLED : exitCode);
}

async function close(context: SessionContext, id: string): Promise<void> {
  await context.ask({ method: "DELETE", path: "/sandboxes/{id}" }, { values: { id }, accepts: [404] });
}

/** E2B's own templates; both have two processors. */
const TEMPLATES = ["base", "code-interpreter-v1"] as const;

export default defineAdapter({
  name: "E2B",
  docs: "https://e2b.dev/docs/api-reference",
  beliefs: {
    "*": "that an exit code of 0 is left out, how a machine that is gone is told, and how much memory, so what cost, each template has",
  },
  origin: "https://api.e2b.app",
  auth: keyHeader("x-api-key"),
  origins: { sandbox: "https://sandbox.e2b.app" },
  keylessOrigins: ["sandbox"],
  sessions: {
    description:
      "A Linux virtual machine that keeps its files and processes between commands, with Python and Node.js.",
    vcpus: 2,
    memoryGb: 1,
    metered: "open",
    // On 2026-08-06: 5.04 per vCPU and 1.62 per GiB; the memory size of each template is from memory.
    upstreamCentsPerHour: 11.7,
    centsPerHour: 12.87,
    minutesMax: 1_440,
    leaseMinutes: 10,
    templates: TEMPLATES,
    languages: ["python", "javascript", "bash"],
    async create({ ask, end }, { template, envs, minutes, label }) {
      const values = { templateID: template, timeout: minutes * 60, envVars: envs, metadata: { label } };
      const { json } = await ask({ method: "POST", path: "/v2/sandboxes" }, { values });
      const made = z.object({ sandboxID: z.string(), envdAccessToken: z.string() }).safeParse(json);
      if (!made.success) return end("provider_malformed", { message: "the new machine has no id or no token" });
      return { id: made.data.sandboxID, token: made.data.envdAccessToken };
    },
    run: (context, box, command) => run(context, boxOf(box), command),
    async extend({ ask }, box, minutes) {
      const { id } = boxOf(box);
      const request = { method: "POST", path: "/sandboxes/{id}/timeout" } as const;
      // 400: a small plan does not allow a longer lifetime than the machine already has.
      const { status } = await ask(request, { values: { id, timeout: minutes * 60 }, accepts: [400, 404] });
      if (status === 404) throw new BoxGone("the vendor does not know it");
    },
    async isOpen({ ask }, box) {
      const { id } = boxOf(box);
      const { status, json } = await ask(ONE, { values: { id }, accepts: [404] });
      return status !== 404 && z.object({ state: z.literal("running") }).safeParse(json).success;
    },
    close: (context, box) => close(context, boxOf(box).id),
    async closeLabelled(context, label) {
      const request = { method: "GET", path: "/v2/sandboxes" } as const;
      const { json } = await context.ask(request, { values: { metadata: `label=${label}` } });
      const found = z.array(z.object({ sandboxID: z.string() })).parse(json);
      for (const { sandboxID } of found) await close(context, sandboxID);
    },
  },
});
