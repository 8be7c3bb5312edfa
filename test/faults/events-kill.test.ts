// An event whose sender dies at every single store operation, from the transaction that causes it to the delivered message: delivered at
// least once, always under one id, over both stores; and a gateway that is killed in between.
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openStores, type Stores } from "../../src/gateway/stores.ts";
import { EventDispatcher, type EventDispatcherDeps } from "../../src/money/events/event-dispatcher.ts";
import { createEventLog } from "../../src/money/events/event-log.ts";
import { createWebhooks } from "../../src/money/events/webhooks.ts";
import { readConfig } from "../../src/platform/config.ts";
import { holdRequest, newAccount, newKey } from "../money/ledger/requests.ts";
import { folderForTest } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { spawnGateway } from "../support/gateway-process.ts";
import { manualClock } from "../support/manual-clock.ts";
import { type MortalStores, mortalStores } from "../support/mortal-stores.ts";
import { REDIS_MS_MAX, startRedis } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

const ACCOUNT = "acct";
const TICK_MS = 2;
/** Longer than the first pause after a failure. */
const LATER_MS = 6_000;

/** Receives messages; answers 500 to the first one of each event, so that the sender stores it again. */
async function receiver(failsFirst: boolean) {
  const times = new Map<string, number>();
  const listeners = new Set<() => void>();
  const server = createServer((request, response) => {
    request.resume();
    const id = String(request.headers["webhook-id"]);
    times.set(id, (times.get(id) ?? 0) + 1);
    for (const listen of listeners) listen();
    response.on("error", () => {});
    response.writeHead(failsFirst && times.get(id) === 1 ? 500 : 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, times, listeners };
}

const send: EventDispatcherDeps["send"] = async (url, headers, body) => {
  const response = await fetch(url, { method: "POST", headers, body });
  return response.ok ? null : `it answered ${response.status}`;
};

async function everyStep(stores: Stores): Promise<number> {
  const clock = manualClock(Date.now());
  const hears = await receiver(true);
  await stores.ledger.openAccount(newAccount(ACCOUNT, 1_000_000));
  await createWebhooks(stores.records, clock).create(`acct:${ACCOUNT}`, hears.url, null);
  const dispatcherOver = ({ ledger, records, shared }: Pick<MortalStores, "ledger" | "records" | "shared">) => {
    const [log, webhooks] = [createEventLog(records, clock), createWebhooks(records, clock)];
    const onBroken = (error: unknown) => console.error(error);
    const own = { tickMs: TICK_MS, notice: async () => {}, onBroken };
    return { log, dispatcher: new EventDispatcher({ ...own, shared, ledger, log, webhooks, records, clock, send }) };
  };
  const { log } = dispatcherOver(stores);
  let caused = 0;
  /** One event from the ledger, in the transaction of a hold; one from a part that stores its state in the records. */
  const cause = async (name: string) => {
    caused += 2;
    await stores.ledger.createKey(ACCOUNT, newKey(name));
    const hold = { accountId: ACCOUNT, holdId: name, cents: 1, nowMs: Date.now() };
    expect((await stores.ledger.reserve(holdRequest(hold, { keyId: name }))).outcome).toBe("held");
    await log.tell({ kind: "job.ended", accountId: ACCOUNT, data: { job_id: name } }, name);
  };
  /** Over Redis a dead process's lease ends after a while. */
  const leaseEnds = () => stores.records.delete("teller", "teller");

  const whole = mortalStores(stores);
  await cause("undisturbed");
  const first = dispatcherOver(whole);
  first.dispatcher.start();
  const isTold = (of: number) => () => {
    clock.advance(LATER_MS);
    return hears.times.size === of && [...hears.times.values()].every((times) => times >= 2) ? true : undefined;
  };
  await eventually(isTold(caused), "what is undisturbed");
  await first.dispatcher.stop();
  const steps = whole.operations();
  let deaths = 0;
  for (let at = 1; at <= steps; at++) {
    for (const when of ["before", "after"] as const) {
      const mortal = mortalStores(stores, at, when);
      await cause(`${at}${when}`);
      dispatcherOver(mortal).dispatcher.start();
      await mortal.died;
      clock.advance(LATER_MS);
      await leaseEnds();
      deaths += 1;
    }
  }
  const last = dispatcherOver(stores);
  last.dispatcher.start();
  await eventually(isTold(caused), "all that was left");
  await last.dispatcher.stop();
  const listed = new Set<string>();
  for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
    const page = await log.page(`acct:${ACCOUNT}`, 100, cursor);
    for (const { id } of page.events) {
      expect(listed.has(id)).toBe(false);
      listed.add(id);
    }
    cursor = page.next;
  }
  expect(listed).toEqual(new Set(hears.times.keys()));
  expect(listed.size).toBe(caused);
  expect(await stores.ledger.events(10)).toEqual([]);
  return deaths;
}

async function opened(redisUrl: string | null): Promise<Stores> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-events-kill-"));
  const environment = { DATA_DIR: folder, ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }) };
  const stores = await openStores(readConfig(environment), {
    onFatal(error) {
      throw error;
    },
  });
  onTestFinished(async () => {
    await stores.close();
    removeFolder(folder);
  });
  return stores;
}

it("over the embedded store", async () => {
  expect(await everyStep(await opened(null))).toBeGreaterThan(30);
});

it("over Redis", { timeout: 600_000 + REDIS_MS_MAX }, async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.dispose());
  expect(await everyStep(await opened(redis.url))).toBeGreaterThan(30);
});

it("a gateway that is killed when its message has come sends it once more under the same id, and lists it once", async () => {
  const DATA_DIR = folderForTest("tollgate-events-kill-");
  const settings = { DATA_DIR, WEBHOOKS_PRIVATE: "1" };
  const hears = await receiver(false);
  let gateway = await spawnGateway(settings);
  const account = await gateway.admin("POST", "/admin/v1/accounts", { name: "a", kind: "sandbox", credit_cents: 100 });
  const headers = { authorization: `Bearer ${account.api_key}`, "content-type": "application/json" };
  const post = (path: string, body: object) =>
    fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  expect((await post("/api/v1/webhooks", { url: hears.url, kinds: ["key.first_use"] })).status).toBe(201);
  const killed = new Promise<void>((resolve) => hears.listeners.add(() => resolve(gateway.kill())));
  const messages = [{ role: "user", content: "Hello" }];
  expect((await post("/api/llm/v1/chat/completions", { model: "sandbox/ok", messages })).status).toBe(200);
  await killed;
  hears.listeners.clear();
  gateway = await spawnGateway(settings);
  const [id = ""] = hears.times.keys();
  await eventually(() => ((hears.times.get(id) ?? 0) >= 2 ? true : undefined), "the message once more");
  expect(hears.times.size).toBe(1);
  const { events } = (await (await fetch(`${gateway.url}/api/v1/events`, { headers })).json()) as {
    events: { id: string; kind: string }[];
  };
  expect(events.filter(({ kind }) => kind === "key.first_use").map((event) => event.id)).toEqual([id]);
  await gateway.kill();
});
