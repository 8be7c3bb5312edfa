// A gateway whose internet is simulated by the test, and jobs over pages as seen by their payer and the store.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { type Outside, say, startOutside } from "../../upstream/outside.ts";

export const TEXT =
  "All that is paid at the gate is written down, and whoever asks is told what is left of it. ".repeat(15);
export const PAGE = `<!doctype html><html><head><title>The gate</title></head><body><article><h1>The gate</h1><p>${TEXT}</p></article></body></html>`;
export const WALL =
  "<html><head><title>Just a moment...</title></head><body><p>Verify you are human.</p></body></html>";
export const HTML = { "content-type": "text/html; charset=utf-8" };

export interface JobRow {
  readonly url: string;
  readonly content: string | null;
  readonly provider: string | null;
  readonly charged_cents: number;
  readonly error?: string;
  readonly hard: boolean;
  readonly hops: readonly { provider: string; ok: boolean; skipped?: string; charged_cents: number }[];
}

export interface EndedJob {
  readonly status: string;
  readonly chargedCents: number;
  readonly stopped?: string;
  readonly result: Record<string, unknown> & { readonly spent_cents: number };
  readonly rows: readonly JobRow[];
}

export interface PagesGateway extends TestGateway {
  readonly outside: Outside;
  /** Answers all paths except robots.txt. */
  play: Outside["play"];
  at(path: string): string;
  launch(account: TestAccount, params: unknown): Promise<{ status: number; json: Record<string, unknown> }>;
  /** Waits for the end of the job; returns it with its rows. */
  ended(launch: { readonly json: Record<string, unknown> }): Promise<EndedJob>;
  money(account: TestAccount): Promise<Record<string, unknown>>;
}

export function recordOf(dataDir: string, kind: string, id: string): string | null {
  const database = new DatabaseSync(join(dataDir, "tollgate.db"), { readOnly: true });
  try {
    const row = database.prepare("SELECT value FROM record WHERE kind = ? AND id = ?").get(kind, id);
    return row === undefined ? null : String(row.value);
  } finally {
    database.close();
  }
}

/** `internet`: another gateway's internet, which closes with this gateway. */
export async function startPagesGateway(
  environment: Record<string, string>,
  internet: Outside | null = null,
): Promise<PagesGateway> {
  const outside = internet ?? (await startOutside());
  outside.names["gate.example"] = ["127.0.0.2"];
  const gateway = await startTestGateway(environment, {
    internet: {
      allowForTests: [`127.0.0.2:${outside.port}`],
      resolve: async (name) => [outside.names[name] ?? []].flat() as string[],
    },
  });
  const folder = environment.DATA_DIR ?? gateway.dataDir;
  const made: PagesGateway = {
    ...gateway,
    outside,
    play: (socket) => say(socket, HTML, PAGE),
    at: (path) => outside.url(path, "gate.example"),
    async launch(account, params) {
      const response = await postAs(account.key, `${gateway.url}/api/run/core/onescrape-deep`, params);
      return { status: response.status, json: (await response.json()) as Record<string, unknown> };
    },
    ended: ({ json }) =>
      eventually(async () => {
        const { job_id: id } = json.data as { job_id: string };
        const job = JSON.parse(recordOf(folder, "job", id) ?? "{}");
        if (job.state !== "succeeded" && job.state !== "failed") return undefined;
        const rows = (job.end.rows as string[]).map((name) => JSON.parse(recordOf(folder, "job-row", name) ?? ""));
        return {
          status: job.state,
          chargedCents: job.chargedCents,
          stopped: job.end.stopped,
          result: job.end.result,
          rows,
        };
      }, "the job's end"),
    async money(account) {
      const headers = { authorization: `Bearer ${account.key}` };
      return (await (await fetch(`${gateway.url}/api/v1/account`, { headers })).json()) as Record<string, unknown>;
    },
    async stop() {
      await gateway.stop();
      await outside.close();
    },
  };
  outside.play = (socket, path, text) => {
    if (path === "/robots.txt") return say(socket, {}, "");
    made.play(socket, path, text);
  };
  return made;
}
