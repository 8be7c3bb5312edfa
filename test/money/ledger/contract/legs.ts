// The contract of a posting's parts, for every ledger: a part of `ledgerContract`.
import { expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import { holdRequest, legOf, postRequest } from "../requests.ts";
import type { Stage } from "./stage.ts";

export function legsContract(stage: Stage): void {
  test("a posting keeps its legs, which lists leave out, and says them after opening again", async () => {
    const to = await stage.account(100);
    const legs = [
      legOf({ vendor: "first", ok: false, ms: 1_200, reason: "provider", upstreamNano: nano(3) }),
      legOf({ vendor: "second é", model: "some/action", upstreamNano: nano(4) }),
    ];
    for (const id of ["with", "without"]) await stage.store.ledger.reserve(holdRequest(to.hold(id, 1)));
    await stage.store.ledger.post(postRequest(to.hold("with", 1), { legs }));
    await stage.store.ledger.post(postRequest(to.hold("without", 1)));
    const ledger = await stage.store.reopen();
    expect(await ledger.transaction(to.accountId, to.hold("with", 0).holdId)).toMatchObject({ upstreamNano: 7, legs });
    const tags = ["team=red", `user=${to.accountId}`];
    expect((await ledger.transaction(to.accountId, to.hold("with", 0).holdId))?.tags).toEqual(tags);
    expect((await ledger.transaction(null, to.hold("with", 0).holdId))?.legs).toEqual(legs);
    expect((await ledger.transaction(to.accountId, to.hold("without", 0).holdId))?.legs).toEqual([]);
    const { rows } = await ledger.transactions({ accountId: to.accountId, keyId: null, limit: 9, cursor: null });
    expect(rows.map((row) => row.legs)).toEqual([[], [], []]);
    expect(rows.map((row) => row.tags)).toEqual([tags, tags, []]);
    expect((await ledger.doctor()).findings).toEqual([]);
  });

  test("work of our own is a leg that costs nothing, alone and beside a vendor's", async () => {
    const to = await stage.account(100);
    const own = { vendor: "tollgate", model: "direct/fetch", upstreamNano: nano(0) };
    const legs = [legOf(own), legOf({ ...own, ok: false, reason: "caller_unsupported" })];
    const all = [...legs, legOf({})];
    for (const id of ["alone", "beside"]) await stage.store.ledger.reserve(holdRequest(to.hold(id, 1)));
    await stage.store.ledger.post(postRequest(to.hold("alone", 1), { legs, upstreamNano: nano(0) }));
    await stage.store.ledger.post(postRequest(to.hold("beside", 1), { legs: all }));
    const ledger = await stage.store.reopen();
    const kept = async (id: string) => ledger.transaction(to.accountId, to.hold(id, 0).holdId);
    expect(await kept("alone")).toMatchObject({ upstreamNano: 0, legs });
    expect(await kept("beside")).toMatchObject({ upstreamNano: 7, legs: all });
    expect((await ledger.doctor()).findings).toEqual([]);
  });

  test("many legs are summed, and cost what they cost", async () => {
    const to = await stage.account(100);
    const legs = Array.from({ length: 700 }, (_, at) =>
      legOf({ upstreamNano: nano(at), ok: at % 7 > 0, reason: null }),
    );
    const upstreamNano = nano((699 * 700) / 2);
    await stage.store.ledger.reserve(holdRequest(to.hold("many", 1)));
    await stage.store.ledger.post(postRequest(to.hold("many", 1), { legs, upstreamNano }));
    const posting = await stage.store.ledger.transaction(to.accountId, to.hold("many", 0).holdId);
    expect(posting?.legs.map(({ ok, count }) => [ok, count])).toEqual([
      [false, 100],
      [true, 600],
    ]);
    expect((await stage.store.ledger.doctor()).findings).toEqual([]);
  });
}
