// A gateway whose sessions open, run and close while it is killed: no machine stays, no money is held, and each is charged once.
import { expect, it, onTestFinished } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { vendorsOf } from "../../src/sandbox/action-vendors.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { Machines, SessionStandIn, StandIn } from "../../src/sandbox/stand-in.ts";
import { folderForTest } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const KILLS = 2;
const WORKERS = 6;
const LOAD_MS = [700, 1_500, 500] as const;
const LOST = new Error("the gateway was killed");

/** Runs outside the gateway, so that machines outlive it. */
async function vendor() {
  const vendors = new Map(vendorsOf(await shippedCatalog()));
  const daytona = vendors.get("daytona");
  if (daytona?.standIn == null) throw new Error("nothing stands in for such a vendor");
  const { sessions: play } = (await daytona.standIn.load()) as StandIn;
  if (play === undefined) throw new Error("nothing stands in for its sessions");
  const seen: { machines: Machines | null; most: number } = { machines: null, most: 0 };
  const sessions: SessionStandIn = (request, machines) => {
    const answer = play(request, machines);
    seen.machines = machines;
    seen.most = Math.max(seen.most, machines.all().length);
    return answer;
  };
  vendors.set("daytona", { ...daytona, standIn: { name: "watched", load: async () => ({ sessions }) } });
  const sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0, adapters: () => vendors });
  onTestFinished(() => sandbox.close());
  return { url: sandbox.url, seen };
}

it("sessions under kills leave no machine and no hold, and are charged once", async () => {
  const folder = folderForTest("tollgate-session-kill-");
  const { url: sandboxUrl, seen } = await vendor();
  const start = () => spawnGateway({ DATA_DIR: folder, SANDBOX_URL: sandboxUrl });
  let gateway: GatewayProcess = await start();
  const made = await gateway.admin("POST", "/admin/v1/accounts", {
    name: "ada",
    kind: "sandbox",
    credit_cents: 100_000,
  });
  const accountId = String(made.account_id);
  const rate_limit = { requests_per_minute: 1_000_000, in_flight: 1_000 };
  await gateway.admin("PATCH", `/admin/v1/accounts/${accountId}`, { rate_limit });
  const headers = { authorization: `Bearer ${made.api_key}`, "content-type": "application/json" };
  const run = async (action: string, params: object) => {
    const request = { method: "POST", headers, body: JSON.stringify(params) };
    const response = await fetch(`${gateway.url}/api/run/daytona/${action}`, request).catch(() => Promise.reject(LOST));
    const text = await response.text().catch(() => Promise.reject(LOST));
    return JSON.parse(text) as { ok: boolean; data: Record<string, unknown>; error?: string };
  };
  const told = new Set<string>();
  let closed = 0;
  const work = async (isOver: () => boolean) => {
    try {
      while (!isOver()) {
        const { ok, data } = await run("create_session", {});
        if (!ok) continue;
        const session_id = String(data.session_id);
        told.add(session_id);
        await run("session", { session_id, command: "echo hello" });
        if (Math.random() < 0.5) continue;
        await run("close", { session_id });
        closed += 1;
      }
    } catch (error) {
      if (error !== LOST) throw error;
    }
  };

  for (let kill = 0; kill <= KILLS; kill++) {
    let isOver = false;
    const works = Array.from({ length: WORKERS }, () => work(() => isOver));
    await new Promise((resolve) => setTimeout(resolve, LOAD_MS[kill]));
    // On a busy machine the last round lasts until enough has happened.
    if (kill === KILLS) await eventually(() => (told.size > WORKERS ? true : undefined), "more sessions than workers");
    isOver = true;
    if (kill === KILLS) {
      await Promise.all(works);
      break;
    }
    await gateway.kill();
    await Promise.all(works);
    gateway = await start();
  }

  // Every acknowledged session exists and can be closed, whichever process made it.
  let cents = 0;
  for (const session_id of told) {
    const { ok, data } = await eventually(async () => {
      const said = await run("close", { session_id });
      return said.ok && said.data.status === "closed" ? said : undefined;
    }, `the close of ${session_id}`);
    expect(ok).toBe(true);
    expect(data).toMatchObject({ ended: "closed" });
    cents += Number(data.session_cents);
  }
  // Unacknowledged sessions: a session whose answer was lost runs until its time is over, and the operator sees it.
  const { jobs } = (await gateway.admin("GET", "/admin/v1/jobs")) as unknown as { jobs: { job_id: string }[] };
  for (const { job_id } of jobs) {
    const { data } = await run("close", { session_id: job_id.replace("job_", "ses_") });
    cents += Number(data.session_cents);
  }
  await eventually(() => (seen.machines?.all().length === 0 ? true : undefined), "the last machine's end");
  const account = await eventually(async () => {
    const { held_cents, ...rest } = await gateway.admin("GET", `/admin/v1/accounts/${accountId}`);
    return held_cents === 0 ? rest : undefined;
  }, "the end of the last hold");
  expect(account).toMatchObject({ balance_cents: 100_000 - cents });
  const { findings } = (await gateway.admin("GET", "/admin/v1/doctor")) as unknown as { findings: unknown[] };
  expect(findings).toEqual([]);
  console.log(
    `${told.size} sessions told of, ${closed} closed under load, ${jobs.length} that nobody was told of, at most ${seen.most} machines`,
  );
  await gateway.terminate();
});
