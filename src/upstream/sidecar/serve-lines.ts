// The main program of a sidecar process: loads a vendor's helper file, and answers the gateway's lines with it until they end.
import { writeSync } from "node:fs";
import { Socket } from "node:net";
import type { OpenSidecar, SidecarClient } from "../../catalog/sidecar.ts";
import { ANSWERS_FD, eachLine, type FromSidecar, type ToSidecar } from "./lines.ts";

const LINE_BYTES_MAX = 8 * 1024 * 1024;
/** The time for cancelled requests to clean up at the vendor after the gateway has gone. */
const LEAVE_MS = 60_000;

const [file = ""] = process.argv.slice(2);
const answers = new Socket({ fd: ANSWERS_FD, readable: false, writable: true });
// The gateway has gone; the end of its lines reports that too.
answers.on("error", () => {});
const running = new Map<number, AbortController>();
let client: Promise<SidecarClient> | null = null;

function answer(line: FromSidecar): void {
  answers.write(`${JSON.stringify(line)}\n`);
}

/** Loads the helper after the key has arrived. If that fails, each request fails, but the process stays up. */
async function open(key: string): Promise<SidecarClient> {
  const { default: openSidecar } = (await import(file)) as { readonly default: OpenSidecar };
  return openSidecar(key);
}

async function handle(id: number, path: string, body: unknown): Promise<void> {
  const ending = new AbortController();
  running.set(id, ending);
  try {
    if (client === null) throw new Error("no key has come");
    const reply = await (await client).handle(path, body, ending.signal);
    answer({ id, ...reply });
  } catch (error) {
    answer({ id, status: 502, body: { error: error instanceof Error ? error.message : String(error) } });
  } finally {
    running.delete(id);
    if (isLeaving && running.size === 0) leave();
  }
}

let isLeaving = false;

function leave(): void {
  void client?.then((one) => one.close()).catch(() => {});
  process.exit(0);
}

function hear(line: string): void {
  const said = JSON.parse(line) as ToSidecar;
  if ("key" in said) {
    client = open(said.key);
    client.catch(() => {});
  } else if ("cancel" in said) running.get(said.cancel)?.abort();
  else void handle(said.id, said.path, said.body);
}

eachLine(process.stdin, {
  bytesMax: LINE_BYTES_MAX,
  onLine: hear,
  onTooLong() {
    writeSync(2, "a line of the gateway's is too long\n");
    process.exit(1);
  },
});
process.stdin.on("end", () => {
  isLeaving = true;
  for (const ending of running.values()) ending.abort();
  if (running.size === 0) leave();
  setTimeout(leave, LEAVE_MS).unref();
});
