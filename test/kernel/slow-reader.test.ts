// A client that reads slowly: its reading time is its own, and does not make a mostly delivered answer free.
import { describe, expect, it } from "vitest";
import { forFile } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { COST, openStage } from "../support/scripted-plan.ts";

/** Enough for a busy machine to start a call. */
const WHOLE_MS = 500;

const stage = forFile(await openStage());

async function passed(ms: number): Promise<void> {
  const fromMs = performance.now();
  await eventually(() => (performance.now() - fromMs > ms ? true : undefined), "time to pass");
}

describe("a client that has no room until the request's time is over", () => {
  it("gets its answer when it has, and is charged", async () => {
    const before = await stage.spentNano();
    const { reply, over, attempt } = stage.begin({ plan: { wholeMsMax: WHOLE_MS, whenCallerLeaves: "finish" } });
    const one = await attempt(0);
    reply.fill();
    one.content("most of it ");
    await passed(3 * WHOLE_MS);
    expect(one.calls).toEqual(["pause"]);
    reply.room();
    one.content("the rest ");
    one.done();
    await over;
    expect(one.calls).toEqual(["pause", "resume"]);
    expect([reply.text(), reply.cutOff]).toEqual(["most of it the rest end", false]);
    expect(await stage.spentNano()).toBe(before + COST);
  });

  it("and then leaves is charged for what went on without it", async () => {
    const before = await stage.spentNano();
    const { reply, over, attempt } = stage.begin({ plan: { wholeMsMax: WHOLE_MS, whenCallerLeaves: "finish" } });
    const one = await attempt(0);
    reply.fill();
    one.content("most of it ");
    await passed(2 * WHOLE_MS);
    reply.leave();
    expect(one.calls).toEqual(["pause", "resume"]);
    one.done();
    await over;
    expect(await stage.spentNano()).toBe(before + COST);
  });

  it("leaves the vendor no more time than before: an answer that then stalls is broken off, and free", async () => {
    const before = await stage.spentNano();
    const { reply, over, attempt } = stage.begin({ plan: { wholeMsMax: WHOLE_MS, whenCallerLeaves: "finish" } });
    const one = await attempt(0);
    reply.fill();
    one.content("most of it ");
    await passed(WHOLE_MS);
    reply.room();
    await over;
    expect(one.calls).toEqual(["pause", "resume", "abort"]);
    expect(await stage.spentNano()).toBe(before);
    expect(await stage.holdsLeft()).toEqual([]);
  });
});
