// The lifecycle of a session's box: at create, in use, and at the end, including vendors that hang, forget or are unreachable.
import { afterEach, describe, expect, it } from "vitest";
import { BoxGone } from "../../../src/catalog/session.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { eventually } from "../../support/gateway.ts";
import { ADA, away, fails, moneyOf, type SessionProcess, type SessionStage, sessionStage } from "./stage.ts";

let stage: SessionStage;
let process: SessionProcess;
afterEach(async () => {
  expect((await stage.ledger.doctor()).findings).toEqual([]);
  await stage.dispose();
});

async function open(): Promise<void> {
  stage = await sessionStage();
  process = await stage.process();
  await stage.account("ada", 1_000);
}

async function created(): Promise<string> {
  const id = await process.create();
  if (typeof id !== "string") throw id;
  return id;
}

const codeOf = (said: unknown) => (said instanceof GatewayError ? said.code : said);

describe("a create", () => {
  it("that hangs after the vendor has made the box is free, and the box is found by its label and closed", async () => {
    await open();
    stage.vendor.faults.set("create", () => {
      stage.vendor.make(stage.vendor.labels[0] ?? "");
      throw away();
    });
    expect(codeOf(await process.create())).toBe("upstream_error");
    expect(await moneyOf(stage, ADA)).toEqual({ spent: 0, held: 0 });
    expect(stage.vendor.boxes.size).toBe(1);
    await stage.minutes(1);
    await process.sweep();
    expect(stage.vendor.boxes.size).toBe(0);
    expect(process.jobs.running()).toBe(0);
    expect(await process.jobs.open(10)).toEqual([]);
  });

  it("is looked for until a slow vendor can have made it no more", async () => {
    await open();
    stage.vendor.faults.set("create", fails);
    await process.create();
    await stage.minutes(1);
    await process.sweep();
    // The box exists only from here on.
    stage.vendor.make(stage.vendor.labels[0] ?? "");
    await stage.minutes(5);
    await process.sweep();
    expect(stage.vendor.boxes.size).toBe(0);
    const watched = async () => (await stage.records.list("unclosed-box", "unclosed-boxes", 10, null)).rows.length;
    expect(await watched()).toBe(1);
    await stage.minutes(30);
    await process.sweep();
    expect(await watched()).toBe(0);
  });

  it("whose process dies before it was answered leaves no box, no hold and no session", async () => {
    await open();
    const { promise: forever } = Promise.withResolvers<never>();
    stage.vendor.faults.set("create", () => {
      stage.vendor.make(stage.vendor.labels[0] ?? "");
      return forever;
    });
    void process.create();
    await eventually(() => (stage.vendor.boxes.size === 1 ? true : undefined), "the box");
    await process.die();
    process = await stage.process();
    await process.jobs.adopt();
    expect(await moneyOf(stage, ADA)).toEqual({ spent: 0, held: 0 });
    await stage.minutes(1);
    await process.sweep();
    expect(stage.vendor.boxes.size).toBe(0);
  });
});

describe("a close", () => {
  it("at a vendor that is away charges up to that moment, and is asked again until the vendor says closed", async () => {
    await open();
    const id = await created();
    await stage.minutes(2);
    stage.vendor.faults.set("close", fails);
    expect(await process.call("close", { session_id: id })).toMatchObject({ status: "closed", session_cents: 2 });
    expect(await moneyOf(stage, ADA)).toEqual({ spent: 2, held: 0 });
    await stage.minutes(30);
    await process.sweep();
    expect(process.unclosed()).toEqual({ count: 1, oldestMs: 30 * 60_000 });
    await process.die();
    process = await stage.process();
    stage.vendor.faults.clear();
    await stage.minutes(30);
    await process.sweep();
    expect(stage.vendor.boxes.size).toBe(0);
    expect(process.unclosed()).toEqual({ count: 0, oldestMs: 0 });
    expect(await moneyOf(stage, ADA)).toEqual({ spent: 2, held: 0 });
  });

  it("twice at once says the same, and is charged once", async () => {
    await open();
    const id = await created();
    await stage.minutes(3);
    const said = await Promise.all([1, 2, 3].map(() => process.call("close", { session_id: id })));
    expect(said[1]).toEqual(said[0]);
    expect(said[2]).toEqual(said[0]);
    expect(said[0]).toMatchObject({ minutes: 3, session_cents: 3 });
    expect(await moneyOf(stage, ADA)).toEqual({ spent: 3, held: 0 });
  });

  it("that came while nobody ran the session charges up to when it was asked for", async () => {
    await open();
    const id = await created();
    await stage.minutes(2);
    await process.die();
    const job = await stage.job(process, id, ADA);
    await process.jobs.cancel(String(job?.id), ADA);
    await stage.minutes(20);
    process = await stage.process();
    expect((await stage.over(process, id, ADA)).end?.result).toMatchObject({ ended: "closed", minutes: 2 });
    expect(await moneyOf(stage, ADA)).toEqual({ spent: 2, held: 0 });
    expect(stage.vendor.boxes.size).toBe(0);
  });
});

describe("a command", () => {
  it("is told of bounded length and as UTF-8, whatever was printed", async () => {
    await open();
    const id = await created();
    const session = () => process.call("session", { session_id: id, command: "x" });
    stage.vendor.prints = () => ({ stdout: "y".repeat(3_000_000), stderr: "", exit_code: 0 });
    const long = (await session()) as { stdout: string; truncated?: boolean };
    expect(long.stdout).toHaveLength(262_144);
    expect(long.truncated).toBe(true);
    stage.vendor.prints = () => ({ stdout: "a\ud800b", stderr: "", exit_code: 0 });
    expect(await session()).toEqual({ stdout: "a\ufffdb", stderr: "", exit_code: 0 });
    stage.vendor.prints = () => ({ stdout: "", stderr: "", exit_code: 0, timed_out: true });
    expect(await session()).toMatchObject({ exit_code: 124, timed_out: true });
  });

  it("beyond four at once is refused, and asks the vendor nothing", async () => {
    await open();
    const id = await created();
    const { promise: running, resolve: done } = Promise.withResolvers<void>();
    stage.vendor.prints = () => running.then(() => ({ stdout: "", stderr: "", exit_code: 0 }));
    const calls = Array.from({ length: 4 }, () => process.call("session", { session_id: id, command: "make" }));
    await eventually(() => (stage.vendor.asked.filter((one) => one === "run").length === 4 ? true : undefined), "four");
    expect(codeOf(await process.call("session", { session_id: id, command: "make" }))).toBe("session_busy");
    done();
    await Promise.all(calls);
    expect(await process.call("session", { session_id: id, command: "make" })).toMatchObject({ exit_code: 0 });
    expect(stage.vendor.asked.filter((one) => one === "run")).toHaveLength(5);
  });

  it("in a box that the vendor has no more ends the session", async () => {
    await open();
    const id = await created();
    stage.vendor.prints = () => {
      throw new BoxGone("gone");
    };
    expect(codeOf(await process.call("session", { session_id: id, command: "x" }))).toBe("session_closed");
    await stage.over(process, id, ADA);
    expect(await moneyOf(stage, ADA)).toEqual({ spent: 1, held: 0 });
  });

  it("at a vendor that fails is told so, and the session goes on", async () => {
    await open();
    const id = await created();
    stage.vendor.prints = fails;
    expect(codeOf(await process.call("session", { session_id: id, command: "x" }))).toBe("upstream_error");
    expect(process.jobs.running()).toBe(1);
    await process.call("close", { session_id: id });
  });

  it("or a close of another account's session is 404, as one of a session that never was", async () => {
    await open();
    const id = await created();
    const eve = await stage.account("eve", 100);
    for (const session_id of [id, "ses_none"]) {
      for (const action of ["session", "close"] as const) {
        const params = action === "close" ? { session_id } : { session_id, command: "x" };
        expect(codeOf(await process.call(action, params, eve))).toBe("not_found");
      }
    }
    expect(stage.vendor.asked).not.toContain("run");
    await process.call("close", { session_id: id });
  });
});
