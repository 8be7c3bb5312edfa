// Daytona: sandboxes that keep running between calls. The control plane creates and ends them, a toolbox proxy runs commands in them. Based
// on its OpenAPI 0.190.0. From memory: the size of the snapshot `daytona-medium` and the list prices (5.04 cents per vCPU-hour, 1.62 per
// GiB-hour of memory, 0.0108 per GiB-hour of disk beyond 5 GiB).
import {
  BoxGone,
  type BoxOutput,
  bearer,
  boundedLine,
  boundedOutput,
  defineAdapter,
  isBounded,
  type SessionContext,
  z,
} from "#adapter";

/** A request with a snapshot cannot set cpu and memory, so we use one of a fixed size. */
const SNAPSHOT = "daytona-medium";
const POLL_MS = 500;
const COMMAND_MS_MORE = 5_000;

/** States of a machine that runs or soon will. */
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

/** One toolbox call: the command's output and exit code, or null if it timed out. */
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
  // The proxy reports a missing machine in many ways; the control plane in one.
  const state = await stateOf(context, id);
  if (state === null || !OPEN.includes(state)) throw new BoxGone("the sandbox is gone");
  return context.end(failureOf(answer.status));
}

export default defineAdapter({
  name: "Daytona",
  docs: "https://www.daytona.io/docs",
  beliefs: { "*": "the size of its snapshot, and what an hour costs us" },
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
            // Without contact from us for this long it stops, and stopped machines are deleted.
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
  },
});
