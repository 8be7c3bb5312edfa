// Modal: a machine for one task, paid for its whole lifetime at creation. It has no HTTP API: modal.helper.ts talks to it. Prices are those
// of its price page, according to lists published in June 2026. A sandbox's cores and memory cost more than a function's, and are capped at
// what is ordered here, so that the price per second is fixed.
import { action, basic, defineAdapter, like, rule, withRules, z } from "#adapter";

/** In cents per second: one core and one GiB, which every machine has, and the GPU on top. */
const CORE = 0.003942;
const GIB = 0.000672;
const GPUS = {
  T4: { cents: 0.0164, cap: 25 },
  L4: { cents: 0.0222, cap: 30 },
  A10G: { cents: 0.0306, cap: 40 },
  A100: { cents: 0.0583, cap: 150 },
  H100: { cents: 0.1097, cap: 250 },
} as const;
type Gpu = keyof typeof GPUS;
const NAMES = Object.keys(GPUS) as [Gpu, ...Gpu[]];

const MARGIN = 1.1;
/** Without a GPU: the flat price up to this many seconds; longer lifetimes are charged by time. */
const CPU_CENTS = 3;
const CPU_SECONDS = 300;
const CPU_CAP = 5;

interface Ordered {
  readonly timeout: number;
  readonly gpu?: Gpu | undefined;
}

const centsASecond = (gpu: Gpu | undefined) => CORE + GIB + (gpu === undefined ? 0 : GPUS[gpu].cents);
const costOf = ({ timeout, gpu }: Ordered) => timeout * centsASecond(gpu);
/** Rounded up to a thousandth of a cent, and never above the cap. */
const priceOf = (ordered: Ordered) => {
  const cents = Math.ceil(costOf(ordered) * MARGIN * 1_000) / 1_000;
  if (ordered.gpu !== undefined) return Math.min(cents, GPUS[ordered.gpu].cap);
  return ordered.timeout <= CPU_SECONDS ? CPU_CENTS : Math.min(Math.max(CPU_CENTS, cents), CPU_CAP);
};
/** The longest lifetime that a cap covers, in seconds. */
const longest = (cap: number, gpu?: Gpu) => Math.floor(cap / (centsASecond(gpu) * MARGIN));

const isGpu = (gpu: Gpu) => ({ properties: { gpu: { const: gpu } }, required: ["gpu"] });
const upTo = (seconds: number) => ({ properties: { timeout: { maximum: seconds } } });
const bounds = [
  rule(
    { anyOf: [{ required: ["gpu"] }, upTo(longest(CPU_CAP))] },
    "timeout",
    `must be at most ${longest(CPU_CAP)}: the price of a machine without a GPU pays for no more`,
  ),
  ...NAMES.map((gpu) => {
    const seconds = longest(GPUS[gpu].cap, gpu);
    const words = `must be at most ${seconds} with ${gpu}: its price pays for no more`;
    return rule({ anyOf: [{ not: isGpu(gpu) }, upTo(seconds)] }, "timeout", words);
  }),
];

const ARGS_MAX = 1_000;
/** The vendor accepts 64 KiB in total. */
const WORD_CHARS_MAX = 60_000;
const word = z.string().max(WORD_CHARS_MAX);
const command = z
  .union([z.string().min(1).max(WORD_CHARS_MAX), z.array(word).min(1).max(ARGS_MAX)])
  .describe("A line for sh -c, or a program and its arguments");
/** As a program and its arguments. */
const argv = (given: string | readonly string[]) => (typeof given === "string" ? ["sh", "-c", given] : given);

const sandbox_id = like(/^sb-[A-Za-z0-9]{1,64}$/, "is no sandbox's id").describe("The sandbox_id of modal/create");
const EXEC_SECONDS_MAX = 300;
/** Extra time to start and end a command, and for the network. */
const EXEC_MS_MORE = 30_000;
const common = { category: "compute", price: { mode: "fixed", cents: 1 }, upstreamCents: 0 } as const;
const requires = [{ kind: "sandbox", param: "sandbox_id" }];
const id = "sb-4Qv7Zr1XkT9mLw2YbN8cHd";

export default defineAdapter({
  name: "Modal",
  docs: "https://modal.com/docs/guide/sandboxes",
  // Not a real host: it is the helper's name.
  origin: "https://modal.helper.invalid",
  sidecar: import.meta.resolve("./modal.helper.ts"),
  auth: basic,
  // A third party that resells its machines per call with the same API; a command there runs for about 30 seconds at most.
  keylessDoor: { mpp: "https://modal.mpp.tempo.xyz" },
  keyParts: ["MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"],
  actions: {
    create: action(common, {
      asked:
        "a gpu; machine with a graphics card; train a model; h100, nvidia; batch job in the cloud; run a docker image; heavy compute; fine-tune; rent a server for an hour",
      description:
        "Starts a machine from an image for one task, with one core and one GiB of memory, and a GPU if wanted. Paid at once for its timeout: 3 cents up to 300 seconds. Returns sandbox_id.",
      keywords:
        "run code; code sandbox; container; gpu machine; python environment; virtual machine; train a model; graphics card; GPU; batch job; machine learning",
      effect: "write",
      params: withRules([...bounds], {
        image: like(
          /^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(\/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$/,
          "must be the name of a public image, such as python:3.13-slim",
          255,
        )
          .default("python:3.13-slim")
          .describe("The name of a public image in a registry"),
        command: command
          .optional()
          .describe("What the machine runs; it ends with it. Without one it waits for modal/exec"),
        timeout: z.int().min(1).max(86_400).default(CPU_SECONDS).describe("How many seconds it lives at most"),
        gpu: z.enum(NAMES).optional().describe("The GPU beside its core"),
      }),
      price: {
        mode: "ranged",
        cents: 250,
        minCents: CPU_CENTS,
        quoteCents: (params) => priceOf(params),
        otherPrice: { gpu: "T4", timeout: 300 },
      },
      upstreamCents: (params) => costOf(params),
      request: {
        method: "POST",
        path: "/sandbox/create",
        params: ({ command: given, ...rest }) => (given === undefined ? rest : { ...rest, command: argv(given) }),
      },
      issues: [{ kind: "sandbox", at: "/sandbox_id" }],
      // An image that is new to the vendor is built first.
      timeoutMs: 180_000,
      example: { params: { image: "python:3.13-slim", timeout: 300 }, answer: { sandbox_id: id } },
    }),
    exec: action(common, {
      asked: "run a command on my gpu machine; execute in the container",
      description: "Runs a command in a machine of yours and returns stdout, stderr and returncode when it has ended.",
      keywords: "run a command; shell; execute code; run python; run a script",
      effect: "write",
      params: z.strictObject({
        sandbox_id,
        command,
        timeout: z
          .int()
          .min(1)
          .max(EXEC_SECONDS_MAX)
          .default(60)
          .describe("After so many seconds it is ended: returncode is 124 and timed_out true"),
      }),
      request: {
        method: "POST",
        path: "/sandbox/exec",
        params: ({ command: given, ...rest }) => ({ ...rest, command: argv(given) }),
      },
      content: ["/returncode"],
      requires,
      timeoutMs: EXEC_SECONDS_MAX * 1_000 + EXEC_MS_MORE,
      example: {
        params: { sandbox_id: id, command: "echo hello" },
        answer: { stdout: "hello\n", stderr: "", returncode: 0 },
      },
    }),
    status: action(common, {
      asked: "is my machine still running",
      description: "Says how a machine of yours stands: running, finished or failed.",
      keywords: "is the sandbox running",
      effect: "read",
      params: z.strictObject({ sandbox_id }),
      request: { method: "POST", path: "/sandbox/status" },
      content: ["/status"],
      requires,
      example: { params: { sandbox_id: id }, answer: { sandbox_id: id, status: "running" } },
    }),
    terminate: action(common, {
      asked: "stop my gpu machine; kill the container",
      description: "Ends a machine of yours before its time; what is left of it is not given back.",
      keywords: "stop the sandbox; kill the container",
      effect: "write",
      params: z.strictObject({ sandbox_id }),
      request: { method: "POST", path: "/sandbox/terminate" },
      requires,
      example: { params: { sandbox_id: id }, answer: { sandbox_id: id, status: "terminated" } },
    }),
  },
});
