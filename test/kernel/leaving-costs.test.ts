// A caller that leaves pays what we paid: the prompt once a vendor has it, and hidden reasoning.
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { forFile } from "../support/for-file.ts";
import { COST, COST_LEFT, openStage } from "../support/scripted-plan.ts";

const stage = forFile(await openStage());

describe("a client that leaves before content", () => {
  it("pays nothing while no vendor has the whole request", async () => {
    const run = stage.begin();
    await run.attempt(0);
    run.reply.leave();
    await run.over;
    expect(stage.moves).toEqual(["reserve", "void left_before_content"]);
  });

  it("pays for the prompt once a vendor has accepted it", async () => {
    const run = stage.begin();
    (await run.attempt(0)).accepted = true;
    run.reply.leave();
    await run.over;
    expect(stage.moves).toEqual(["reserve", `post ${COST_LEFT}`]);
    expect(stage.lines.at(-1)).toMatchObject({ outcome: "left_before_content", charged_nano_usd: COST_LEFT });
  });

  it("pays nothing for a vendor that has failed before it left", async () => {
    const run = stage.begin();
    const first = await run.attempt(0);
    first.accepted = true;
    first.fail("provider_overloaded");
    run.reply.leave();
    await run.over;
    expect(stage.moves).toEqual(["reserve", "void left_before_content"]);
  });

  it("a hundred times pays a hundred prompts", async () => {
    const before = await stage.spentNano();
    for (let at = 0; at < 100; at++) {
      const run = stage.begin();
      (await run.attempt(0)).accepted = true;
      run.reply.leave();
      await run.over;
    }
    expect((await stage.spentNano()) - before).toBe(100 * COST_LEFT);
  });
});

describe("a client that leaves a model in mid-answer which reasons unseen", () => {
  const begin = () => stage.begin({ readOnMsMax: 60_000 });

  it("pays the usage that the end tells", async () => {
    const run = begin();
    const attempt = await run.attempt(0);
    attempt.content("one ");
    run.reply.leave();
    attempt.content("two ");
    attempt.done();
    await run.over;
    expect([stage.moves, attempt.calls]).toEqual([["reserve", `post ${COST}`], ["resume"]]);
    expect([run.reply.text(), stage.lines.at(-1)]).toMatchObject(["one ", { outcome: "left_after_content" }]);
  });

  it("pays what was delivered where the stream breaks before its end", async () => {
    const run = begin();
    const attempt = await run.attempt(0);
    attempt.content("one ");
    run.reply.leave();
    attempt.fail("provider_cut");
    await run.over;
    expect(stage.moves).toEqual(["reserve", `post ${COST_LEFT}`]);
  });

  it("pays what was delivered where the end does not come in time, and the vendor is left", async () => {
    const run = stage.begin({ readOnMsMax: 5 });
    const attempt = await run.attempt(0);
    attempt.content("one ");
    run.reply.leave();
    await run.over;
    expect([stage.moves, attempt.calls]).toEqual([
      ["reserve", `post ${COST_LEFT}`],
      ["resume", "abort"],
    ]);
  });

  it("keeps its slot for as long as it is read on", async () => {
    const run = begin();
    const attempt = await run.attempt(0);
    attempt.content("one ");
    run.reply.leave();
    await new Promise((resolve) => setImmediate(resolve));
    expect((await stage.stores.ledger.account("ada"))?.heldNano).toBeGreaterThan(0);
    attempt.done();
    await run.over;
    expect((await stage.stores.ledger.account("ada"))?.heldNano).toBe(0);
  });
});

describe("a stream that breaks", () => {
  async function breakAfter(heldBackMs: number) {
    let aheadMs = 0;
    const clock = { epochMs: () => systemClock.epochMs(), elapsedMs: () => systemClock.elapsedMs() + aheadMs };
    const run = stage.begin({ deps: { clock }, plan: { wholeMsMax: 600_000 } });
    const attempt = await run.attempt(0);
    run.reply.fill();
    attempt.content("most of a long answer");
    aheadMs = heldBackMs;
    attempt.fail("provider_cut");
    await run.over;
    return run.reply.text();
  }

  it("under a client that reads is not charged", async () => {
    expect(await breakAfter(4_000)).toContain("broken upstream_error");
    expect(stage.moves).toEqual(["reserve", "void broken"]);
  });

  it("after its client has held it back for longer than five seconds is charged as far as it was delivered", async () => {
    expect(await breakAfter(6_000)).toContain("broken upstream_error");
    expect(stage.moves).toEqual(["reserve", `post ${COST_LEFT}`]);
  });
});
