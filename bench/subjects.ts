// Who is measured: what stands between the client and the upstream, from nothing at all to the gateway.
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startBifrost } from "./peers/bifrost.ts";
import { startHaproxy } from "./peers/haproxy.ts";
import { startLitellm } from "./peers/litellm.ts";
import { startNginx, terminateTls } from "./peers/nginx.ts";
import { startPortkey } from "./peers/portkey.ts";
import { startTollgate } from "./peers/tollgate.ts";
import type { Processes } from "./processes.ts";

export interface Subject {
  readonly name: SubjectName;
  readonly port: number;
  /** The process whose CPU and memory count; null where there is none (direct). */
  readonly pid: number | null;
  readonly child: ChildProcess | null;
  readonly path: string;
  readonly model: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Clients connect to it over TLS. */
  readonly tls?: boolean;
  /** The gateway behind this proxy; its CPU counts too. */
  readonly behind?: Subject;
  /** Opens one more account, where the subject has accounts; answers its key. */
  readonly openAccount?: () => Promise<string>;
  /** Asks its operator's side, where it has one; answers JSON or text. */
  readonly ask?: (method: string, path: string, body?: unknown) => Promise<unknown>;
}

export type SubjectName =
  | "direct"
  | "nginx"
  | "haproxy"
  | "bare"
  | "bifrost-core"
  | "litellm"
  | "portkey"
  | "tollgate"
  | "base"
  | "node"
  | "tls-uws"
  | "tls-node"
  | "tls-nginx";

/** What is spoken to the upstream: HTTP/1.1 without TLS, HTTP/1.1 over TLS, or HTTP/2 over TLS. */
export type Wire = "plain" | "tls" | "http2";

/** What a subject is started with. */
export interface Ground {
  readonly processes: Processes;
  readonly upstreamPort: number;
  /** Default: plain. */
  readonly wire?: Wire;
  /** The upstream's port without TLS, for direct requests that should not wait for a handshake. Default: `upstreamPort`. */
  readonly plainPort?: number;
  /** The authority of the upstream's certificate, where it has one. */
  readonly authorityFile?: string;
  /** The key of that certificate, which subjects that serve TLS use as well. */
  readonly keyFile?: string;
  /** An empty folder on a real disk. */
  readonly folder: string;
  /** A checkout of another revision of the gateway; null where none was given. */
  readonly base: string | null;
  /** Flags for Node, where the subject runs in it. */
  readonly nodeFlags: readonly string[];
  /** Environment of the gateway, over what the bench gives it. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly say: (line: string) => void;
}

/** A subject that cannot run here; the message is for the reader of the table. */
export class Unavailable extends Error {}

const ROOT = fileURLToPath(new URL("..", import.meta.url));

export const OPENAI_PATH = "/v1/chat/completions";
export const OPENAI_MODEL = "gpt-5.4-mini";
export const DUMMY_KEY = { authorization: "Bearer sk-bench-0123456789abcdefghijklmnopqrstuvwxyz" };

const plain = { path: OPENAI_PATH, model: OPENAI_MODEL, headers: DUMMY_KEY };

/** The upstream's address without a path. */
export function upstreamOrigin({ wire = "plain", upstreamPort }: Ground): string {
  return `${wire === "plain" ? "http" : "https"}://127.0.0.1:${upstreamPort}`;
}

async function startBare(ground: Ground): Promise<Subject> {
  const file = new URL("./peers/bare-proxy.ts", import.meta.url);
  const args = [upstreamOrigin(ground), ground.wire ?? "plain", ground.authorityFile ?? ""];
  const { child, hello } = await ground.processes.fork(file, { args, nodeFlags: ground.nodeFlags });
  return { ...plain, name: "bare", port: hello.port, pid: child.pid ?? 0, child };
}

/** The gateway with the other HTTP engine, or with TLS. */
function startEngine(engine: "uws" | "node", name: SubjectName, ground: Ground): Promise<Subject> {
  const { keyFile = "", authorityFile = "" } = ground;
  const tls = name.startsWith("tls-");
  const certificate = tls ? { TLS_CERT: authorityFile, TLS_KEY: keyFile } : {};
  const settings = { ...ground.settings, HTTP_ENGINE: engine, ...certificate };
  return startTollgate(ground, name, ROOT, settings).then((subject) => ({ ...subject, tls }));
}

const STARTERS: Readonly<Record<SubjectName, (ground: Ground) => Promise<Subject>>> = {
  direct: async ({ plainPort, upstreamPort }) => {
    return { ...plain, name: "direct", port: plainPort ?? upstreamPort, pid: null, child: null };
  },
  nginx: startNginx,
  haproxy: startHaproxy,
  bare: startBare,
  "bifrost-core": startBifrost,
  litellm: startLitellm,
  portkey: startPortkey,
  tollgate: (ground) => startTollgate(ground, "tollgate", ROOT),
  base: (ground) => startTollgate(ground, "base", ground.base),
  node: (ground) => startEngine("node", "node", ground),
  "tls-uws": (ground) => startEngine("uws", "tls-uws", ground),
  "tls-node": (ground) => startEngine("node", "tls-node", ground),
  "tls-nginx": async (ground) =>
    terminateTls(ground, await startTollgate({ ...ground, folder: join(ground.folder, "behind") }, "tollgate", ROOT)),
};

/** Which of them have been set up to speak so to their upstream; nginx of the packages speaks no HTTP/2 to one. */
const SPOKEN: Readonly<Record<Exclude<Wire, "plain">, readonly SubjectName[]>> = {
  tls: ["direct", "nginx", "haproxy", "bare", "tollgate", "base"],
  http2: ["direct", "haproxy", "bare", "tollgate", "base"],
};

/** Starts a subject; throws `Unavailable` where it cannot run on this machine. */
export async function startSubject(name: SubjectName, ground: Ground): Promise<Subject> {
  const { wire = "plain" } = ground;
  if (wire !== "plain" && !SPOKEN[wire].includes(name)) throw new Unavailable(`it is not set up for ${wire}`);
  return STARTERS[name]({ ...ground, folder: join(ground.folder, name) });
}
