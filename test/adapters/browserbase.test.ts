// Prepaid browsers: what callers get and pay, and what happens to a browser whose time runs out or whose answer was lost.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { prepaidSessionCleanups } from "../../src/actions/run/prepaid-session-cleanups.ts";
import { PrepaidSessions } from "../../src/actions/run/prepaid-sessions.ts";
import type { ActionOffer } from "../../src/catalog/catalog.ts";
import { systemClock } from "../../src/core/clock.ts";
import { nanoFromCents } from "../../src/core/money.ts";
import type { AccountPayer } from "../../src/core/plan.ts";
import type { FinalPart } from "../../src/core/route.ts";
import { createWindows, UNPAID_SCOPE } from "../../src/kernel/windows.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import type { Ledger } from "../../src/money/ledger/model/ledger.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../src/money/ledger/sqlite/ledger.ts";
import { Cleanups } from "../../src/platform/records/cleanups.ts";
import type { Records } from "../../src/platform/records/records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../src/platform/storage/sqlite-thread.ts";
import { createUpstream } from "../../src/upstream/upstream.ts";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import { newAccount, newKey } from "../money/ledger/requests.ts";
import { startBrowserbase } from "../support/browserbase.ts";
import { forFile } from "../support/for-file.ts";
import type { TestAccount } from "../support/gateway.ts";
import { manualClock } from "../support/manual-clock.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const vendor = forFile(await startBrowserbase());
beforeEach(() => {
  vendor.sessions.clear();
  vendor.asked.length = 0;
  vendor.fault = null;
});

describe("through a gateway", () => {
  let gateway: AcmeGateway;
  let [ada, eve]: TestAccount[] = [];
  beforeAll(async () => {
    gateway = await startAcmeGateway({ BROWSERBASE_API_KEY: "bb-key", BROWSERBASE_BASE_URL: vendor.url });
    [ada, eve] = [await gateway.live(), await gateway.live()];
  });
  afterAll(() => gateway.stop());

  async function run(account: TestAccount | undefined, name: string, params: object = {}) {
    if (account === undefined) throw new Error("no account");
    const { status, json } = await gateway.run(account, `browserbase/${name}`, params);
    return { status, error: json.error, data: json.data as Record<string, unknown>, cents: json.charged_cents };
  }
  const nanoOf = async (account: TestAccount | undefined) => {
    if (account === undefined) throw new Error("no account");
    const all = await gateway.transactions(account);
    return all.reduce((sum, { charged_nano_usd }) => sum + Number(charged_nano_usd), 0);
  };

  it("is created for what was paid, extended, looked at and released; each minute is a fifth of a cent", async () => {
    const before = await nanoOf(ada);
    const made = await run(ada, "create_session", { estimatedMinutes: 3, proxies: { country: "DE" } });
    expect(made).toMatchObject({ status: 200, data: { paidMinutes: 3 } });
    const [sent] = vendor.asked;
    expect(sent?.body).toMatchObject({
      ...{ timeout: 21_600, keepAlive: true, browserSettings: { recordSession: false, logSession: false } },
      proxies: [{ type: "browserbase", geolocation: { country: "DE" } }],
      userMetadata: { tollgate: expect.stringMatching(/^tg-[0-9a-f]{24}$/) },
    });
    const { sessionId: session_id, connectUrl } = made.data;
    expect(connectUrl).toContain(String(session_id));
    expect(JSON.stringify(made.data)).not.toContain("bb-key");

    const longer = await run(ada, "extend_session", { session_id, estimatedMinutes: 4 });
    expect(Math.ceil(Number(longer.data.paidMinutes))).toBe(7);
    const told = await run(ada, "session_status", { session_id });
    expect(told).toMatchObject({ cents: 0, data: { alive: true, status: "RUNNING" } });
    expect(Math.ceil(Number(told.data.paidMinutes))).toBe(7);

    expect((await run(ada, "release_session", { session_id })).data).toMatchObject({ released: true, paidMinutes: 0 });
    expect(vendor.alive()).toEqual([]);
    expect((await run(ada, "release_session", { session_id })).status).toBe(200);
    // The vendor takes a while to end one.
    const session = vendor.sessions.get(String(session_id));
    if (session !== undefined) session.status = "RUNNING";
    const over = { status: "COMPLETED", alive: false, paidMinutes: 0 };
    expect((await run(ada, "session_status", { session_id })).data).toMatchObject(over);
    expect((await nanoOf(ada)) - before).toBe(14_000_000);
  });

  it("is nobody else's: 404 on every action, and the vendor is not asked", async () => {
    const { sessionId: session_id } = (await run(ada, "create_session")).data;
    const asked = vendor.asked.length;
    for (const name of ["extend_session", "session_status", "release_session"]) {
      expect((await run(eve, name, { session_id })).status).toBe(404);
    }
    expect(vendor.asked).toHaveLength(asked);
    expect(vendor.alive()).toEqual([session_id]);
  });

  it("is extended neither when it has ended nor beyond six hours, and that is free", async () => {
    const { sessionId: session_id } = (await run(ada, "create_session", { estimatedMinutes: 350 })).data;
    const before = await nanoOf(ada);
    expect(await run(ada, "extend_session", { session_id, estimatedMinutes: 11 })).toMatchObject({ status: 400 });
    const session = vendor.sessions.get(String(session_id));
    // The vendor ended it by itself: its client disconnected, or the browser crashed.
    if (session !== undefined) session.status = "COMPLETED";
    const ended = await run(ada, "extend_session", { session_id });
    expect(ended).toMatchObject({ status: 400, error: "upstream_rejected" });
    expect((await run(ada, "session_status", { session_id })).data).toMatchObject({ alive: false });
    await run(ada, "release_session", { session_id });
    expect(await run(ada, "extend_session", { session_id })).toMatchObject({ status: 400, error: "bad_request" });
    expect(await nanoOf(ada)).toBe(before);
  });

  it.each([
    [429, 409, "upstream_busy"],
    [402, 503, "upstream_not_configured"],
    [500, 500, "upstream_error"],
    ["drop after", 500, "upstream_error"],
  ] as const)("a create that the vendor ends with %s is free and %d", async (does, status, error) => {
    const before = await nanoOf(ada);
    vendor.fault = { method: "POST", does };
    expect(await run(ada, "create_session", { estimatedMinutes: 5 })).toMatchObject({ status, error, cents: 0 });
    expect(await nanoOf(ada)).toBe(before);
    expect(vendor.asked.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  it("is played by the sandbox", async () => {
    const play = await gateway.account();
    const made = await run(play, "create_session", { estimatedMinutes: 2 });
    expect(made.data).toMatchObject({ paidMinutes: 2, connectUrl: expect.stringMatching(/^wss:/) });
    const { sessionId: session_id } = made.data;
    expect((await run(play, "session_status", { session_id })).data).toMatchObject({
      sessionId: session_id,
      alive: true,
    });
    for (let times = 0; times < 2; times++) {
      const released = await run(play, "release_session", { session_id });
      expect(released).toMatchObject({ status: 200, cents: 0, data: { sessionId: session_id, released: true } });
      const { data } = await run(play, "session_status", { session_id });
      expect(data).toMatchObject({ status: "COMPLETED", alive: false, paidMinutes: 0 });
    }
    expect((await run(play, "extend_session", { session_id })).status).toBe(400);
  });

  it("leaves the books in order, and no address of a browser in the log", async () => {
    expect(await gateway.doctor()).toEqual([]);
    expect(gateway.lines().join()).not.toContain("connect.invalid");
  });
});

describe("when its time is over", () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-browsers-"));
  const clock = manualClock(Date.UTC(2026, 10, 22, 12));
  const payer: AccountPayer = { id: "acct:ada", accountId: "ada", keyId: "ada.key", sandbox: false };
  const unpaid: number[] = [];
  const windows = createWindows(nanoFromCents(200));
  const upstream = createUpstream(systemClock, { dialects: DIALECTS });
  const broken: string[] = [];
  let records: Records;
  let ledger: Ledger;
  let offers: (name: string) => ActionOffer;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const env = { BROWSERBASE_API_KEY: "bb-key", BROWSERBASE_BASE_URL: vendor.url };
    const catalog = await shippedCatalog({ env });
    offers = (name) => {
      const offer = catalog.action(`browserbase/${name}`, payer)?.offers[0];
      if (offer === undefined) throw new Error(`there is no ${name}`);
      return offer;
    };
    const thread = await openSqliteThread({
      file: join(folder, "tollgate.db"),
      units: { ledger: LEDGER_UNIT, records: RECORDS_UNIT },
      sharing: "readers",
      clock,
      disk: { freeBytesMin: 0, ballastBytes: 0 },
      onFatal: (error) => broken.push(String(error)),
    });
    records = sqliteRecords(thread);
    ledger = sqliteLedger(thread);
    await ledger.openAccount(newAccount(payer.accountId, 100));
    enders = () => {
      const onBroken = (error: unknown) => broken.push(String(error));
      const times = prepaidSessionCleanups({
        ...{ records, clock, upstream, catalog: () => catalog, ledger, owner: "here" },
        windows,
        observer: { unpaid: (_, upstreamNano) => unpaid.push(upstreamNano) },
        onBroken,
      });
      return new Cleanups({ records, clock, onBroken }, [times]);
    };
    close = () => thread.close();
  });
  afterAll(async () => {
    await upstream.close();
    await close();
    removeFolder(folder);
  });
  beforeEach(() => {
    broken.length = 0;
    unpaid.length = 0;
  });

  /** A gateway just started on the stored state. */
  let enders: () => Cleanups;
  let calls = 0;

  /** One attempt at an action; undefined if it failed. */
  function ask(
    name: string,
    params: Record<string, unknown>,
    from = payer,
  ): Promise<Record<string, unknown> | undefined> {
    const callId = `tx_${++calls}`;
    const offer = offers(name);
    const around = new PrepaidSessions({ records, clock, ledger, windows }).around(offer, params, {
      payer: from,
      callId,
    });
    const order = { soldId: offer.id, params, row: null, requestId: callId, callId, around };
    const candidate = upstream.actionCandidate(offer, { ...order, restore: (j) => j, preamble: null, sandbox: null });
    return new Promise((resolve) => {
      const done = (final: FinalPart) => resolve(final.kind === "body" ? JSON.parse(String(final.body.json)) : {});
      candidate.open({ content() {}, done, failed: () => resolve(undefined) }, 5_000);
    });
  }
  const create = (estimatedMinutes: number) => ask("create_session", { estimatedMinutes, keepAlive: true });
  const minutes = (count: number) => clock.advance(count * 60_000);

  it("is ended by us, by whichever process looks first, and the vendor is told once", async () => {
    await create(2);
    const [one, other] = [enders(), enders()];
    minutes(1.9);
    await Promise.all([one.look(true), other.look(true)]);
    expect(vendor.alive()).toHaveLength(1);
    minutes(0.2);
    vendor.asked.length = 0;
    await Promise.all([one.look(false), other.look(false)]);
    expect(vendor.alive()).toEqual([]);
    expect(vendor.asked.map(({ method }) => method)).toEqual(["GET", "POST"]);
    await one.look(true);
    expect(vendor.asked).toHaveLength(2);
    expect(broken).toEqual([]);
  });

  it("is ended after a restart, however long that took; one that was extended goes on", async () => {
    const [brief, long] = [await create(1), await create(1)];
    expect(await ask("extend_session", { session_id: long?.sessionId, estimatedMinutes: 300 })).toBeDefined();
    minutes(240);
    await enders().look(true);
    expect(vendor.alive()).toEqual([long?.sessionId]);
    expect(vendor.sessions.get(String(brief?.sessionId))?.status).toBe("COMPLETED");
    minutes(61);
    await enders().look(true);
    expect(vendor.alive()).toEqual([]);
  });

  it("two who extend at once both get their minutes; who extends what is being ended gets none", async () => {
    const made = await create(10);
    const session_id = made?.sessionId;
    const answers = await Promise.all([1, 2, 3].map(() => ask("extend_session", { session_id, estimatedMinutes: 5 })));
    expect(answers.every((answer) => answer !== undefined)).toBe(true);
    minutes(24.9);
    await enders().look(true);
    expect(vendor.alive()).toHaveLength(1);
    minutes(0.2);
    const refused = ask("extend_session", { session_id, estimatedMinutes: 5 });
    await enders().look(true);
    expect(await refused).toBeUndefined();
    expect(vendor.alive()).toEqual([]);
  });

  it.each(["drop after", "hang"] as const)("a browser whose answer was lost (%s) is found and ended", async (does) => {
    const other = await create(60);
    vendor.fault = { method: "POST", does };
    const lost = create(60);
    if (does === "hang") await expect.poll(() => vendor.sessions.size).toBe(2);
    else expect(await lost).toBeUndefined();
    expect(vendor.alive()).toHaveLength(2);
    minutes(1);
    await enders().look(true);
    expect(vendor.alive()).toHaveLength(2);
    minutes(1);
    await enders().look(true);
    expect(vendor.alive()).toEqual([other?.sessionId]);
    minutes(60);
    await enders().look(true);
  });

  it("a vendor that is away is told again until it says that the browser has ended", async () => {
    await create(1);
    minutes(1.1);
    const ender = enders();
    for (const does of [500, "drop before"] as const) {
      vendor.fault = { method: "GET", does };
      await ender.look(false);
      expect(broken.splice(0)).toHaveLength(1);
      await ender.look(false);
      expect(vendor.alive()).toHaveLength(1);
      minutes(0.6);
    }
    await ender.look(false);
    expect([vendor.alive(), broken]).toEqual([[], []]);
  });

  describe("where it goes through proxies", () => {
    const GIGABYTE = 1e9;
    const cents = (nano: number) => nano / 10_000_000;
    const unpaidCents = async () => cents((await ledger.spentToday("ada", [UNPAID_SCOPE]))[0] ?? 0);
    /** A session without traffic so far. */
    async function proxied(estimatedMinutes: number, from = payer): Promise<Record<string, unknown>> {
      const params = { estimatedMinutes, proxies: { country: "DE" } };
      const { sessionId } = (await ask("create_session", params, from)) ?? {};
      const session = vendor.sessions.get(String(sessionId));
      if (session === undefined) throw new Error("no session");
      return session;
    }
    /** A session with a step of 60 cents that a process left pending when it died. */
    async function interrupted(): Promise<Record<string, unknown>> {
      const session = await proxied(10);
      session.proxyBytes = 0.05 * GIGABYTE;
      minutes(1.1);
      const { void: whole } = ledger;
      ledger = { ...ledger, void: () => Promise.reject(new Error("it died")) };
      await enders().look(true);
      expect(broken.splice(0)).toHaveLength(1);
      ledger = { ...ledger, void: whole };
      return session;
    }
    /** Each test gets its own day, so that earlier counts do not limit it, and earlier sessions have ended. */
    beforeEach(async () => {
      minutes(6 * 60);
      await enders().look(true);
      minutes(18 * 60);
    });

    it("what they carry is unpaid cost of its account, counted each minute, once", async () => {
      const session = await proxied(10);
      session.proxyBytes = 0.05 * GIGABYTE;
      minutes(1.1);
      const [one, other] = [enders(), enders()];
      await Promise.all([one.look(true), other.look(true)]);
      expect(await unpaidCents()).toBe(60);
      minutes(1);
      await one.look(false);
      expect(await unpaidCents()).toBe(60);
      session.proxyBytes = 0.06 * GIGABYTE;
      minutes(1);
      await Promise.all([other.look(false), one.look(false)]);
      await other.look(false);
      expect(await unpaidCents()).toBe(72);
      expect(unpaid.map(cents)).toEqual([60, 12]);
      expect(broken).toEqual([]);
    });

    it("what they carried last is counted once it has ended", async () => {
      const session = await proxied(1);
      minutes(1.1);
      await enders().look(true);
      expect(vendor.alive()).toEqual([]);
      session.proxyBytes = 0.01 * GIGABYTE;
      minutes(1);
      await enders().look(false);
      expect(await unpaidCents()).toBe(12);
      vendor.asked.length = 0;
      minutes(5);
      await enders().look(true);
      expect(vendor.asked).toEqual([]);
    });

    it("it is counted where its caller has ended it", async () => {
      const session = await proxied(60);
      session.proxyBytes = 0.02 * GIGABYTE;
      await ask("release_session", { session_id: session.id });
      minutes(1.1);
      await enders().look(true);
      expect(await unpaidCents()).toBe(24);
    });

    it("it is ended where its account may cost us no more today, however many minutes are paid", async () => {
      const session = await proxied(300);
      session.proxyBytes = GIGABYTE;
      minutes(1.1);
      const ender = enders();
      await ender.look(true);
      expect(vendor.alive()).toHaveLength(1);
      session.proxyBytes = 1.1 * GIGABYTE;
      minutes(1);
      await ender.look(false);
      minutes(0.1);
      await ender.look(false);
      expect(vendor.alive()).toEqual([]);
      expect(await unpaidCents()).toBe(1_320);
    });

    it("a process that dies between what it keeps and what it counts leaves it to the next, who counts it once", async () => {
      await interrupted();
      minutes(1);
      await enders().look(true);
      minutes(1);
      await enders().look(true);
      expect(await unpaidCents()).toBe(60);
      expect(await ledger.doctor()).toMatchObject({ findings: [] });
    });

    it.each([
      ["the rest is counted with it", 72],
      ["it alone is counted where the vendor no longer knows the session", 60],
    ])("a step that a dead process left pending: once the session has ended, %s", async (_, counted) => {
      const session = await interrupted();
      await ask("release_session", { session_id: session.id });
      if (counted === 72) session.proxyBytes = 0.06 * GIGABYTE;
      else vendor.sessions.clear();
      for (let times = 0; times < 3; times++) {
        minutes(1);
        await enders().look(true);
      }
      expect(await unpaidCents()).toBe(counted);
      expect(unpaid.map(cents)).toEqual(counted === 72 ? [60, 12] : [60]);
      expect(await ledger.doctor()).toMatchObject({ findings: [] });
    });

    it("it is counted where its key was revoked meanwhile", async () => {
      await ledger.createKey("ada", newKey("ada.agent"));
      const session = await proxied(5, { ...payer, keyId: "ada.agent" });
      await ledger.deleteKey("ada", "ada.agent");
      session.proxyBytes = 0.01 * GIGABYTE;
      minutes(1.1);
      await enders().look(true);
      expect(await unpaidCents()).toBe(12);
    });

    it("ten run at once and no eleventh; one that has ended, or whose answer was lost, gives its place back", async () => {
      const first = await proxied(60);
      for (let at = 0; at < 8; at++) await proxied(60);
      vendor.fault = { method: "POST", does: "drop after" };
      const again = { estimatedMinutes: 60, proxies: { country: "DE" } };
      expect(await ask("create_session", again)).toBeUndefined();
      const asked = vendor.asked.length;
      expect(await ask("create_session", again)).toBeUndefined();
      expect(vendor.asked).toHaveLength(asked);
      await ask("release_session", { session_id: first.id });
      expect(await ask("create_session", again)).toBeDefined();
      expect(await ask("create_session", again)).toBeUndefined();
      minutes(2);
      await enders().look(true);
      expect(await ask("create_session", again)).toBeDefined();
      minutes(61);
      await enders().look(true);
      expect(await ledger.totals()).toMatchObject({ holdsOpen: 0 });
    });

    it("a vendor that is away is asked again for what it has taken, for an hour after the end", async () => {
      const session = await proxied(1);
      minutes(1.1);
      const ender = enders();
      await ender.look(true);
      session.proxyBytes = 0.01 * GIGABYTE;
      vendor.fault = { method: "GET", does: 500 };
      minutes(1);
      await ender.look(false);
      expect(await unpaidCents()).toBe(0);
      minutes(1);
      await ender.look(false);
      expect(await unpaidCents()).toBe(12);
    });
  });

  it("one that the vendor does not know any more is over", async () => {
    await create(1);
    vendor.sessions.clear();
    minutes(1.1);
    const ender = enders();
    await ender.look(true);
    expect(broken).toEqual([]);
    vendor.asked.length = 0;
    minutes(1);
    await ender.look(true);
    expect(vendor.asked).toEqual([]);
  });
});
