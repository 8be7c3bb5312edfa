// The gateway as `npm start` runs it, with everything on: key check, hold, meter, durable post, metrics, log.
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { type Ground, type Subject, type SubjectName, Unavailable, upstreamOrigin } from "../subjects.ts";

const CREDIT_CENTS = 100_000_000;
const LISTENS = /listens on \S+:(?<port>\d+), its admin listener on \S+:(?<adminPort>\d+)\./;

interface Created {
  readonly account_id: string;
  readonly api_key: string;
}

function adminToken(dataFolder: string): string {
  return readFileSync(join(dataFolder, "admin.token"), "utf8").trim();
}

/** Reads JSON or text without a timeout: `fetch` would give up on the doctor after five minutes. */
async function admin(url: string, token: string, method: string, body: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const asked = request(url, { method, headers, agent: false });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const answer = await text(response);
  if (response.statusCode === undefined || response.statusCode >= 300)
    throw new Error(`${method} ${url}: ${response.statusCode} ${answer}`);
  return response.headers["content-type"]?.includes("json") ? JSON.parse(answer) : answer;
}

/** Calls the admin API of a gateway by its data folder. */
export function adminOf(adminPort: number, dataFolder: string) {
  const token = adminToken(dataFolder);
  return (method: string, path: string, body?: unknown) =>
    admin(`http://127.0.0.1:${adminPort}${path}`, token, method, body);
}

/** A live account with money and limits far above the bench's needs. */
export async function openAccount(adminPort: number, dataFolder: string): Promise<string> {
  const ask = adminOf(adminPort, dataFolder);
  const accounts = "/admin/v1/accounts";
  const created = (await ask("POST", accounts, { name: "bench", credit_cents: CREDIT_CENTS })) as Created;
  await ask("PATCH", `${accounts}/${created.account_id}`, {
    inference_cap_cents: CREDIT_CENTS,
    rate_limit: { requests_per_minute: 10_000_000, in_flight: 20_000 },
  });
  return created.api_key;
}

/** Starts the gateway of the checkout `root`; `settings` are added to those of every run. */
export async function startTollgate(
  ground: Ground,
  name: SubjectName,
  root: string | null,
  settings: Readonly<Record<string, string>> = ground.settings ?? {},
): Promise<Subject> {
  if (root === null) throw new Unavailable("no --base was given");
  const main = resolve(root, "src/main.ts");
  if (!existsSync(main)) throw new Unavailable(`${main} is not there`);
  const { folder } = ground;
  mkdirSync(folder, { recursive: true });
  const data = join(folder, "data");
  const overlay = resolve(root, "bench/overlay");
  // As `npm start` starts it.
  const keptSources = resolve(root, "src/core/kept-sources.mjs");
  const imports = existsSync(keptSources) ? [`--import=${keptSources}`] : [];
  const flags = ["--disable-warning=ExperimentalWarning", ...imports, ...ground.nodeFlags, main];
  const { child, ready } = await ground.processes.spawnUntil(process.execPath, flags, {
    isReady: (said) => LISTENS.exec(said)?.groups ?? null,
    logFile: join(folder, "output.log"),
    folder,
    env: {
      PATH: process.env.PATH,
      MALLOC_ARENA_MAX: "2",
      // Free ports that it reports: one that was free a moment ago may be taken by now.
      PORT: "0",
      ADMIN_PORT: "0",
      DATA_DIR: data,
      OPENAI_API_KEY: "sk-bench",
      OPENAI_BASE_URL: `${upstreamOrigin(ground)}/v1`,
      BENCH_API_KEY: "sk-bench",
      BENCH_BASE_URL: `${upstreamOrigin(ground)}/v1`,
      ADDRESS_REQUESTS_PER_MINUTE: "10000000",
      VENDORS_HTTP2: ground.wire === "http2" ? "1" : "0",
      ...(ground.authorityFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: ground.authorityFile }),
      ...(existsSync(overlay) ? { OVERLAY_DIR: overlay } : {}),
      ...settings,
    },
  });
  const [port, adminPort] = [Number(ready.port), Number(ready.adminPort)];
  const key = await openAccount(adminPort, data);
  return {
    name,
    port,
    pid: child.pid ?? 0,
    child,
    path: "/api/llm/v1/chat/completions",
    model: "openai/gpt-5.4-mini",
    headers: { authorization: `Bearer ${key}` },
    openAccount: () => openAccount(adminPort, data),
    ask: adminOf(adminPort, data),
  };
}
