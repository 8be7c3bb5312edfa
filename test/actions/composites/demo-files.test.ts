// What a demo job does where its files cannot be stored or are gone: it ends.
import { expect, it } from "vitest";
import { type DemoDeps, type DemoStart, demoJob } from "../../../src/actions/composites/demos/demo-job.ts";
import type { EndedJob, RunningJob } from "../../../src/catalog/job-kind.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { nano, ZERO } from "../../../src/core/money.ts";
import { Places } from "../../../src/core/places.ts";
import type { Payer } from "../../../src/core/plan.ts";

const PAYER = { id: "acct:ada", accountId: "ada", keyId: "ada.key", sandbox: true } as Payer;
const START: DemoStart = {
  action: "produce_demo",
  url: "https://shop.test",
  board: {
    title: "The gate",
    scenes: [{ url: "https://shop.test", steps: [], caption: "", narration: "", seconds: 2 }],
  },
  brief: "",
  seconds: 2,
  language: "en",
  aspect: "16:9",
};

function demo(files: Partial<ReturnType<DemoDeps["files"]>>) {
  const places = new Places(8);
  const begin = { action: "acme/begin", params: {}, connectAt: "" };
  const end = { action: "acme/end", param: "id", idAt: "" };
  const maker = () => ({ browser: { begin, end }, speaker: { model: "voice", voice: "v" } });
  const deps = {
    ...{ places, joinPlaces: places, sandboxPlaces: places },
    rows: { put: async () => "row", read: async () => [] },
    studio: { clock: systemClock, maker, play: () => Buffer.from("video"), chromiumPath: null, ffmpegPath: null },
    maker,
    files: () => files,
    onFault: () => {},
  } as unknown as DemoDeps;
  return demoJob(deps);
}

function job(onAway: (error: unknown) => void): RunningJob {
  const call = async () => ({
    ok: true,
    id: "1",
    action: "acme/begin",
    provider: "acme",
    data: "",
    isMiss: false,
    ms: 1,
  });
  const part = () => ({ call, own: call, end: () => {}, spentNano: ZERO });
  return {
    ...{ id: "job", payer: PAYER, start: START, progress: null, signal: new AbortController().signal },
    ...{ sandboxFault: null, spend: { limitNano: nano(1_000_000_000) }, part, call, save: async () => {} },
    stored: (work: () => Promise<unknown>) =>
      work().catch((error: unknown) => {
        onAway(error);
        throw error;
      }),
  } as unknown as RunningJob;
}

it("leaves out a scene that cannot be stored, instead of recording it again until its time is over", async () => {
  const away: unknown[] = [];
  const announce = async () => ({ file_id: "file_1" });
  const receive = async () => {
    throw new GatewayError("storage_unavailable", { detail: { detail: "Full." } });
  };
  const end = await demo({ announce, receive } as never).run(job((error) => away.push(error)));
  expect(end).toMatchObject({ status: "failed", result: { error: "no_scene" }, chargeNano: ZERO });
  expect(away).toEqual([]);
});

it("goes on later where the ledger is away", async () => {
  const away: unknown[] = [];
  const announce = async () => {
    throw new GatewayError("ledger_unavailable", { retryAfterSeconds: 1 });
  };
  const run = demo({ announce } as never).run(job((error) => away.push(error)));
  await expect(run).rejects.toMatchObject({ code: "ledger_unavailable" });
  expect(away).toHaveLength(1);
});

it("deletes what is left of its files, where its payer has deleted some", async () => {
  const asked: string[] = [];
  const remove = async (_payer: string, id: string) => {
    asked.push(id);
    if (id === "file_1") throw new GatewayError("not_found", { of: "file", detail: "There is no such file." });
    if (id === "file_3") throw new GatewayError("ledger_unavailable", { retryAfterSeconds: 1 });
  };
  const ended = (files: readonly string[]) =>
    ({ payer: PAYER, progress: { files }, end: { status: "failed", result: null, chargeNano: ZERO } }) as EndedJob;
  const kind = demo({ delete: remove } as never);
  await kind.clear?.(ended(["file_1", "file_2"]));
  expect(asked).toEqual(["file_1", "file_2"]);
  await expect(kind.clear?.(ended(["file_3"]))).rejects.toMatchObject({ code: "ledger_unavailable" });
});
