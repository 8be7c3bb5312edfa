// A gateway that answers callers and one that does the work, over one Redis: the division of work, seen from outside.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { z } from "zod";
import type { JobKind } from "../../src/catalog/job-kind.ts";
import { launched, localAction } from "../../src/catalog/local-action.ts";
import { withBooks } from "../../src/cli/redis-books.ts";
import { nano } from "../../src/core/money.ts";
import { EXPORTER } from "../../src/money/ledger/archive/export.ts";
import { readConfig } from "../../src/platform/config.ts";
import { redisRecords } from "../../src/platform/records/redis-records.ts";
import { CENT } from "../money/ledger/requests.ts";
import { callChat } from "../support/chat-call.ts";
import { folderForFile, forFile } from "../support/for-file.ts";
import { eventually, startTestGateway } from "../support/gateway.ts";
import { sendAs } from "../support/keyed-fetch.ts";
import { anyRedis, openLink } from "../support/redis.ts";

const deep = localAction({
  service: "core",
  action: "deep",
  description: "Works for a while.",
  category: "core",
  effect: "read",
  params: z.strictObject({}),
  price: { mode: "fixed", cents: 10 },
  launches: { job: "deep", inFlightMax: 3 },
  run: (_, call) => launched(call),
  example: { params: {} },
});
const kind: JobKind = {
  name: "deep",
  msMax: 60_000,
  counted: "price",
  run: async () => ({ status: "succeeded", result: {}, chargeNano: nano(3 * CENT) }),
};

const folder = folderForFile("tollgate-roles-");
const start = (role: string) => {
  const settings = { REDIS_URL: redis.url, ARCHIVE_URL: `file://${folder}/archive.db`, WEBHOOKS_PRIVATE: "1" };
  return startTestGateway({ ...settings, ROLE: role }, { actions: [deep], jobKinds: [kind] });
};
const redis = forFile(await anyRedis());
// First, so that by now it would have taken any work that it takes.
const serve = await start("serve");

async function ask(key: string, path: string, body?: unknown) {
  const response = await sendAs(key, body === undefined ? "GET" : "POST", `${serve.url}${path}`, body);
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}
const balance = async (accountId: string) => {
  const { json } = await serve.admin("GET", `/admin/v1/accounts/${accountId}`);
  return [json.balance_cents, json.held_cents];
};

it("one that serves answers callers alone; what it launches, and what is told and kept of its calls, is done by one that works", async () => {
  const { key, accountId } = await serve.account({ creditCents: 1_000 });
  const received: string[] = [];
  const receiver = createServer((request, response) => {
    request.on("data", (chunk) => received.push(String(chunk)));
    request.on("end", () => response.end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  expect((await ask(key, "/api/v1/webhooks", { url })).status).toBe(201);

  // Alone it launches nothing, and calls still work.
  const refused = await ask(key, "/api/run/core/deep", {});
  expect([refused.status, refused.json.error]).toEqual([503, "jobs_unavailable"]);
  expect(await balance(accountId)).toEqual([1_000, 0]);
  const messages = [{ role: "user", content: "hello" }];
  expect((await callChat({ model: "core/cheap", max_tokens: 20, messages }, { url: serve.url, key })).status).toBe(200);

  const work = await start("work");
  const link = await openLink(redis.url);
  try {
    const launch = await ask(key, "/api/run/core/deep", {});
    expect(launch.status).toBe(200);
    const { job_id: jobId } = launch.json.data as { job_id: string };
    const view = await eventually(async () => {
      const { json } = await ask(key, "/api/run/core/result", { job_id: jobId });
      const data = json.data as { status: string };
      return data.status === "succeeded" ? data : undefined;
    }, "the job's end");
    expect(view).toMatchObject({ charged_cents: 3 });
    await eventually(() => received.find((body) => body.includes(jobId)), "the webhook of its end");
    const ended = /^tollgate_jobs_ended_total\{.*\} 1$/m;
    expect([await serve.metricsText(), await work.metricsText()].map((text) => ended.test(text))).toEqual([
      false,
      true,
    ]);
    expect(await serve.metricsText()).toMatch(/^tollgate_build_info\{.*role="serve"\} 1$/m);

    // A gateway that ends releases its leases: those it held are free now, and the earlier gateway holds none.
    const holders = async () => {
      const dispatcher = await redisRecords(link).get("teller", "teller");
      return { dispatcher: dispatcher?.value ?? null, exporter: await link.call("GET", EXPORTER) };
    };
    await eventually(
      async () => ((await holders()).dispatcher !== null && (await holders()).exporter !== null) || undefined,
      "leases",
    );
    await work.stop();
    expect(await holders()).toEqual({ dispatcher: null, exporter: null });
  } finally {
    await link.close();
    receiver.close();
    receiver.closeAllConnections();
  }

  // While a serving gateway is alive, even without a worker, commands that need exclusive books still refuse.
  const config = readConfig({ REDIS_URL: redis.url, ARCHIVE_URL: `file://${folder}/archive.db`, DATA_DIR: folder });
  const alone = () => withBooks({ config, use: "alone" }, async () => "done");
  await expect(alone()).rejects.toThrow("A gateway or another command is at work on this Redis");
  expect(await serve.doctor()).toEqual([]);
  await serve.stop();
  expect(await alone()).toBe("done");
});
