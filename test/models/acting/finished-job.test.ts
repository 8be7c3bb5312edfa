// A job that a model waits for: how the gateway polls it, and what it reports to the model.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { InnerAnswer } from "../../../src/catalog/local-action.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { finishedJob } from "../../../src/models/acting/finished-job.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const told = (data: unknown): InnerAnswer => ({
  ok: true,
  id: "tx_1.1",
  action: "core/result",
  provider: "tollgate",
  data,
  isMiss: false,
  ms: 1,
});
const launched = told({ job_id: "job_1", async: true, status: "queued" });
const running = told({ job_id: "job_1", status: "running" });
const done = told({ job_id: "job_1", status: "succeeded", result: { rows: [] } });
const failed: InnerAnswer = { ok: false, id: "tx_1.1", error: new GatewayError("upstream_error"), ms: 1 };

/** Polls a job with scripted answers, one per poll; the last repeats forever. */
async function after(answers: readonly InnerAnswer[], secondsMax = 600) {
  let asked = 0;
  const call = async () => answers[Math.min(asked++, answers.length - 1)] ?? failed;
  const unused = () => Promise.reject(new Error("not asked for"));
  const clock = { elapsedMs: () => vi.getMockedSystemTime()?.getTime() ?? 0, epochMs: () => 0 };
  vi.setSystemTime(0);
  const answer = finishedJob(launched, {
    calls: { call, race: unused, own: unused },
    clock,
    deadlineMs: secondsMax * 1_000,
    left: new AbortController().signal,
  });
  await vi.advanceTimersByTimeAsync(secondsMax * 1_000);
  return { answer: await answer, asked };
}

it("is told once it is over", async () => {
  expect(await after([running, running, done])).toEqual({ answer: done, asked: 3 });
});

it("is asked after again where one look has failed, and given up after three in a row", async () => {
  expect((await after([running, failed, failed, done])).answer).toBe(done);
  expect(await after([running, failed])).toEqual({ answer: failed, asked: 4 });
});

it("stands as it was told last where there is no more time, with few looks that each are a leg", async () => {
  const { answer, asked } = await after([running]);
  expect(answer).toBe(running);
  expect(asked).toBeLessThan(30);
});
