// How long the pages take over many postings, accounts and keys, and what open consoles cost: `node bench/shown.ts [postings] [consoles] [accounts]
// [keys]`. The accounts share the postings, written by the database itself, and one of them has that many keys; the gateway, its ledger and the
// reader are this process.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as waited } from "node:timers/promises";
import { systemClock } from "../src/core/clock.ts";
import { startGateway } from "../src/gateway/gateway.ts";
import { readConfig } from "../src/platform/config.ts";
import { removeFolder } from "../test/support/remove-folder.ts";
import { DAY_MS, FILLED_DAYS, fillLedger } from "./fill-ledger.ts";

const POSTINGS = Number(process.argv[2] ?? 1_000_000);
const CONSOLES = Number(process.argv[3] ?? 10);
const ACCOUNTS = Number(process.argv[4] ?? 1);
const KEYS = Number(process.argv[5] ?? 1);
const LOOKS = 41;
const WATCHED_MS = 20_000;
const PAGES = [
  "/account",
  "/account/transactions",
  "/account/keys",
  "/account/keys?q=key",
  "/account/budgets",
  "/account/events",
  "/account/runs",
  "/account/jobs",
  "/account/files",
  "/account/find?q=key+999",
  "/try",
];
const CONSOLE_PAGES = [
  "",
  "/accounts",
  "/accounts?q=bench",
  "/calls",
  "/find?q=nobody",
  "/prices",
  "/routes",
  "/doctor",
  "/log",
].map((path) => `/console${path}`);

const say = (text: string) => process.stdout.write(`${text}\n`);
const dataDir = mkdtempSync(join(tmpdir(), "tollgate-bench-"));
const today = Math.floor(systemClock.epochMs() / DAY_MS) * DAY_MS;
const fill = { accounts: ACCOUNTS, postings: POSTINGS, startMs: today - (FILLED_DAYS - 1) * DAY_MS, known: 1 };
const filled = fillLedger(join(dataDir, "tollgate.db"), fill);

const config = readConfig({ DATA_DIR: dataDir, PORT: "0", ADMIN_PORT: "0", ADDRESS_REQUESTS_PER_MINUTE: "1000000" });
const onFatal = (error: Error) => {
  throw error;
};
const gateway = await startGateway({ config, onFatal });

/** The cookie of a sign-in. */
async function signIn(base: string, path: string, fields: Record<string, string>): Promise<string> {
  const response = await fetch(`${base}${path}`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: base, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields),
  });
  return response.headers.get("set-cookie")?.split(";")[0] ?? "";
}

async function looks(base: string, paths: readonly string[], cookie: string): Promise<void> {
  for (const path of paths) {
    const times: number[] = [];
    let bytes = 0;
    for (let at = 0; at < LOOKS; at++) {
      const fromMs = systemClock.elapsedMs();
      const response = await fetch(`${base}${path}`, { headers: { cookie }, redirect: "manual" });
      bytes = (await response.text()).length;
      if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
      times.push(systemClock.elapsedMs() - fromMs);
    }
    times.sort((a, b) => a - b);
    say(
      `${path}: p50 ${(times[LOOKS >> 1] ?? 0).toFixed(1)} ms, slowest ${(times.at(-1) ?? 0).toFixed(1)} ms, ${bytes} bytes`,
    );
  }
}

/** CPU time that the process uses within `ms`, in percent of one core. */
async function processorTime(ms: number): Promise<number> {
  const [before, fromMs] = [process.cpuUsage(), systemClock.elapsedMs()];
  await waited(ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 10 / (systemClock.elapsedMs() - fromMs);
}

const [known] = filled.known;
const cookie = await signIn(gateway.url, "/sign-in", { key: known?.secret ?? "", next: "/account" });
for (let at = 1; at < KEYS; at++) {
  const headers = { authorization: `Bearer ${known?.secret}`, "content-type": "application/json" };
  const body = JSON.stringify({ label: `key ${at}`, ceiling_cents: 100 });
  const made = await fetch(`${gateway.url}/api/v1/agents`, { method: "POST", headers, body });
  if (made.status !== 201) throw new Error(await made.text());
}
say(`${POSTINGS} postings in ${ACCOUNTS} accounts, ${KEYS} keys of one`);
await looks(gateway.url, PAGES, cookie);
const operator = await signIn(gateway.adminUrl, "/console/sign-in", { token: gateway.adminToken, name: "bench" });
await looks(gateway.adminUrl, [...CONSOLE_PAGES, `/console/accounts/${known?.accountId}`], operator);

const idle = await processorTime(WATCHED_MS);
const left = new AbortController();
const open = Array.from({ length: CONSOLES }, async () => {
  const { signal } = left;
  const response = await fetch(`${gateway.adminUrl}/console/live`, { headers: { cookie: operator }, signal });
  let told = 0;
  try {
    for await (const part of response.body ?? []) told += part.length > 0 ? 1 : 0;
  } catch {
    return told;
  }
  return told;
});
await waited(1_000);
const watched = await processorTime(WATCHED_MS);
left.abort();
const told = await Promise.all(open);
say(
  `${CONSOLES} open consoles, told ${Math.min(...told)} times each: ${watched.toFixed(2)} % of a core, ${idle.toFixed(2)} % without`,
);
await gateway.drain();
removeFolder(dataDir);
