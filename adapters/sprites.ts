// Sprites (Fly.io): machines that sleep while no command runs, and cost nothing then. A command is a WebSocket. The wire format follows its
// reference and SDKs (March and July 2026). From memory: the error for a name that is taken, and that a program on standard input may be as
// long as our longest command.
import {
  type BoxCommand,
  BoxGone,
  bearer,
  defineAdapter,
  HeardOutput,
  type SessionContext,
  shellWord,
  z,
} from "#adapter";

/** The first byte of a binary message is its type. */
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const EXIT = 3;
const STDIN_END = 4;
const TEXT = 1;

/** Where a session's variables are stored: `env` in a request would replace all of the machine's variables. */
const ENVS_FILE = "$HOME/.session-envs";
/** How long the vendor lets a command continue after we disconnect. */
const RUNS_ON = "1s";

/** Read the program from standard input, so that it is in no URL and may be long. */
const READERS = {
  python: "exec python3 -",
  javascript: "exec node -",
  typescript: "exec node --experimental-strip-types --input-type=module-typescript -",
  bash: 'eval "$(cat)"',
} as const;

/** The maximum size of one standard input message. */
const PIECE_BYTES = 32 * 1024;

/** The whole text as standard input messages, and the end of input. */
function asInput(text: string): Uint8Array[] {
  const bytes = Buffer.from(text);
  const count = Math.ceil(bytes.length / PIECE_BYTES);
  const pieces = Array.from({ length: count }, (_, at) => bytes.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES));
  return [...pieces.map((piece) => said(STDIN, piece)), said(STDIN_END, Buffer.alloc(0))];
}

function said(stream: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([stream]), bytes]);
}

/** Runs a bash program with `input` as its standard input. */
async function execute(
  { ask, end }: SessionContext,
  name: string,
  { program, input, msMax }: { readonly program: string; readonly input: string; readonly msMax: number },
) {
  const output = new HeardOutput();
  const heard: { exitCode?: number; flooded?: true } = {};
  const answer = await ask(
    { method: "GET", path: "/v1/sprites/{name}/exec" },
    {
      values: { name, cmd: ["bash", "-c", program], stdin: true, tty: false, max_run_after_disconnect: RUNS_ON },
      accepts: [404],
      msMax,
      messages: {
        form: "web-socket",
        said: asInput(input),
        heard(bytes, mark) {
          if (mark === TEXT) {
            const told = z
              .object({ type: z.literal("exit"), exit_code: z.int() })
              .safeParse(JSON.parse(bytes.toString()));
            if (told.success) heard.exitCode = told.data.exit_code;
            return !told.success;
          }
          const rest = bytes.subarray(1);
          if (bytes[0] === EXIT) heard.exitCode = rest[0] ?? 0;
          const more = bytes[0] === STDOUT ? output.stdout(rest) : bytes[0] !== STDERR || output.stderr(rest);
          if (!more) heard.flooded = true;
          return more && heard.exitCode === undefined;
        },
      },
    },
  );
  if (answer.status === 404) throw new BoxGone("the vendor does not know it");
  if (heard.flooded) return output.flooded();
  if (answer.cut === "late") return output.timedOut();
  if (heard.exitCode === undefined) return end("provider_server_error", { message: "the command's end was not told" });
  return output.ended(heard.exitCode);
}

function run(context: SessionContext, name: string, { language, text, timeoutMs }: BoxCommand) {
  const reader = READERS[language ?? "bash"];
  const program = `if [ -f "${ENVS_FILE}" ]; then . "${ENVS_FILE}"; fi; ${reader}`;
  return execute(context, name, { program, input: text, msMax: timeoutMs });
}

async function close({ ask }: SessionContext, name: string): Promise<void> {
  await ask({ method: "DELETE", path: "/v1/sprites/{name}" }, { values: { name }, accepts: [404] });
}

export default defineAdapter({
  name: "Sprites",
  docs: "https://docs.sprites.dev/api",
  beliefs: {
    "*": "how a name that is taken is told, how long a program on the standard input may be, and what an hour costs us",
  },
  origin: "https://api.sprites.dev",
  auth: bearer,
  keyEnv: ["SPRITES_TOKEN", "SPRITE_TOKEN"],
  sessions: {
    description:
      "A Linux machine that keeps its files between commands and sleeps while none runs, with Python, Node.js and most tools.",
    vcpus: 8,
    memoryGb: 4,
    metered: "busy",
    // Its billing page of November 2026: 2.75 per CPU-hour and 4.374 per GB-hour; an older one had 7 for the former.
    upstreamCentsPerHour: 39.5,
    centsPerHour: 73.5,
    madeOf: "7 for a CPU and 4.375 for a GB",
    minutesMax: 1_440,
    // A sprite sleeps when idle, so it has no deadline to extend.
    leaseMinutes: 60,
    languages: ["python", "javascript", "bash"],
    async create(context, { label, envs }) {
      const request = { method: "POST", path: "/v1/sprites" } as const;
      await context.ask(request, { values: { name: label, url_settings: { auth: "sprite" } } });
      const lines = Object.entries(envs).map(([name, value]) => `export ${name}=${shellWord(value)}\n`);
      if (lines.length > 0) {
        const program = `umask 077; cat > "${ENVS_FILE}"`;
        const { exit_code } = await execute(context, label, { program, input: lines.join(""), msMax: 30_000 });
        if (exit_code !== 0)
          return context.end("provider_server_error", { message: "the variables could not be kept" });
      }
      return { name: label };
    },
    run: (context, { name }, command) => run(context, String(name), command),
    async isOpen({ ask }, { name }) {
      const request = { method: "GET", path: "/v1/sprites/{name}" } as const;
      return (await ask(request, { values: { name }, accepts: [404] })).status !== 404;
    },
    close: (context, { name }) => close(context, String(name)),
    closeLabelled: close,
  },
});
