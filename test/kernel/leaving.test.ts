// A client that leaves, or stops reading, at every step of the pipeline: the hold ends once, the attempt ends once.
import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { Quote } from "../../src/core/plan.ts";
import type { Candidate, Health } from "../../src/core/route.ts";
import { forFile } from "../support/for-file.ts";
import { CALLER, COST, COST_LEFT, openStage, READING, type Stage } from "../support/scripted-plan.ts";

const TOO_MUCH: Quote = { nano: 1e15 as never, tighten: null, affordable: () => ({}), upstreamNano: () => 0 as never };

let spentBefore = 0;

const stage = forFile(await openStage());

afterEach(async () => {
  expect(await stage.holdsLeft()).toEqual([]);
  const { findings } = await stage.stores.ledger.doctor();
  expect(findings).toEqual([]);
  spentBefore = await stage.spentNano();
});

async function spent(): Promise<number> {
  return (await stage.spentNano()) - spentBefore;
}

function gate(): { readonly opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** The live timers started within `begunHere`; the process has others, among them the test runner's. */
function watchTimers() {
  const ours = new AsyncLocalStorage<true>();
  const timers = new Map<number, NodeJS.Timeout>();
  const hook = createHook({
    init(id, type, _, timer) {
      if (type === "Timeout" && ours.getStore()) timers.set(id, timer as NodeJS.Timeout);
    },
    destroy: (id) => void timers.delete(id),
  });
  hook.enable();
  onTestFinished(() => void hook.disable());
  return { begunHere: <T>(begin: () => T): T => ours.run(true, begin), timers: () => [...timers.values()] };
}

describe("a client that leaves before anything was sent upstream", () => {
  it("while its key is looked up: the hold that follows is released, and nobody is asked", async () => {
    const looking = gate();
    const authenticate = () => looking.opened.then(() => CALLER);
    const run = stage.begin({ deps: { authenticate } });
    run.reply.leave();
    looking.open();
    await run.over;
    expect(stage.moves).toEqual(["reserve", "void left_before_content"]);
    expect([run.attempts.length, await spent()]).toEqual([0, 0]);
  });

  it("while its hold is being placed: the same", async () => {
    const placing = gate();
    const reserve: Stage["stores"]["ledger"]["reserve"] = async (request) => {
      const held = await stage.stores.ledger.reserve(request);
      await placing.opened;
      return held;
    };
    const run = stage.begin({ ledger: { reserve } });
    run.reply.leave();
    placing.open();
    await run.over;
    expect(stage.moves).toEqual(["reserve", "void left_before_content"]);
    expect([run.attempts.length, await spent()]).toEqual([0, 0]);
    expect(stage.lines.at(-1)).toMatchObject({ outcome: "left_before_content", charged_nano_usd: 0 });
  });

  it("while its hold is refused: nothing to release, nothing to say", async () => {
    const run = stage.begin({ plan: { quote: TOO_MUCH } });
    run.reply.leave();
    await run.over;
    expect(stage.moves).toEqual(["reserve"]);
    expect(run.reply.text()).toBe("");
  });
});

describe("a client that leaves an attempt", () => {
  it("before content: it is aborted once, no other is begun, and nothing is charged", async () => {
    const run = stage.begin();
    const attempt = await run.attempt(0);
    run.reply.leave();
    await run.over;
    expect(attempt.calls).toEqual(["abort"]);
    expect(stage.moves).toEqual(["reserve", "void left_before_content"]);
    expect([run.attempts.length, await spent(), run.reply.text()]).toEqual([1, 0, ""]);
  });

  it("between two attempts: the wait ends at once", async () => {
    const run = stage.begin();
    (await run.attempt(0)).fail("provider_rate_limited");
    const wait = { kind: "provider_rate_limited", status: 429, message: "", retryAfterMs: 2_400 } as const;
    (await run.attempt(1)).sink.failed(wait);
    await new Promise((resolve) => setImmediate(resolve));
    run.reply.leave();
    await new Promise((resolve) => setImmediate(resolve));
    expect(stage.moves).toEqual(["reserve", "void left_before_content"]);
    await run.over;
    expect(run.attempts.length).toBe(2);
  });

  it("after content: what was delivered is charged, once", async () => {
    const run = stage.begin();
    const attempt = await run.attempt(0);
    attempt.content("one ");
    run.reply.leave();
    await run.over;
    expect(attempt.calls).toEqual(["abort"]);
    expect(stage.moves).toEqual(["reserve", `post ${COST_LEFT}`]);
    expect([run.reply.text(), await spent()]).toEqual(["one ", COST_LEFT]);
    expect(stage.lines.at(-1)).toMatchObject({ outcome: "left_after_content", estimated: true });
  });

  it("which goes on speaking: nobody listens", async () => {
    const run = stage.begin();
    const attempt = await run.attempt(0);
    attempt.content("one ");
    run.reply.leave();
    attempt.content("two ");
    attempt.done();
    attempt.done();
    attempt.fail("provider_cut");
    await run.over;
    attempt.content("three ");
    attempt.done();
    expect(stage.moves).toEqual(["reserve", `post ${COST_LEFT}`]);
    expect([run.reply.text(), await spent()]).toEqual(["one ", COST_LEFT]);
  });

  it("that has just ended: the whole answer is charged, once", async () => {
    const run = stage.begin();
    const attempt = await run.attempt(0);
    attempt.content("one ");
    attempt.done();
    run.reply.leave();
    await run.over;
    expect(attempt.calls).toEqual([]);
    expect(stage.moves).toEqual(["reserve", `post ${COST}`]);
    expect(await spent()).toBe(COST);
  });

  it("whose charge is being written: it is charged once, and nothing more is said", async () => {
    const posting = gate();
    const begun = gate();
    const post: Stage["stores"]["ledger"]["post"] = async (request) => {
      begun.open();
      await posting.opened;
      return stage.stores.ledger.post(request);
    };
    const run = stage.begin({ ledger: { post } });
    const attempt = await run.attempt(0);
    attempt.content("one ");
    attempt.done();
    await begun.opened;
    run.reply.leave();
    posting.open();
    await run.over;
    expect([stage.moves, attempt.calls]).toEqual([["reserve", `post ${COST}`], []]);
    expect([run.reply.text(), await spent()]).toEqual(["one ", COST]);
    expect(stage.lines.at(-1)).toMatchObject({ outcome: "success" });
  });

  it("that has just failed before content: nothing is charged", async () => {
    const run = stage.begin();
    (await run.attempt(0)).fail("provider_overloaded");
    run.reply.leave();
    await run.over;
    expect(stage.moves).toEqual(["reserve", "void left_before_content"]);
    // The next route had started by then, and is aborted.
    expect(run.attempts.map(({ calls }) => calls)).toEqual([[], ["abort"]]);
  });

  it("of a call that is to finish: it is heard to its end and charged in full", async () => {
    const run = stage.begin({ plan: { whenCallerLeaves: "finish" } });
    const attempt = await run.attempt(0);
    run.reply.leave();
    attempt.content("one ");
    attempt.done();
    await run.over;
    expect([attempt.calls, stage.moves]).toEqual([["resume"], ["reserve", `post ${COST}`]]);
    expect(await spent()).toBe(COST);
  });
});

describe("a client that does not read", () => {
  it("pauses the attempt, and starts it again by reading", async () => {
    const run = stage.begin();
    const attempt = await run.attempt(0);
    attempt.content("one ");
    run.reply.fill();
    attempt.content("two ");
    expect(attempt.calls).toEqual(["pause"]);
    run.reply.room();
    expect(attempt.calls).toEqual(["pause", "resume"]);
    attempt.content("three ");
    attempt.done();
    await run.over;
    expect(run.reply.text()).toBe("one two three end");
    expect(attempt.calls).toEqual(["pause", "resume"]);
    run.reply.room();
    expect(attempt.calls).toEqual(["pause", "resume"]);
  });

  it("and leaves: the attempt is aborted and what was written is charged", async () => {
    const run = stage.begin();
    const attempt = await run.attempt(0);
    run.reply.fill();
    attempt.content("one ");
    run.reply.leave();
    await run.over;
    expect(attempt.calls).toEqual(["pause", "abort"]);
    expect(await spent()).toBe(COST_LEFT);
  });
});

describe("time and timers", () => {
  it("a call that takes too long is stopped, before content with 504, after it with the truth", async () => {
    const silent = stage.begin({ plan: { wholeMsMax: 500 } });
    const first = await silent.attempt(0);
    await silent.over;
    expect([first.calls, silent.reply.status, stage.moves]).toEqual([["abort"], 504, ["reserve", "void failed"]]);

    const slow = stage.begin({ plan: { wholeMsMax: 500 } });
    const second = await slow.attempt(0);
    second.content("one ");
    await slow.over;
    expect([second.calls, slow.reply.text()]).toEqual([["abort"], "one broken upstream_error"]);
    expect(stage.moves).toEqual(["reserve", "void broken"]);
  });

  it("leaves no timer behind, however a call ends", async () => {
    const { begunHere, timers } = watchTimers();
    let begun = 0;
    for (const end of ["done", "leave", "fail", "refuse"] as const) {
      await begunHere(async () => {
        const run = stage.begin({
          plan: { keepAliveMs: 60_000, wholeMsMax: 60_000, ...(end === "refuse" ? { quote: TOO_MUCH } : {}) },
        });
        if (end !== "refuse") {
          const attempt = await run.attempt(0);
          begun += timers().length;
          if (end === "done") attempt.done();
          if (end === "leave") run.reply.leave();
          if (end === "fail") attempt.fail("policy_content");
        }
        await run.over;
      });
      // A timer's end is reported one turn later.
      await new Promise((resolve) => setImmediate(resolve));
      expect([end, timers().filter((timer) => timer.hasRef())]).toEqual([end, []]);
    }
    expect(begun).toBeGreaterThanOrEqual(3);
  });

  it("keep-alives stop with the first content, and an error after them is told inside the stream", async () => {
    const run = stage.begin({ plan: { keepAliveMs: 5, attemptsMax: 1 } });
    const attempt = await run.attempt(0);
    while (!run.reply.text().includes("alive alive ")) await new Promise((resolve) => setTimeout(resolve, 2));
    expect([run.reply.status, run.reply.headers.get("x-alive")]).toEqual([200, "1"]);
    attempt.fail("caller_invalid");
    await run.over;
    expect(run.reply.text()).toMatch(/^(alive )+broken upstream_rejected$/);
    expect(stage.moves).toEqual(["reserve", "void failed"]);
  });
});

describe("what is broken in the gateway itself", () => {
  const fails = () => {
    throw new Error("a frame that cannot be made");
  };
  const frame = { head() {}, last: fails, broken: () => "broken", keepAlive: null };

  it("after content cuts the connection, so that half an answer is not taken for a whole one", async () => {
    const run = stage.begin({ plan: { frame } });
    const attempt = await run.attempt(0);
    attempt.content("one ");
    attempt.done();
    await run.over;
    expect([run.reply.text(), run.reply.cutOff]).toEqual(["one ", true]);
    expect(stage.broken).toHaveLength(1);
    expect(stage.lines.at(-1)).toMatchObject({ code: "internal_error" });
  });

  it("a route that fails while it is opened gives way to the next, and to no other client's leaving", async () => {
    const calls: string[] = [];
    const attempt = {
      pause() {},
      resume() {},
      abort: () => void calls.push("abort"),
      reading: () => READING,
      accepted: () => false,
    };
    const failing: Candidate = {
      firstTokenMsMax: 1_000,
      lastFirstTokenMsMax: 1_000,
      readOnMsMax: 0,
      pointlessAfter: () => false,
      provider: "acme",
      model: "acme/small",
      healthKey: "acme",
      open(sink) {
        sink.failed({ kind: "provider_auth_failed", status: 0, message: "", retryAfterMs: null });
        return attempt;
      },
    };
    const run = stage.begin({ plan: { candidates: [failing, { ...failing, model: "other/small" }] } });
    await run.over;
    expect([run.reply.status, calls]).toEqual([503, []]);
    run.reply.leave();
    expect(calls).toEqual([]);
    expect(stage.moves).toEqual(["reserve", "void failed"]);
  });

  it("before content is told as such", async () => {
    const run = stage.begin({ plan: { frame } });
    (await run.attempt(0)).done();
    await run.over;
    expect([run.reply.status, run.reply.cutOff]).toEqual([500, false]);
    expect(run.reply.text()).toContain('"code":"internal_error"');
  });

  it("a meter that fails releases the hold at once, and the caller is told that nothing was charged", async () => {
    const run = stage.begin({ plan: { cost: fails } });
    const attempt = await run.attempt(0);
    attempt.done();
    await run.over;
    expect([run.reply.status, await spent()]).toEqual([503, 0]);
    expect(stage.moves).toEqual(["reserve", "void its cost could not be counted"]);
    expect(await stage.holdsLeft()).toHaveLength(0);
  });

  it("a route that cannot be opened fails like any other, and the hold is released", async () => {
    const open = () => {
      throw new Error("a request that cannot be made");
    };
    const names = { provider: "acme", model: "acme/small", healthKey: "acme" };
    const clocks = { firstTokenMsMax: 1_000, lastFirstTokenMsMax: 1_000, readOnMsMax: 0 };
    const candidates = [{ ...names, ...clocks, pointlessAfter: () => false, open }];
    const notes: string[] = [];
    const health: Health = {
      order: (routes) => routes,
      trying: () => void notes.push("trying"),
      bad: (_, { kind }) => void notes.push(kind),
      unknown() {},
      good() {},
    };
    const { begunHere, timers } = watchTimers();
    const run = begunHere(() => stage.begin({ plan: { candidates }, deps: { health } }));
    await run.over;
    // A timer's end is reported one turn later.
    await new Promise((resolve) => setImmediate(resolve));
    expect([notes, timers()]).toEqual([["trying", "gateway_internal"], []]);
    expect([run.reply.status, run.reply.text()]).toEqual([500, expect.stringContaining("internal_error")]);
    expect(stage.moves).toEqual(["reserve", "void failed"]);
  });
});
