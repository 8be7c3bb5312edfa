// A record that must precede the charge cannot be stored, or the cost cannot be counted: nothing is charged, and no hold is left.
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../src/core/errors.ts";
import { nano, ZERO } from "../../src/core/money.ts";
import type { Plan } from "../../src/core/plan.ts";
import { forFile } from "../support/for-file.ts";
import { COST, openStage } from "../support/scripted-plan.ts";

const stage = forFile(await openStage());

const AWAY = new GatewayError("ledger_unavailable", { retryAfterSeconds: 5 });

/** Runs one call to its end: the status, and the money movements. */
async function call(plan: Partial<Plan>, good = true): Promise<{ status: number; code: unknown; moves: string[] }> {
  const { reply, over, attempt } = stage.begin({ plan });
  const answered = attempt(0).then((one) => (good ? one.done() : one.sink.failed(DEEP)));
  await Promise.race([over, answered]);
  await over;
  const text = reply.text();
  const code = text.startsWith("{") ? (JSON.parse(text) as { error: { code: string } }).error.code : null;
  return { status: reply.status, code, moves: stage.moves.map((move) => move.split(" ")[0] ?? "") };
}

/** A refusal that cannot be serialized. */
const DEEP = {
  kind: "caller_invalid",
  status: 404,
  message: "none",
  retryAfterMs: null,
  vendorBody: { huge: 1n },
} as const;

const rejects: Plan["prepare"] = () => Promise.reject(AWAY);
const throws: Plan["prepare"] = () => {
  throw new TypeError("broken");
};
const costThrows: Plan["cost"] = () => {
  throw new RangeError("not an amount");
};
const keyed = (key: string): Pick<Plan, "idempotency"> => ({ idempotency: { key, fingerprint: "same" } });

describe.each<[string, Partial<Plan>]>([
  ["what must be kept cannot be", { prepare: rejects }],
  ["what must be kept breaks", { prepare: throws }],
  ["the cost cannot be counted", { cost: costThrows }],
])("when %s", (name, fault) => {
  it("a call is voided and told 503", async () => {
    const before = await stage.spentNano();
    expect(await call(fault)).toEqual({ status: 503, code: "ledger_unavailable", moves: ["reserve", "void"] });
    expect([await stage.spentNano(), await stage.holdsLeft()]).toEqual([before, []]);
  });

  it("the key of a read is free for another try, which is charged once", async () => {
    const before = await stage.spentNano();
    expect((await call({ ...fault, ...keyed(`read ${name}`) })).status).toBe(503);
    expect((await call(keyed(`read ${name}`))).status).toBe(200);
    expect(await stage.spentNano()).toBe(before + COST);
  });

  it("a write is never sent again under its key", async () => {
    const write = { effect: "write", ...keyed(`write ${name}`) } as const;
    expect((await call({ ...fault, ...write })).status).toBe(503);
    const again = await call(write);
    expect([again.status, again.code]).toEqual([409, "outcome_unknown"]);
    expect(await stage.holdsLeft()).toEqual([]);
  });

  it("a free call moves no money", async () => {
    expect((await call({ ...fault, hold: { kind: "none" } })).moves).toEqual([]);
  });
});

describe("a refusal that cannot be written down", () => {
  it("is not kept, and leaves no hold", async () => {
    const told = await call(keyed("deep"), false);
    expect(told.moves).toEqual(["reserve", "void"]);
    expect(await stage.holdsLeft()).toEqual([]);
  });
});

it("what breaks in a free call is told by its transaction, as in any other", async () => {
  const ids: string[] = [];
  const deps = { onBroken: (_error: unknown, id: string) => ids.push(id) };
  const { reply, over, attempt } = stage.begin({ plan: { prepare: rejects, hold: { kind: "none" } }, deps });
  (await attempt(0)).done();
  await over;
  expect(reply.status).toBe(503);
  expect(ids).toEqual([expect.stringMatching(/^tx_/)]);
});

it("an error of the quote's own is the caller's answer, not a 503 that invites to repeat a write", async () => {
  const tighten = () => Promise.reject(new GatewayError("outcome_unknown"));
  const quote = { nano: nano(1e15), tighten, affordable: () => ({}), upstreamNano: () => ZERO };
  expect(await call({ effect: "write", quote })).toEqual({ status: 409, code: "outcome_unknown", moves: ["reserve"] });
  expect(await stage.holdsLeft()).toEqual([]);
});
