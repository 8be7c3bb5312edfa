import { expect, test } from "vitest";
import { callChat, type SeenCall } from "../support/chat-call.ts";
import { startFleet } from "../support/fleet.ts";
import { forFile } from "../support/for-file.ts";
import { eventually, withinAMinute } from "../support/gateway.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";
import { childrenOf, processesReady } from "../support/several.ts";

onlyAProcessShows("two workers on one file");

const CREDIT = 1_000_000;
/** Far below the lease of a dead process's holds, and enough for a busy machine. */
const SOON_MS = 30_000;

const fleet = forFile(await startFleet(1, null, { WORKERS: "2", OAUTH: "1", TRUST_PROXY: "1" }));

function gateway(): GatewayProcess {
  const [one] = fleet.up();
  if (one === undefined) throw new Error("no gateway is running");
  return one;
}

/** Concurrent calls, each on its own connection, so that they reach both processes. */
function calls(count: number, key: string, content: string, onContent = () => {}): Promise<SeenCall>[] {
  const body = { model: "sandbox/ok", stream: true, max_tokens: 1_000, messages: [{ role: "user", content }] };
  const call = () => callChat(body, { url: gateway().url, key, headers: { connection: "close" }, onContent });
  return Array.from({ length: count }, call);
}

const ENDLESS = "hello [[pace: 1]]";
const holds = () => gateway().gauge("tollgate_holds_open");

test("what one process is told, the others know; a window is one for all of them", async () => {
  const { accountId, key } = await fleet.account(CREDIT);
  const path = `/admin/v1/accounts/${accountId}`;
  const codes = async () => (await Promise.all(calls(8, key, "hello"))).map(({ error }) => error?.code ?? null);
  expect(await codes()).toEqual(Array(8).fill(null));
  await gateway().admin("PATCH", path, { frozen: true });
  await eventually(async () => (await codes()).every((code) => code === "account_frozen") || undefined, "all to know");
  await gateway().admin("PATCH", path, { frozen: false, inference_cap_cents: 1 });
  await eventually(async () => (await codes()).includes(null) || undefined, "one to know");
  const settled: SeenCall[] = [];
  const all = calls(40, key, ENDLESS).map(async (call) => void settled.push(await call));
  // Every one is either held or refused.
  await eventually(async () => settled.length + (await holds()) === 40 || undefined, "all to have been asked");
  expect(new Set(settled.map(({ error }) => error?.code))).toEqual(new Set(["inference_cap"]));
  expect(await gateway().admin("GET", path)).toMatchObject({ held_cents: 1 });
  for (const pid of childrenOf(gateway().pid)) process.kill(pid, "SIGKILL");
  // Not only with their leases.
  await eventually(async () => (await holds()) === 0 || undefined, "no hold", SOON_MS);
  await Promise.all(all);
  expect(await fleet.doctor()).toEqual({ holds: 0, findings: [] });
  await processesReady(2, gateway().adminUrl);
});

test("requests of a minute are those of all processes together", async () => {
  const limit = 20;
  const seen = await withinAMinute(async () => {
    const { accountId, key } = await fleet.account(CREDIT);
    await gateway().admin("PATCH", `/admin/v1/accounts/${accountId}`, { rate_limit: { requests_per_minute: limit } });
    return Promise.all(calls(3 * limit, key, "hello"));
  });
  const count = (status: number) => seen.filter((one) => one.status === status).length;
  expect([count(200), count(429)]).toEqual([limit, 2 * limit]);
});

test("SIGHUP replaces every process, and no stream is cut", async () => {
  const { key } = await fleet.account(CREDIT);
  let begun = 0;
  const streams = calls(6, key, "hello [[pace: 15]]", () => void begun++);
  await eventually(() => begun === 6 || undefined, "six answers");
  const before = childrenOf(gateway().pid);
  const done = gateway().says(/replaced/);
  gateway().send("SIGHUP");
  expect((await Promise.all(streams)).filter(({ acknowledged }) => acknowledged)).toHaveLength(6);
  expect(await done).toBe("Every process was replaced.");
  expect(childrenOf(gateway().pid).filter((pid) => before.includes(pid))).toEqual([]);
  expect(await fleet.doctor()).toEqual({ holds: 0, findings: [] });
  expect(await fleet.drain()).toEqual([0]);
});
