// A gateway killed in each step of an acting model, and in the middle of a demo video: nothing is charged twice, nothing stays held, and no
// scene is paid again.
import { mkdtempSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { FOUND, MODEL } from "../models/acting/stage.ts";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { startVendor } from "../support/vendor-server.ts";

const CREDIT = 1_000;
const CALLED = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c1", type: "function", function: { name: "brave__search", arguments: '{"q":"tide"}' } }],
};
const SAID = { role: "assistant", content: "At noon." };

function json(response: ServerResponse, body: unknown): void {
  response.on("error", () => {});
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function completion(message: object) {
  const finish_reason = message === CALLED ? "tool_calls" : "stop";
  return { choices: [{ index: 0, message, finish_reason }], usage: { prompt_tokens: 100, completion_tokens: 10 } };
}

/** The answers to a call of an acting model: its first round, the action, its second round. */
const STEPS = [completion(CALLED), FOUND, completion(SAID)];

function folderOf(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${name}-`));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

async function keyOf(gateway: GatewayProcess, kind: string): Promise<string> {
  const made = await gateway.admin("POST", "/admin/v1/accounts", { name: "ada", kind, credit_cents: CREDIT });
  return String(made.api_key);
}

function callsBy(key: string) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return {
    async money({ url }: GatewayProcess) {
      const account = (await (await fetch(`${url}/api/v1/account`, { headers })).json()) as Record<string, number>;
      return { balance: account.balance_cents, held: account.held_cents };
    },
    post({ url }: GatewayProcess, path: string, body: object, more: object = {}) {
      const sent = { method: "POST", headers: Object.assign({}, headers, more), body: JSON.stringify(body) };
      return fetch(url + path, sent);
    },
  };
}

it("a model that acts, killed in its first round, in its action and in its second round, is charged for none of them", async () => {
  const vendor = await startVendor();
  onTestFinished(() => vendor.close());
  const environment = {
    DATA_DIR: folderOf("acting-kill"),
    OPENAI_API_KEY: "key",
    OPENAI_BASE_URL: `${vendor.url}/v1`,
    BRAVE_API_KEY: "key",
    BRAVE_BASE_URL: `${vendor.url}/brave`,
  };
  let gateway = await spawnGateway(environment);
  const { money, post } = callsBy(await keyOf(gateway, "personal"));
  const ask = () =>
    post(gateway, "/api/llm/v1/chat/completions", {
      model: MODEL,
      messages: [{ role: "user", content: "When is the tide?" }],
      tools: [{ type: "action", action: "brave/search" }],
    });
  for (const [killedIn, late] of STEPS.entries()) {
    let step = 0;
    const reached = Promise.withResolvers<ServerResponse>();
    vendor.answers((response) => {
      const answer = STEPS[step];
      if (step === killedIn) reached.resolve(response);
      else json(response, answer);
      step += 1;
    });
    const call = ask().catch(() => "died");
    const waiting = await reached.promise;
    expect((await money(gateway)).held).toBeGreaterThan(0);
    await gateway.kill();
    expect(await call).toBe("died");
    gateway = await spawnGateway(environment);
    json(waiting, late);
    expect(await money(gateway), `killed in step ${killedIn}`).toEqual({ balance: CREDIT, held: 0 });
  }
  let step = 0;
  vendor.answers((response) => json(response, STEPS[step++]));
  expect(await (await ask()).json()).toMatchObject({ choices: [{ message: { content: "At noon." } }] });
  // A search costs a cent, and the rounds less than one.
  expect(await money(gateway)).toEqual({ balance: CREDIT - 2, held: 0 });
  await gateway.kill();
  const { report } = await doctorOffline(environment.DATA_DIR);
  // The credit and the one completed call.
  expect(report).toMatchObject({ postings: 2, findings: [] });
});

interface Job {
  readonly status: string;
  readonly charged_cents: number;
  readonly progress?: { readonly done: number };
  readonly result: { readonly rows: readonly { readonly scene: number; readonly charged_cents: number }[] };
}

it("a demo whose gateway is killed after its storyboard and between scenes costs what it costs undisturbed", async () => {
  const environment = { DATA_DIR: folderOf("demo-kill") };
  let gateway = await spawnGateway(environment);
  const { money, post } = callsBy(await keyOf(gateway, "sandbox"));
  const params = { url: "https://example.com", brief: "What the gate is for", seconds: 32 };
  const run = async (action: string, body: object, more: object = {}) => {
    const answer = (await (await post(gateway, `/api/run/${action}`, body, more)).json()) as { data: unknown };
    return answer.data;
  };
  const launch = async () => {
    const slow = { "x-tollgate-sandbox-fault": "slow-150" };
    const { job_id } = (await run("core/produce_autodemo", params, slow)) as { job_id: string };
    return job_id;
  };
  const at = (job_id: string, is: (job: Job) => boolean) =>
    eventually(async () => {
      const job = (await run("core/result", { job_id })) as Job;
      return is(job) ? job : undefined;
    }, "the job to come so far");
  const isOver = ({ status }: Job) => status === "succeeded" || status === "failed";
  const undisturbed = await at(await launch(), isOver);
  const killed = await launch();
  for (const done of [0, 2]) {
    await at(killed, (job) => isOver(job) || (job.progress?.done ?? -1) >= done);
    await gateway.kill();
    gateway = await spawnGateway(environment);
  }
  const job = await at(killed, isOver);
  expect(job.status).toBe("succeeded");
  expect(job.charged_cents).toBe(undisturbed.charged_cents);
  expect(job.result.rows.map(({ scene, charged_cents }) => [scene, charged_cents])).toEqual(
    undisturbed.result.rows.map(({ scene, charged_cents }) => [scene, charged_cents]),
  );
  expect(await money(gateway)).toEqual({ balance: CREDIT - 2 * job.charged_cents, held: 0 });
  await gateway.terminate();
  const { report } = await doctorOffline(environment.DATA_DIR);
  expect(report).toMatchObject({ holds: 0, postings: 3, findings: [] });
});
