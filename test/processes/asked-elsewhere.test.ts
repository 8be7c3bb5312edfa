// Several processes over one file: grants, MCP calls and sessions that one process opened and another serves.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Client, Person } from "../edge/oauth/person.ts";
import { startFleet } from "../support/fleet.ts";
import { forFile } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { childrenOf, listenersTo, processesReady } from "../support/several.ts";

const CREDIT = 1_000_000;
/** Far below the lease of a dead process's holds, and enough for a busy machine. */
const SOON_MS = 30_000;

const fleet = forFile(await startFleet(1, null, { WORKERS: "2", OAUTH: "1", TRUST_PROXY: "1" }));

function gateway(): GatewayProcess {
  const [one] = fleet.up();
  if (one === undefined) throw new Error("no gateway is running");
  return one;
}

const holds = () => gateway().gauge("tollgate_holds_open");

/** Eight concurrent requests, on connections that reach both processes. */
const toBoth = <T>(ask: (at: number) => Promise<T>) => Promise.all(Array.from({ length: 8 }, (_, at) => ask(at)));

test("a grant whose token is revoked at one process is refused by all of them", async () => {
  const { key } = await fleet.account(CREDIT);
  const { url } = gateway();
  const [client, person] = [new Client(url), new Person(url)];
  await client.register();
  await person.signIn(key);
  const { access_token: token } = await client.tokens(person);
  const statuses = () =>
    toBoth(() =>
      fetch(`${url}/api/v1/account`, { headers: { authorization: `Bearer ${token}` } }).then(({ status }) => status),
    );
  expect(new Set(await statuses())).toEqual(new Set([200]));
  expect((await client.post("/oauth/revoke", { token })).status).toBe(200);
  const all = async () => (await statuses()).every((status) => status === 401) || undefined;
  await eventually(all, "all to refuse it", SOON_MS);
});

test("a call over MCP is cancelled by a message that comes to another process", async () => {
  const { key } = await fleet.account(CREDIT);
  const post = (body: object) =>
    postAs(key, `${gateway().url}/mcp`, { jsonrpc: "2.0", ...body }, { "mcp-session-id": "one" }).then((answer) =>
      answer.text(),
    );
  const params = { name: "ask_model", arguments: { model: "sandbox/silent", prompt: "x" } };
  const answers = toBoth((id) => post({ id, method: "tools/call", params }));
  await eventually(async () => (await holds()) === 8 || undefined, "the holds");
  await toBoth((requestId) => post({ method: "notifications/cancelled", params: { requestId } }));
  await answers;
  await eventually(async () => (await holds()) === 0 || undefined, "the end of the holds", SOON_MS);
});

test("where the work is split off, callers come to the other processes, and a session that one of them opened is run by the first", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-split-"));
  const split = await spawnGateway({ DATA_DIR: folder, WORKERS: "3", ROLE: "split", LOG_LEVEL: "error" });
  onTestFinished(async () => {
    await split.kill();
    removeFolder(folder);
  });
  await processesReady(2, split.adminUrl);
  const children = childrenOf(split.pid);
  const listeners = listenersTo(Number(new URL(split.url).port), children);
  const [worker, ...more] = children.filter((pid) => !listeners.includes(pid));
  expect([listeners.length, more]).toEqual([2, []]);
  const made = await split.admin("POST", "/admin/v1/accounts", { name: "ada", kind: "sandbox", credit_cents: 1_000 });
  const run = async (action: string, params: object) => {
    const headers = { authorization: `Bearer ${made.api_key}`, "content-type": "application/json" };
    const body = JSON.stringify(params);
    const answer = await fetch(`${split.url}/api/run/e2b/${action}`, { method: "POST", headers, body });
    return ((await answer.json()) as { data: Record<string, unknown> }).data;
  };
  const { session_id } = await run("create_session", {});
  await eventually(async () => {
    const { jobs } = (await split.admin("GET", "/admin/v1/jobs")) as { jobs: { runner: string }[] };
    return jobs[0]?.runner.includes(`-${worker}-`) || undefined;
  }, "its runner");
  expect(await run("close", { session_id })).toMatchObject({ status: "closed", ended: "closed", minutes: 1 });
  expect(await split.admin("GET", "/admin/v1/doctor")).toMatchObject({ holds: 0, findings: [] });
});
