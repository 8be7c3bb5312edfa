// A session over midnight: its client and vendor in process, real books, and a clock that the test moves.
import { join } from "node:path";
import { expect, test } from "vitest";
import { findRealtime } from "../../../src/catalog/find-model.ts";
import type { GatewayRequest } from "../../../src/core/endpoint.ts";
import { nano, nanoFromCents } from "../../../src/core/money.ts";
import { execute } from "../../../src/kernel/execute.ts";
import { LedgerFunds } from "../../../src/kernel/ledger-funds.ts";
import { realtime } from "../../../src/models/formats/realtime/stand-in.ts";
import type { RealtimeDeps } from "../../../src/models/realtime/deps.ts";
import { RealtimeSession } from "../../../src/models/realtime/session.ts";
import { sqliteLedger } from "../../../src/money/ledger/sqlite/ledger.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import type { VendorSocketOrder } from "../../../src/upstream/vendor-socket.ts";
import { newAccount, newKey } from "../../money/ledger/requests.ts";
import { openLedgerThread } from "../../money/ledger/store.ts";
import { folderForFile, forFile } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { type Event, said } from "../../support/realtime.ts";
import { CALLER, scriptedDeps } from "../../support/scripted-plan.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";

const MIDNIGHT_MS = Date.UTC(2026, 11, 1);
const CEILING_NANO = nanoFromCents(12);

const clock = manualClock(MIDNIGHT_MS - 60_000);
const ledger = forFile(sqliteLedger(await openLedgerThread(join(folderForFile("tollgate-voice-"), "t.db"), clock)));
const { accountId, keyId } = CALLER.payer;
const primaryKey = newKey(keyId, { ceilingNano: CEILING_NANO, ceilingPeriod: "day" });
await ledger.openAccount(newAccount(accountId, 1_000, { primaryKey }));
const catalog = await shippedCatalog();

/** The stand-in as the vendor, without a network: what either side sends arrives in the next turn. */
function vendorSocket(_: unknown, order: VendorSocketOrder) {
  const send = (text: string) => void setImmediate(() => order.message(Buffer.from(text)));
  const vendor = realtime.open({ send, cut() {}, counted() {} }, "gpt-realtime-2");
  return {
    send: (message: Uint8Array | string) => void setImmediate(() => vendor.message(String(message))),
    unsentBytes: 0,
    pause() {},
    resume() {},
    close: () => vendor.closed(),
  };
}

function openSession() {
  const heard: Event[] = [];
  let calls = 0;
  const deps = { ...scriptedDeps({ stores: { ledger, records: {} as Records }, lines: [], broken: [] }), clock };
  const caller = { ...CALLER, sandbox: true };
  const funds = new LedgerFunds(deps, caller, { requestId: "req_voice", rateLimit: { learn() {} } });
  const found = findRealtime("openai/gpt-realtime-2", { catalog, audience: caller, atMs: clock.epochMs() });
  const sold = { asked: found.name, name: found.name, models: found.models, tags: [] };
  const upstream = { health: deps.health, vendorSocket };
  const settings = { firstTokenMsMax: 60_000, lastFirstTokenMsMax: 60_000 };
  const more = { catalog: () => catalog, clock, upstream, settings, openMsMax: 3_600_000, idleMsMax: 3_600_000 };
  const session = new RealtimeSession(
    { id: "req_voice" } as GatewayRequest,
    {
      caller,
      grant: null,
      send: (message) => void heard.push(JSON.parse(Buffer.from(message).toString()) as Event),
      bufferedBytes: () => 0,
      close() {},
      pay(plan, reader) {
        const more = { payer: caller.payer, funds, parent: null, signal: null, deadlineMs: null, reader };
        return execute(plan, { id: `tx_${++calls}`, ...more }, deps);
      },
    },
    sold,
    more as unknown as RealtimeDeps,
  );
  const send = (event: Event) => session.message(Buffer.from(JSON.stringify(event)));
  const count = (type: string) => heard.filter((event) => event.type === type).length;
  return { session, heard, send, count };
}

test("a response counts for the day in which it was requested, and the new day has its own ceiling", async () => {
  const { session, heard, send, count } = openSession();
  const request = (say: string) => {
    send(said(say));
    send({ type: "response.create" });
  };
  const speak = async () => {
    const before = count("response.done");
    request(`[[say: ${"word ".repeat(100)}]] [[wait: 0]]`);
    await eventually(() => (count("response.done") + count("error") > before ? true : undefined), "the response");
  };
  const costNano = () =>
    heard
      .filter(({ type }) => type === "response.done")
      .map(({ response }) => nano(Math.round((response as { usage: { cost: number } }).usage.cost * 1e9)));
  const total = (costs: readonly number[]) => costs.reduce((sum, one) => sum + one, 0);
  const today = async () => (await ledger.keys(accountId))[0]?.periodSpentNano;

  for (let at = 0; at < 3; at++) await speak();
  request("[[say: one two three]] [[wait: 200]]");
  await eventually(() => (count("response.created") === 4 ? true : undefined), "the response's begin");
  clock.advance(120_000);
  await eventually(() => (count("response.done") === 4 ? true : undefined), "the response after midnight");
  const before = costNano();
  expect(await today()).toBe(0);
  while (total(costNano()) <= CEILING_NANO && count("error") === 0) await speak();
  const all = costNano();
  expect(await today()).toBe(total(all.slice(before.length)));
  expect(count("error")).toBe(0);
  session.gone();
  expect((await ledger.account(accountId))?.spentNano).toBe(total(all));
  expect((await ledger.doctor()).findings).toEqual([]);
});
