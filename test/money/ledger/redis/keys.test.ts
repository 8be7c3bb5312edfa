// Changes that people make to accounts and keys in Redis: acknowledged only when a failover cannot undo them, and no other change
// overwrites them.
import { describe, expect, it, onTestFinished } from "vitest";
import type { KeyRow } from "../../../../src/core/account-rows.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { nano } from "../../../../src/core/money.ts";
import type { Transition } from "../../../../src/money/ledger/redis/arguments.ts";
import { redisLedger } from "../../../../src/money/ledger/redis/ledger.ts";
import { CHANGED_CHANNEL } from "../../../../src/money/ledger/redis/rows.ts";
import type { LedgerLink } from "../../../../src/money/ledger/redis/script.ts";
import { openRedis } from "../../../../src/platform/storage/redis-link.ts";
import { eventually } from "../../../support/gateway.ts";
import { CENT, newAccount, newKey } from "../requests.ts";
import { cost, LEASE_MS, request, startReplicated, startSpooled } from "../spool/spooled.ts";

const OWN = "ada.key";
const refusal = (reason: RegExp) => ({
  code: "ledger_unavailable",
  options: { data: { reason: expect.stringMatching(reason) } },
});
const NOT_TAKEN = refusal(/It was done/);
const NOT_READY = refusal(/nothing was done/);
const OPEN = { paused: false, ceilingNano: null };

function boundsOf(keys: readonly KeyRow[]) {
  return Object.fromEntries(keys.map(({ keyId, paused, ceilingNano }) => [keyId, { paused, ceilingNano }]));
}

it("that an account's bounds have become strict is told to all processes, in the step that makes them so", async () => {
  const { other, redis } = await startSpooled();
  const link = await openRedis(redis.url, { onBroken: () => {}, commandMsMax: 5_000 });
  onTestFinished(() => link.close());
  const told: string[] = [];
  await link.subscribe(
    CHANGED_CHANNEL,
    (accountId) => told.push(accountId),
    () => {},
  );
  for (const id of ["one", "two", "three"]) {
    await other.reserve(request(`tx_${id}`, 1));
    const posted = await other.post(cost(`tx_${id}`, 4));
    expect("strict" in posted).toBe(id === "three");
  }
  await eventually(() => told[0], "word of the account");
  expect(told).toEqual(["ada"]);
});

it("neither a key's external id nor one of its fields is taken for a key", async () => {
  const { other } = await startSpooled();
  const bound = { ceilingNano: nano(CENT), ceilingPeriod: "day" } as const;
  await other.createKey("ada", newKey("agent", { externalId: "foo", ...bound }));
  await other.createKey("ada", newKey("second", { externalId: "foo:created" }));
  const listed = { [OWN]: OPEN, agent: { paused: false, ceilingNano: CENT }, second: OPEN };
  expect(boundsOf(await other.keys("ada"))).toEqual(listed);
  for (const keyId of ["external:foo", "agent:ceiling", "agent:created"]) {
    expect(await other.key("ada", keyId)).toBeNull();
    expect(await other.patchKey("ada", keyId, { paused: true })).toBeNull();
    expect(await other.rotateKey("ada", keyId, "new secret", "tg_sk_ne...ew")).toBeNull();
    expect(await other.deleteKey("ada", keyId)).toBe(false);
    expect(await other.accounts({ limit: 9, after: null, text: keyId })).toEqual([]);
  }
  expect(boundsOf(await other.keys("ada"))).toEqual(listed);
});

describe("with a replica", () => {
  it("a change is acknowledged when the replica has it, and nobody meets a revoked key after a failover", async () => {
    const { ledger, way, other, redis, replica, proxy } = await startReplicated();
    const agent = (keyId: string) => ledger.createKey("ada", newKey(keyId, { externalId: keyId }));
    for (const keyId of ["revoked", "paused", "bounded", "turned"]) expect(await agent(keyId)).toBe("created");
    const bound = { ceilingNano: nano(CENT), ceilingPeriod: "day" } as const;
    const changes = [
      () => ledger.patchKey("ada", "paused", { paused: true }),
      () => ledger.patchKey("ada", "bounded", bound),
      () => ledger.deleteKey("ada", "revoked"),
      () => ledger.patchAccount("ada", { frozen: true }),
    ];
    const refusedByAll = async () => {
      for (const change of changes) await expect(change()).rejects.toMatchObject(NOT_TAKEN);
    };
    way.blackHole();
    await refusedByAll();
    // They take effect at once all the same, and a repeat does not get an answer that a failover could undo.
    const changed = {
      [OWN]: OPEN,
      paused: { ...OPEN, paused: true },
      bounded: { ...OPEN, ceilingNano: CENT },
      turned: OPEN,
    };
    expect(boundsOf(await other.keys("ada"))).toEqual(changed);
    expect((await other.account("ada"))?.frozen).toBe(true);
    await refusedByAll();

    way.pass();
    way.cut();
    const told = () => ledger.patchKey("ada", "paused", { paused: true }).catch(() => undefined);
    expect(await eventually(told, "the replica to follow again")).toMatchObject({ paused: true });
    expect(await ledger.patchKey("ada", "bounded", bound)).toMatchObject(bound);
    expect(await ledger.deleteKey("ada", "revoked")).toBe(false);
    expect(await ledger.patchAccount("ada", { frozen: true })).toMatchObject({ frozen: true });
    expect(await ledger.rotateKey("ada", "turned", "new secret", "tg_sk_ne...ew")).toMatchObject({ keyId: "turned" });
    expect(await agent("late")).toBe("created");
    await redis.kill();
    await replica.send("REPLICAOF", "NO", "ONE");
    proxy.leadTo(replica.port);
    const after = () => ledger.keys("ada").catch(() => undefined);
    const keys = await eventually(after, "the replica to have taken over");
    expect(boundsOf(keys)).toEqual({ ...changed, late: OPEN });
    for (const hash of ["hash of revoked", "hash of turned"]) expect(await ledger.keyByHash(hash)).toBeNull();
    expect(await ledger.keyByHash("new secret")).toMatchObject({ keyId: "turned" });
    expect(await ledger.keyByHash("hash of late")).toMatchObject({ keyId: "late" });
    expect((await ledger.account("ada"))?.frozen).toBe(true);
  });

  it("while none follows, nothing is made whose secret nobody would be told", async () => {
    const { ledger, way, other } = await startReplicated();
    way.blackHole();
    await expect(ledger.openAccount(newAccount("eve", 5))).rejects.toMatchObject(NOT_READY);
    await expect(ledger.createKey("ada", newKey("agent", { externalId: "mine" }))).rejects.toMatchObject(NOT_READY);
    await expect(ledger.rotateKey("ada", OWN, "new secret", "tg_sk_ne...ew")).rejects.toMatchObject(NOT_READY);
    expect(await other.account("eve")).toBeNull();
    expect((await other.keys("ada")).map(({ keyId }) => keyId)).toEqual([OWN]);
    expect(await other.keyByHash(`hash of ${OWN}`)).toMatchObject({ keyId: OWN });
  });
});

/** The link of a process that runs `step` before one transition, once; `lost`: its first answer is lost, so it is sent again. */
function meddled(
  link: LedgerLink,
  transition: Transition,
  { step = () => Promise.resolve(), lost = false }: { step?: () => Promise<unknown>; lost?: boolean },
): LedgerLink {
  let done = false;
  return {
    ...link,
    script(name, lua, library) {
      const script = link.script(name, lua, library);
      if (name !== transition) return script;
      return {
        async run(keys, args) {
          if (!done) {
            done = true;
            await step();
            if (lost) await script.run(keys, args);
          }
          return script.run(keys, args);
        },
      };
    },
  };
}

describe("of two at a time", () => {
  it("a pause and a new ceiling both hold, whoever comes first", async () => {
    const { link, other } = await startSpooled();
    await other.createKey("ada", newKey("agent", { ceilingNano: nano(5 * CENT), ceilingPeriod: "day" }));
    const pausing = () => other.patchKey("ada", "agent", { paused: true });
    const slow = redisLedger({
      ...{ link: meddled(link, "write_key", { step: pausing }), clock: systemClock, leaseMs: LEASE_MS },
    });
    await slow.patchKey("ada", "agent", { ceilingNano: nano(CENT), ceilingPeriod: "day" });
    expect(await other.keys("ada")).toMatchObject([{}, { paused: true, ceilingNano: CENT }]);
  });

  it("a revocation whose first answer was lost has revoked the key", async () => {
    const { link, other } = await startSpooled();
    await other.createKey("ada", newKey("agent"));
    const cut = redisLedger({
      ...{ link: meddled(link, "delete_key", { lost: true }), clock: systemClock, leaseMs: LEASE_MS },
    });
    expect(await cut.deleteKey("ada", "agent")).toBe(true);
    expect(await cut.deleteKey("ada", "agent")).toBe(false);
  });
});
