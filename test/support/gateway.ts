// A real gateway on free ports with its own folder, for tests that observe it from outside.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import OpenAI from "openai";
import { type Gateway, type GatewayOptions, startGateway } from "../../src/gateway/gateway.ts";
import { prepareEnvironment, readConfig } from "../../src/platform/config.ts";
import { PATIENT_MS } from "./patience.ts";
import { removeFolder } from "./remove-folder.ts";
import { TESTED_ENGINE } from "./tested-engine.ts";

export interface TestAccount {
  readonly accountId: string;
  readonly key: string;
  readonly client: OpenAI;
}

export interface AccountOptions {
  readonly kind?: "personal" | "business" | "sandbox";
  readonly creditCents?: number;
  readonly requestsPerMinute?: number;
  readonly inFlight?: number;
  readonly inferenceCapCents?: number;
}

export interface TestGateway extends Gateway {
  /** The folder of all its data. */
  readonly dataDir: string;
  /** An account with a key, made through the admin listener. */
  account(options?: AccountOptions): Promise<TestAccount>;
  admin(method: string, path: string, body?: unknown): Promise<{ status: number; json: Record<string, unknown> }>;
  /** Every line of the log so far. */
  lines(): readonly string[];
  /** The log lines of requests so far, parsed. */
  records(): Record<string, unknown>[];
  /** The record of a request, once it has been written. */
  record(requestId: string | null): Promise<Record<string, unknown>>;
  /** The sandbox's counts. */
  books(): Promise<{ requests: Record<string, unknown>[] }>;
  doctor(): Promise<unknown[]>;
  stop(): Promise<void>;
}

/** Under other load, what takes a moment can take many. */
const LOOK_MS_MAX = 60_000;

/** Polls until `read` returns a value: for conditions without an event. */
export async function eventually<T>(
  read: () => T | undefined | Promise<T | undefined>,
  what: string,
  msMax = LOOK_MS_MAX,
): Promise<T> {
  const deadline = Date.now() + msMax;
  for (;;) {
    const found = await read();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Looks without a change after which nothing moves any more. Counted, not timed: on a busy machine each look takes longer. */
const STILL_LOOKS = 50;

/** Waits until `look` has returned the same positive number many times in a row: for what stops without an event. */
export function standstill(look: () => number | Promise<number>, what: string): Promise<number> {
  let [before, same] = [-1, 0];
  return eventually(async () => {
    const now = await look();
    same = now > 0 && now === before ? same + 1 : 0;
    before = now;
    return same > STILL_LOOKS ? now : undefined;
  }, what);
}

/** Runs `work` again whenever a window ended meanwhile: request windows end with the minute or the hour, for all callers at once. */
export async function withinAWindow<T>(windowMs: number, work: () => Promise<T>): Promise<T> {
  const window = () => Math.floor(Date.now() / windowMs);
  for (;;) {
    const before = window();
    const [outcome] = await Promise.allSettled([work()]);
    if (window() !== before) continue;
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  }
}

export function withinAMinute<T>(work: () => Promise<T>): Promise<T> {
  return withinAWindow(60_000, work);
}

/** With the test's own actions and jobs, where it has some. */
export async function startTestGateway(
  environment: Record<string, string> = {},
  own: Pick<GatewayOptions, "actions" | "jobKinds" | "internet" | "anonymousPayer" | "wallet" | "wires"> = {},
): Promise<TestGateway> {
  prepareEnvironment();
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const lines: string[] = [];
  const logStream = new Writable({
    write(chunk, _, done) {
      lines.push(...String(chunk).split("\n").filter(Boolean));
      done();
    },
  });
  const config = readConfig({
    ...TESTED_ENGINE,
    PORT: "0",
    ADMIN_PORT: "0",
    DATA_DIR: dataDir,
    DRAIN_SECONDS: "2",
    REDIS_COMMAND_MS: String(PATIENT_MS),
    ...environment,
  });
  const gateway = await startGateway({
    ...own,
    config,
    logStream,
    onFatal: (error) => {
      throw error;
    },
  }).catch((error: unknown) => {
    removeFolder(dataDir);
    throw error;
  });

  async function admin(method: string, path: string, body?: unknown) {
    const response = await fetch(`${gateway.adminUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${gateway.adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }

  const records = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "request");

  return {
    ...gateway,
    dataDir,
    admin,
    lines: () => lines,
    records,
    record: (requestId) =>
      eventually(() => records().find(({ request_id }) => request_id === requestId), `the record of ${requestId}`),
    async account({ kind = "sandbox", creditCents = 1_000, ...options } = {}) {
      const made = await admin("POST", "/admin/v1/accounts", { name: "test", kind, credit_cents: creditCents });
      if (made.status !== 201 && made.status !== 200) throw new Error(JSON.stringify(made));
      const accountId = String(made.json.account_id);
      await admin("PATCH", `/admin/v1/accounts/${accountId}`, {
        inference_cap_cents: options.inferenceCapCents ?? 100_000,
        rate_limit: {
          requests_per_minute: options.requestsPerMinute ?? 1_000_000,
          in_flight: options.inFlight ?? 10_000,
        },
      });
      const key = String(made.json.api_key);
      const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/api/llm/v1`, maxRetries: 0 });
      return { accountId, key, client };
    },
    async books() {
      const response = await fetch(`${gateway.sandboxUrl}/_sandbox/books`);
      return (await response.json()) as { requests: Record<string, unknown>[] };
    },
    async doctor() {
      const { json } = await admin("GET", "/admin/v1/doctor");
      return json.findings as unknown[];
    },
    async stop() {
      await gateway.drain();
      removeFolder(dataDir);
    },
  };
}
