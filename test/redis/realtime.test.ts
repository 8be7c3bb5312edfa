// Realtime sessions of two gateways over one Redis: one balance, and no charge lost or doubled while Redis is away.
import { afterAll, beforeAll, expect, test } from "vitest";
import { folderForFile } from "../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { type Event, openRealtime, said, type TestSession } from "../support/realtime.ts";
import { REDIS_MS_MAX, type RedisServer, startRedis } from "../support/redis.ts";

const archive = `file://${folderForFile("tollgate-archive-")}/archive.db`;
/** Shorter than a test waits for an event. */
const REDIS_COMMAND_MS = "3000";

let redis: RedisServer;
let gateways: readonly [TestGateway, TestGateway];
beforeAll(async () => {
  redis = await startRedis();
  const start = () => startTestGateway({ REDIS_URL: redis.url, ARCHIVE_URL: archive, REDIS_COMMAND_MS });
  gateways = await Promise.all([start(), start()]);
}, REDIS_MS_MAX);
afterAll(async () => {
  for (const gateway of gateways) {
    expect(await gateway.doctor()).toEqual([]);
    await gateway.stop();
  }
  await redis.dispose();
});

const costOf = ({ response }: Event) => (response as { usage: { cost?: number } }).usage.cost;

function create(session: TestSession, say: string): void {
  session.send(said(say));
  session.send({ type: "response.create" });
}

async function charges({ key }: TestAccount): Promise<readonly number[]> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${gateways[1].url}/api/v1/transactions?limit=100`, { headers });
  const { transactions = [] } = (await answer.json()) as { transactions?: Event[] };
  return transactions.filter(({ kind }) => kind === "charge").map((one) => Number(one.charged_nano_usd) / 1e9);
}

const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);

test("sessions at both gateways share a balance, and together do not exceed it", async () => {
  const account = await gateways[0].account({ creditCents: 20 });
  const costs: number[] = [];
  const speak = async ({ url }: TestGateway) => {
    const session = await openRealtime({ url, key: account.key });
    for (let at = 0; ; at++) {
      create(session, `[[say: ${"word ".repeat(60)}]]`);
      const ends = () => session.heard.filter(({ type }) => type === "response.done" || type === "error")[at];
      const ended = await eventually(ends, "the response's end");
      if (ended.type === "error") return (ended.error as Event).code;
      costs.push(Number(costOf(ended)));
    }
  };
  expect(await Promise.all(gateways.map(speak))).toEqual(["insufficient_quota", "insufficient_quota"]);
  expect(sum(costs)).toBeLessThanOrEqual(0.2);
  const charged = await charges(account);
  expect(charged).toHaveLength(costs.length);
  expect(sum(charged)).toBeCloseTo(sum(costs), 8);
});

test("while Redis is away a response is refused with an error event, and what runs is charged once", async () => {
  const account = await gateways[0].account({ creditCents: 1_000 });
  const session = await openRealtime({ url: gateways[0].url, key: account.key });
  create(session, "[[say: one two three]]");
  await session.next("response.created");
  await session.next("response.done");
  create(session, "[[say: one two three four five six]] [[wait: 300]]");
  await session.next("response.created");
  await redis.kill();
  await session.next("response.done");
  create(session, "[[say: nobody hears this]]");
  expect((await session.next("error")).error).toMatchObject({ type: "server_error", code: "ledger_unavailable" });
  await redis.start();
  const again = await eventually(async () => {
    const before = session.heard.length;
    session.send({ type: "response.create" });
    const ends = () => session.heard.slice(before).find(({ type }) => type === "response.done" || type === "error");
    const ended = await eventually(ends, "the response's end");
    return ended.type === "response.done" ? ended : undefined;
  }, "a response after Redis is back");
  expect(costOf(again)).toBeGreaterThan(0);
  // The second response ended while Redis was away.
  await eventually(async () => ((await charges(account)).length === 3 ? true : undefined), "its charge");
  const held = async () => (await gateways[0].admin("GET", `/admin/v1/accounts/${account.accountId}`)).json.held_cents;
  await eventually(async () => ((await held()) === 0 ? true : undefined), "no hold to be left");
  expect(await charges(account)).toHaveLength(3);
});
