// The contract of credit, transactions and keys, for every ledger: a part of `ledgerContract`.
import { expect, test } from "vitest";
import type { KeyPatch } from "../../../../src/core/account-rows.ts";
import { nano } from "../../../../src/core/money.ts";
import { CENT, charge, holdRequest, newKey, postRequest } from "../requests.ts";
import type { Stage } from "./stage.ts";

export function booksContract(stage: Stage): void {
  const { account } = stage;
  test("credit is added once for each reference, and never more than can be counted", async () => {
    const to = await account(10);
    const { ledger } = stage.store;
    const twice = [1, 2].map((id) => ledger.topUp(to.accountId, `${to.accountId}.t${id}`, nano(5 * CENT), "invoice 1"));
    expect(await Promise.all(twice)).toEqual([
      { outcome: "credited", balanceNano: 15 * CENT },
      { outcome: "exists", balanceNano: 15 * CENT },
    ]);
    expect(await ledger.topUp(to.accountId, "t3", nano(9e15), "invoice 2")).toEqual({ outcome: "too_much" });
    expect(await ledger.topUp("nobody", "t4", nano(1), "invoice 3")).toEqual({ outcome: "unknown_account" });
  });

  test("a charge is given back once, as credit: what was spent stays spent", async () => {
    const to = await account(10);
    const { ledger } = stage.store;
    await charge(ledger, to.hold("a", 4));
    const id = to.hold("a", 0).holdId;
    const refund = { outcome: "refunded", refundId: `${id}.r1`, amountNano: 4 * CENT };
    expect(await ledger.refund(id, `${id}.r1`, "wrong answer")).toEqual(refund);
    expect(await ledger.refund(id, `${id}.r2`, "wrong answer")).toEqual({ ...refund, outcome: "exists" });
    expect(await ledger.refund(`${id}.r1`, "r3", "a refund")).toEqual({ outcome: "unknown_transaction" });
    expect(await ledger.account(to.accountId)).toMatchObject({ grantedNano: 14 * CENT, spentNano: 4 * CENT });
    expect(await ledger.transaction(null, `${id}.r1`)).toMatchObject({
      ...{ kind: "refund", amountNano: 4 * CENT, chargedCents: 0, reference: id, reason: "wrong answer" },
    });
  });

  test("transactions are listed newest first, by account and by key, page by page", async () => {
    const to = await account(100);
    const { ledger } = stage.store;
    const { accountId } = to;
    const second = `${accountId}.second`;
    await ledger.createKey(accountId, newKey(second));
    for (let at = 0; at < 7; at++) {
      const hold = to.hold(at, 1);
      await ledger.reserve(holdRequest(hold, at % 3 === 0 ? { keyId: second } : {}));
      await ledger.post(postRequest(hold));
    }
    const list = async (keyId: string | null, limit: number) => {
      const ids: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await ledger.transactions({ accountId, keyId, limit, cursor });
        expect(page.rows.length).toBeLessThanOrEqual(limit);
        ids.push(...page.rows.map((row) => row.transactionId.slice(accountId.length + 1)));
        cursor = page.next;
      } while (cursor !== null);
      return ids;
    };
    expect(await list(second, 2)).toEqual(["6", "3", "0"]);
    expect(await list(to.keyId, 3)).toEqual(["5", "4", "2", "1"]);
    expect((await list(null, 3)).slice(0, 7)).toEqual(["6", "5", "4", "3", "2", "1", "0"]);
    const stranger = await account(1);
    const foreign = { accountId: stranger.accountId, keyId: null, limit: 5 };
    const page = await ledger.transactions({ accountId, keyId: null, limit: 1, cursor: null });
    expect((await ledger.transactions({ ...foreign, cursor: page.next })).rows).toEqual([]);
    expect((await ledger.transactions({ ...foreign, cursor: "nonsense" })).rows).toEqual([]);
    expect(await ledger.transaction(stranger.accountId, to.hold(0, 0).holdId)).toBeNull();
  });

  test("keys are made, found by their secret, changed, rotated and revoked", async () => {
    const to = await account(10);
    const { ledger } = stage.store;
    const { accountId } = to;
    const wish = newKey(`${accountId}.agent`, { externalId: "agent-1", label: "agent" });
    expect(await ledger.createKey(accountId, wish)).toBe("created");
    expect(await ledger.createKey(accountId, newKey("other", { externalId: "agent-1" }))).toBe("external_id_taken");
    expect(await ledger.createKey("nobody", newKey("x"))).toBe("unknown_account");
    const row = { keyId: wish.keyId, accountId, primary: false, label: "agent", externalId: "agent-1", paused: false };
    expect(await ledger.keyByHash(wish.secretHash)).toMatchObject({ ...row, lastUsedAtMs: null });
    const free = { services: null, models: null, expiresAtMs: null };
    expect(await ledger.keyByHash(wish.secretHash)).toMatchObject(free);
    await ledger.patchKey(accountId, wish.keyId, { paused: true });
    const held = await ledger.reserve(holdRequest(to.hold("a", 1), { keyId: wish.keyId }));
    expect(held).toEqual({ outcome: "paused" });
    await ledger.patchKey(accountId, wish.keyId, { paused: false });
    await ledger.reserve(holdRequest(to.hold("b", 1), { keyId: wish.keyId }));
    expect((await ledger.keyByHash(wish.secretHash))?.lastUsedAtMs).toBe(stage.store.clock.epochMs());
    const turned = await ledger.rotateKey(accountId, wish.keyId, "new secret", "tg_sk_ne...ew");
    expect(turned?.formerHash).toBe(wish.secretHash);
    expect(await ledger.keyByHash(wish.secretHash)).toBeNull();
    expect(await ledger.keyByHash("new secret")).toMatchObject({ keyId: wish.keyId, hint: "tg_sk_ne...ew" });
    expect(await ledger.deleteKey(accountId, to.keyId)).toBe(false);
    expect(await ledger.deleteKey(accountId, wish.keyId)).toBe(true);
    expect(await ledger.keyByHash("new secret")).toBeNull();
    expect(await ledger.post(postRequest(to.hold("b", 1)))).toMatchObject({ outcome: "posted" });
    expect(await ledger.createKey(accountId, newKey("heir", { externalId: "agent-1" }))).toBe("created");
    expect((await ledger.keys(accountId)).map((key) => key.keyId).sort()).toEqual([to.keyId, "heir"].sort());
  });

  test("a hold says whether its key and its account may still pay, without changing anything", async () => {
    const to = await account(10);
    const { accountId } = to;
    const { ledger } = stage.store;
    const keyId = `${accountId}.agent`;
    await ledger.createKey(accountId, newKey(keyId));
    await ledger.reserve(holdRequest(to.hold("a", 1), { keyId }));
    const hold = { accountId, holdId: to.hold("a", 1).holdId };
    const before = await ledger.account(accountId);
    const said = [await ledger.standing(hold)];
    await ledger.patchKey(accountId, keyId, { paused: true });
    said.push(await ledger.standing(hold));
    await ledger.patchKey(accountId, keyId, { paused: false });
    await ledger.patchAccount(accountId, { frozen: true });
    said.push(await ledger.standing(hold));
    await ledger.patchAccount(accountId, { frozen: false });
    said.push(await ledger.standing(hold));
    expect(await ledger.account(accountId)).toEqual(before);
    await ledger.deleteKey(accountId, keyId);
    said.push(await ledger.standing(hold), await ledger.standing({ accountId: "nobody", holdId: hold.holdId }));
    await ledger.void(hold, "over");
    said.push(await ledger.standing(hold));
    expect(said).toEqual(["good", "paused", "frozen", "good", "unknown_key", "gone", "gone"]);
  });

  test("changes of one key at the same time do not undo each other", async () => {
    const to = await account(10);
    const { accountId } = to;
    const keyId = `${accountId}.agent`;
    const { ledger } = stage.store;
    await ledger.createKey(accountId, newKey(keyId));
    const changes: readonly KeyPatch[] = [
      { paused: true },
      { ceilingNano: nano(5 * CENT), ceilingPeriod: "week" },
      { label: "renamed" },
      { services: ["files"] },
    ];
    await Promise.all([
      ...changes.map((change) => ledger.patchKey(accountId, keyId, change)),
      ledger.rotateKey(accountId, keyId, `new secret of ${keyId}`, "tg_sk_ne...ew"),
    ]);
    const expected = { ...Object.assign({}, ...changes), hint: "tg_sk_ne...ew" };
    expect(await ledger.keyByHash(`new secret of ${keyId}`)).toMatchObject(expected);
  });

  test("a key is rotated by many at once: one secret is left, and nobody is refused", async () => {
    const { accountId } = await account(10);
    const keyId = `${accountId}.agent`;
    const { ledger } = stage.store;
    await ledger.createKey(accountId, newKey(keyId));
    const secrets = Array.from({ length: 20 }, (_, at) => `secret ${at} of ${keyId}`);
    await Promise.all(secrets.map((secret) => ledger.rotateKey(accountId, keyId, secret, "tg_sk_ne...ew")));
    const left = await Promise.all(secrets.map((secret) => ledger.keyByHash(secret)));
    expect(left.filter((row) => row !== null)).toHaveLength(1);
  });

  test("what a key may call, and until when, is kept as it was said", async () => {
    const to = await account(10);
    const { accountId } = to;
    const keyId = `${accountId}.agent`;
    const limits = { services: ["files", "exa/search"], models: ["core/cheap"], expiresAtMs: 1_900_000_000_000 };
    await stage.store.ledger.createKey(accountId, newKey(keyId, limits));
    const seen = async () => (await stage.store.ledger.keys(accountId)).find((key) => key.keyId === keyId);
    expect(await seen()).toMatchObject(limits);
    await stage.store.ledger.patchKey(accountId, keyId, { services: [], expiresAtMs: null });
    const changed = { services: [], models: ["core/cheap"], expiresAtMs: null };
    expect(await seen()).toMatchObject(changed);
    await stage.store.ledger.rotateKey(accountId, keyId, `new secret of ${keyId}`, "tg_sk_ne...ew");
    expect(await seen()).toMatchObject(changed);
    await stage.store.reopen();
    expect(await seen()).toMatchObject(changed);
    expect(await stage.store.ledger.keyByHash(`new secret of ${keyId}`)).toEqual(await seen());
  });
}
