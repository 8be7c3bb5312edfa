// The gateway as several processes, each on books of its own that begin with the same account, for tests that let them come, go and die.
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { callChat, type SeenCall } from "./chat-call.ts";
import { eventually, startTestGateway } from "./gateway.ts";
import { type GatewayProcess, spawnGateway } from "./gateway-process.ts";

const STREAM = { stream: true, stream_options: { include_usage: true }, max_tokens: 100 };
export const SHORT = { model: "sandbox/ok", messages: [{ role: "user", content: "hello" }], ...STREAM };
/** A good two seconds long. */
export const LONG = { ...SHORT, messages: [{ role: "user", content: "hello [[pace: 40]]" }] };

/** Of the account that is in all books. */
let key = "";
/** Books with one account, from which those of each process begin. */
let books = "";

/** To be called once at the top of a test file. */
export function withBooks(): void {
  beforeAll(async () => {
    books = mkdtempSync(join(tmpdir(), "tollgate-books-"));
    const gateway = await startTestGateway({ DATA_DIR: books });
    ({ key } = await gateway.account({ creditCents: 100_000 }));
    await gateway.drain();
    rmSync(gateway.dataDir, { recursive: true, force: true });
  });
  afterAll(() => rmSync(books, { recursive: true, force: true }));
}

export interface Several extends GatewayProcess {
  readonly dataDir: string;
  /** Process ids of the children there are. */
  children(): number[];
  readyz(): Promise<Record<string, unknown>>;
  /** The sum of all series of a metric whose labels contain `part`. */
  total(name: string, part: string): Promise<number>;
  /** A call on a connection of its own, or on one that stays open. */
  call(body?: Readonly<Record<string, unknown>>, connection?: "close" | "keep-alive"): Promise<SeenCall>;
}

export async function startSeveral(count: number, patience: Record<string, number> = {}): Promise<Several> {
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-several-"));
  for (let number = 1; number <= count + 1; number++) {
    cpSync(join(books, "tollgate.db"), join(dataDir, `worker-${number}`, "tollgate.db"));
  }
  const program = ["test/support/several-processes.ts", String(count), JSON.stringify(patience)];
  const gateway = await spawnGateway(
    { DATA_DIR: dataDir, LOG_LEVEL: "error", ADDRESS_REQUESTS_PER_MINUTE: "1000000" },
    undefined,
    program,
  );
  const children = (): number[] => {
    const file = `/proc/${gateway.pid}/task/${gateway.pid}/children`;
    return readFileSync(file, "utf8").trim().split(" ").filter(Boolean).map(Number);
  };
  onTestFinished(async () => {
    await gateway.kill();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return {
    ...gateway,
    dataDir,
    children,
    readyz: async () => (await fetch(`${gateway.adminUrl}/readyz`)).json() as Promise<Record<string, unknown>>,
    async total(name, part) {
      const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
      const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) && line.includes(part));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
    },
    call: (body = SHORT, connection = "close") => callChat(body, { url: gateway.url, key, headers: { connection } }),
  };
}

export const charged = (seen: readonly SeenCall[]) => seen.filter(({ acknowledged }) => acknowledged).length;
export const allReady = (gateway: Several, wanted: number) =>
  eventually(
    async () => ((await gateway.readyz()).processes as { ready: number }).ready === wanted || undefined,
    `${wanted} ready processes`,
    15_000,
  );
