// A native batch whose money others want, or whose hold is gone, in either store.
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type BatchDeps, batchKind } from "../../../src/actions/batches/batch-kind.ts";
import { BatchPlaces } from "../../../src/actions/batches/batch-part.ts";
import { BATCH_JOB, type BatchProgress, type BatchStart } from "../../../src/actions/batches/batch-record.ts";
import type { LineCalls } from "../../../src/actions/batches/line-calls.ts";
import type { BatchVendors } from "../../../src/actions/batches/native-batch.ts";
import { createBatchFiles } from "../../../src/actions/files/batch-files.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { nano, ZERO } from "../../../src/core/money.ts";
import type { Caller, Capture, Plan } from "../../../src/core/plan.ts";
import type { Stores } from "../../../src/gateway/stores.ts";
import { CENT, holdRequest, newAccount, newKey } from "../../money/ledger/requests.ts";
import { eventually } from "../../support/gateway.ts";
import { openTestFiles, type TestFiles } from "../files/open-test-files.ts";
import { ACCOUNT, type JobsStage, openJobs, PAYER } from "../jobs/stage.ts";

/** Two parts. */
const LINES = 510;
const FEW = 3;
const BOUND = nano(CENT / 100);
const COST = nano(CENT / 250);

/** Every line can cost `BOUND` and costs `COST`. */
const calls: LineCalls = {
  callerOf: async () => ({ payer: PAYER }) as Caller,
  bound: async () => ({ nano: BOUND, vendors: ["acme"] }),
  native: async () => ({ model: "one", path: "/chat/completions", headers: {}, body: "{}", sold: () => "{}" }),
  async run(_, funds) {
    const held = await funds.reserve({ quote: { nano: BOUND, tighten: null } } as unknown as Plan, "line");
    if (held instanceof GatewayError)
      return { requestId: "req_1", status: 402, text: "{}", retry: false, retryAfterMs: 0 };
    await funds.capture(held, {
      cost: { chargeNano: COST, upstreamNano: ZERO, usage: null },
      legs: [],
    } as unknown as Capture);
    return { requestId: "req_1", status: 200, text: "{}", retry: false, retryAfterMs: 0 };
  },
  refusal: (_, { status }) => ({ requestId: "req_1", status, text: "{}", retry: false, retryAfterMs: 0 }),
};

/** A provider that has answered every line once `isDone` says so. */
function vendors(isDone: () => boolean): BatchVendors {
  const ids: string[] = [];
  const format = {
    line(customId: string) {
      ids.push(customId);
      return `${customId}\n`;
    },
    upload: async () => null,
    create: async () => "b",
    find: async () => null,
    state: async () => ({
      status: isDone() ? "completed" : "running",
      message: null,
      outputs: ["/answers"],
      answers: ids.length,
    }),
    cancel: async () => {},
    answer: () => ({ status: 200, body: {} }),
  };
  const stream = async () =>
    Readable.from(
      ids.map((id) => `${JSON.stringify({ custom_id: id })}\n`),
      { objectMode: false },
    );
  const opened = { api: { linesMax: LINES, bytesMax: 1e9 }, format, client: { keyName: "k", stream } };
  return { percentOf: () => 100, open: () => opened as unknown as ReturnType<BatchVendors["open"]>, pollMs: 10 };
}

export function rivalContract(name: string, open: () => Promise<Stores>): void {
  let stores: Stores;
  let files: TestFiles;
  beforeAll(async () => {
    [stores, files] = await Promise.all([open(), openTestFiles()]);
    await stores.ledger.openAccount(newAccount(ACCOUNT, 0));
  });
  afterAll(async () => {
    expect((await stores.ledger.doctor()).findings).toEqual([]);
    await files.close();
    await stores.close();
  });

  /** Jobs of a process that runs batches. */
  function processOf(
    self: string,
    parts: Pick<BatchDeps, "calls" | "vendors"> & Partial<BatchDeps> & { readonly ledger: Stores["ledger"] },
  ) {
    const kind = batchKind({
      files: createBatchFiles(files),
      ...parts,
      places: new BatchPlaces(),
      left: { add: async () => {} },
      clock: systemClock,
      free: async () => ZERO,
      onBroken: (error) => {
        throw error;
      },
      onLines() {},
    });
    return openJobs({ ...stores, ledger: parts.ledger }, `${self}-${name}`, [kind]);
  }

  async function launch({ launch: launched }: JobsStage, label: string, keyId: string, lines = FEW): Promise<string> {
    await stores.ledger.topUp(ACCOUNT, `credit of ${label}`, nano(lines * BOUND), label);
    const text = Array.from({ length: lines }, (_, at) =>
      JSON.stringify({ custom_id: `${at}`, method: "POST", url: "/v1/chat/completions", body: {} }),
    ).join("\n");
    const bytes = (async function* () {
      yield Buffer.from(text);
    })();
    const file = { filename: "in.jsonl", purpose: "batch", sizeBytes: text.length, expiresAtMs: null } as const;
    const input = await createBatchFiles(files).keep(PAYER.id, file, bytes);
    const start: BatchStart = {
      wire: "files",
      endpoint: "/v1/chat/completions",
      inputId: input.id,
      keyId,
      maxCostNano: null,
      metadata: null,
      createdAtMs: Date.now(),
      outputMs: 3_600_000,
      headers: {},
    };
    return launched(`${label}_${name}`, keyId, { job: BATCH_JOB, start, amountNano: ZERO });
  }

  const ended = ({ jobs }: JobsStage, id: string) =>
    eventually(async () => {
      const found = await jobs.find(id, PAYER);
      return found?.state === "succeeded" || found?.state === "failed" ? found : undefined;
    }, "the end of the batch");

  it(`${name}: a native batch keeps its money until its last line is paid, whatever other calls take`, async () => {
    let taken = 0;
    let isRival = false;
    const take = async () => {
      const row = await stores.ledger.account(ACCOUNT);
      const free = (row?.grantedNano ?? 0) - (row?.spentNano ?? 0) - (row?.heldNano ?? 0);
      if (!isRival || free === 0) return;
      const hold = { accountId: ACCOUNT, holdId: `rival ${taken}`, cents: free / CENT, nowMs: Date.now() };
      expect(await stores.ledger.reserve(holdRequest(hold, { inference: false }))).toMatchObject({ outcome: "held" });
      taken += free;
    };
    /** The store, with the rival's turn after each of the batch's operations. */
    const ledger = new Proxy(stores.ledger, {
      get(target, method: keyof Stores["ledger"]) {
        const operation = target[method] as unknown as (...given: unknown[]) => Promise<unknown>;
        return async (...given: unknown[]) => {
          const said = await operation(...given);
          // From the first posting on: until then the batch grows its hold.
          isRival ||= method === "post";
          await take();
          return said;
        };
      },
    });
    const stage = processOf("rival", { calls, vendors: vendors(() => true), ledger });
    await stage.jobs.start();
    const { progress } = await ended(stage, await launch(stage, "rival", PAYER.keyId, LINES));
    await stage.jobs.stop();
    expect(progress).toMatchObject({ done: LINES, failed: 0, refused: 0, spentNano: LINES * COST });
    expect(taken).toBe(LINES * (BOUND - COST));
    expect(await stores.ledger.account(ACCOUNT)).toMatchObject({ spentNano: LINES * COST, heldNano: taken });
  });

  it.each(["alive", "revoked", "frozen", "interrupted"] as const)(
    `${name}: a native batch whose hold ended without it is held again, unless its account is frozen: %s`,
    async (payer) => {
      const before = await stores.ledger.account(ACCOUNT);
      const keyId = `${ACCOUNT}.${name}.${payer}`;
      await stores.ledger.createKey(ACCOUNT, newKey(keyId));
      let looks = 0;
      let isDone = false;
      const vendor = vendors(() => {
        looks += 1;
        return isDone;
      });
      let caller: Caller | null = { payer: PAYER } as Caller;
      const parts = { calls: { ...calls, callerOf: async () => caller }, vendors: vendor, ledger: stores.ledger };
      const first = processOf(`first-${payer}`, parts);
      // Interrupted once its new hold is placed, and before that one has the money.
      let isAway = payer === "interrupted";
      const extend: Stores["ledger"]["extend"] = async (...given) => {
        if (!isAway) return stores.ledger.extend(...given);
        isAway = false;
        throw new Error("the store is away");
      };
      const ledger = new Proxy(stores.ledger, {
        get: (target, method: keyof Stores["ledger"]) => (method === "extend" ? extend : target[method]),
      });
      const second = processOf(`second-${payer}`, { ...parts, ledger });
      await first.jobs.start();
      const id = await launch(first, payer, keyId);
      await eventually(() => (looks > 0 ? true : undefined), "the provider's work");
      await first.jobs.stop();
      const hold = (await first.jobs.find(id, PAYER))?.hold ?? { accountId: "", holdId: "" };
      await stores.ledger.void(hold, "its lease ended");
      if (payer === "revoked") {
        caller = null;
        await stores.ledger.deleteKey(ACCOUNT, keyId);
      }
      if (payer === "frozen") await stores.ledger.patchAccount(ACCOUNT, { frozen: true });
      isDone = true;
      await second.jobs.start();
      await second.jobs.adopt();
      const { progress } = await ended(second, id);
      await second.jobs.stop();
      await stores.ledger.patchAccount(ACCOUNT, { frozen: false });
      const isPaid = payer !== "frozen";
      const spentNano = isPaid ? FEW * COST : 0;
      expect(progress).toMatchObject({ done: FEW, refused: isPaid ? 0 : FEW, spentNano });
      expect((progress as BatchProgress).outputs.length > 0).toBe(isPaid);
      const spent = ((await stores.ledger.account(ACCOUNT))?.spentNano ?? 0) - (before?.spentNano ?? 0);
      expect(spent).toBe(spentNano);
    },
  );

  it(`${name}: a paid native batch interrupted while it stores its files needs no money to end`, async () => {
    const stored = createBatchFiles(files);
    let rival = "";
    const keep: typeof stored.keep = async (...given) => {
      if (given[1].purpose === "batch" || rival !== "") return stored.keep(...given);
      const row = await stores.ledger.account(ACCOUNT);
      const free = (row?.grantedNano ?? 0) - (row?.spentNano ?? 0) - (row?.heldNano ?? 0);
      const hold = { accountId: ACCOUNT, holdId: "rival of files", cents: 0, nowMs: Date.now() };
      rival = (await stores.ledger.reserve(holdRequest(hold, { inference: false, amountNano: nano(free) }))).outcome;
      throw new Error("the store is away");
    };
    const parts = { calls, vendors: vendors(() => true), ledger: stores.ledger, files: { ...stored, keep } };
    const stage = processOf("files", parts);
    await stage.jobs.start();
    const { progress, end } = await ended(stage, await launch(stage, "files", PAYER.keyId));
    await stage.jobs.stop();
    expect([rival, progress, end]).toMatchObject(["held", { stop: null }, { result: { status: "completed" } }]);
  });
}
