// Uses Modal's own package, because Modal has no HTTP API: the program of the process that handles modal.ts's requests. The package is
// optional: without it, this process answers that it cannot be loaded, and nothing else is affected.
import type { OpenSidecar, SidecarReply } from "#adapter";

/** The part of the package that we use, version 0.11.1. */
interface Package {
  readonly ModalClient: new (params: { readonly tokenId: string; readonly tokenSecret: string }) => Client;
}
interface Client {
  readonly apps: { fromName(name: string, params: { readonly createIfMissing: boolean }): Promise<unknown> };
  readonly images: { fromRegistry(tag: string): unknown };
  readonly sandboxes: {
    create(app: unknown, image: unknown, params: Readonly<Record<string, unknown>>): Promise<Sandbox>;
    fromId(id: string): Promise<Sandbox>;
  };
  close(): void;
}
interface Sandbox {
  readonly sandboxId: string;
  exec(
    command: readonly string[],
    params: { readonly mode: "binary"; readonly stdout: "pipe"; readonly stderr: "pipe"; readonly timeoutMs: number },
  ): Promise<Running>;
  poll(): Promise<number | null>;
  terminate(): Promise<unknown>;
  detach(): void;
}
interface Running {
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  wait(): Promise<number>;
}

interface Asked {
  readonly sandbox_id: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly timeout: number;
  readonly gpu?: string;
}

// Typed as string so that it is resolved only at run time: the package may not be installed.
const PACKAGE: string = "modal";
const APP = "tollgate";
/** The fixed size of every machine, which its price is based on. */
const SIZE = { cpu: 1, cpuLimit: 1, memoryMiB: 1_024, memoryLimitMiB: 1_024 };
/** The vendor's GPU names, where it has several for one of ours. */
const GPUS: Readonly<Record<string, string>> = { A10G: "A10", A100: "A100-40GB" };
const OUTPUT_BYTES_MAX = 262_144;
const TIMED_OUT = 124;
/** How long a command that was ended may take to report it. */
const END_MS = 10_000;

/** By the names of the package's errors and the gRPC codes. */
const STATUS_OF_NAME: Readonly<Record<string, number>> = {
  NotFoundError: 404,
  InvalidError: 400,
  ConflictError: 409,
  AlreadyExistsError: 409,
  SandboxTimeoutError: 409,
  ResourceExhaustedError: 429,
  TimeoutError: 504,
};
const STATUS_OF_CODE: Readonly<Record<number, number>> = {
  3: 400,
  4: 504,
  5: 404,
  7: 403,
  8: 429,
  9: 409,
  14: 503,
  16: 401,
};

function refused(status: number, error: string): SidecarReply {
  return { status, body: { error } };
}

function failed(error: unknown): SidecarReply {
  if (!(error instanceof Error)) return refused(502, String(error));
  const { name, message } = error;
  const code = "code" in error ? Number(error.code) : 0;
  return refused(STATUS_OF_NAME[name] ?? STATUS_OF_CODE[code] ?? 502, message);
}

/** The beginning of a command's output. Does not wait for the rest. */
async function textOf(stream: ReadableStream<Uint8Array>): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    bytes += value.length;
    if (bytes <= OUTPUT_BYTES_MAX) continue;
    await reader.cancel().catch(() => {});
    break;
  }
  const whole = Buffer.concat(chunks).subarray(0, OUTPUT_BYTES_MAX);
  return { text: new TextDecoder().decode(whole), isCut: bytes > OUTPUT_BYTES_MAX };
}

/** The result, or null if it takes longer. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

async function create(client: Client, asked: Asked, signal: AbortSignal): Promise<SidecarReply> {
  const { image, command, timeout, gpu } = asked;
  const app = await client.apps.fromName(APP, { createIfMissing: true });
  const sandbox = await client.sandboxes.create(app, client.images.fromRegistry(image), {
    ...SIZE,
    timeoutMs: timeout * 1_000,
    ...(command === undefined ? null : { command }),
    ...(gpu === undefined ? null : { gpu: GPUS[gpu] ?? gpu }),
  });
  // The request was abandoned, so nothing else would end the machine.
  if (signal.aborted) await sandbox.terminate();
  sandbox.detach();
  return { status: 200, body: { sandbox_id: sandbox.sandboxId } };
}

async function exec(sandbox: Sandbox, { command, timeout }: Asked): Promise<SidecarReply> {
  if ((await sandbox.poll()) !== null) return refused(409, "the sandbox has ended");
  const timeoutMs = timeout * 1_000;
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
  }, timeoutMs);
  const running = await sandbox.exec(command, { mode: "binary", stdout: "pipe", stderr: "pipe", timeoutMs });
  const said = Promise.all([textOf(running.stdout), textOf(running.stderr)]);
  said.catch(() => {});
  const code = await within(
    timeoutMs + END_MS,
    running.wait().catch((error: unknown) => lateOr(error)),
  );
  clearTimeout(timer);
  const hasTimedOut = code === null || (code !== 0 && isOver);
  const none = { text: "", isCut: true };
  const [stdout, stderr] = (await within(END_MS, said).catch(() => null)) ?? [none, none];
  return {
    status: 200,
    body: {
      stdout: stdout.text,
      stderr: stderr.text,
      returncode: hasTimedOut ? TIMED_OUT : code,
      ...(hasTimedOut ? { timed_out: true } : null),
      ...(stdout.isCut || stderr.isCut ? { truncated: true } : null),
    },
  };
}

/** A command that timed out has no exit code. */
function lateOr(error: unknown): null {
  if (error instanceof Error && /Timeout/.test(error.name)) return null;
  throw error;
}

async function ofSandbox(sandbox: Sandbox, path: string, asked: Asked): Promise<SidecarReply> {
  const { sandbox_id } = asked;
  if (path === "/sandbox/exec") return exec(sandbox, asked);
  if (path === "/sandbox/terminate") {
    await sandbox.terminate();
    return { status: 200, body: { sandbox_id, status: "terminated" } };
  }
  if (path !== "/sandbox/status") return refused(404, `nothing is at ${path}`);
  const returncode = await sandbox.poll();
  if (returncode === null) return { status: 200, body: { sandbox_id, status: "running" } };
  return { status: 200, body: { sandbox_id, status: returncode === 0 ? "finished" : "failed", returncode } };
}

async function answer(client: Client, path: string, asked: Asked, signal: AbortSignal): Promise<SidecarReply> {
  if (path === "/sandbox/create") return create(client, asked, signal);
  const sandbox = await client.sandboxes.fromId(asked.sandbox_id);
  try {
    return await ofSandbox(sandbox, path, asked);
  } finally {
    sandbox.detach();
  }
}

const open: OpenSidecar = async (key) => {
  const [tokenId = "", tokenSecret = ""] = key.split("\n");
  const { ModalClient } = (await import(PACKAGE)) as Package;
  const client = new ModalClient({ tokenId, tokenSecret });
  return {
    handle: (path, body, signal) => answer(client, path, body as Asked, signal).catch(failed),
    close: () => client.close(),
  };
};

export default open;
