// A native batch beside a rival call that takes all money of the account that becomes free, in either store.
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { batchKind } from "../../../src/actions/batches/batch-kind.ts";
import { BatchPlaces } from "../../../src/actions/batches/batch-part.ts";
import type { BatchStart } from "../../../src/actions/batches/batch-record.ts";
import type { LineCalls } from "../../../src/actions/batches/line-calls.ts";
import type { BatchVendors } from "../../../src/actions/batches/native-batch.ts";
import { createBatchFiles } from "../../../src/actions/files/batch-files.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { nano, ZERO } from "../../../src/core/money.ts";
import type { Capture, Plan } from "../../../src/core/plan.ts";
import type { Stores } from "../../../src/gateway/stores.ts";
import { CENT, holdRequest, newAccount } from "../../money/ledger/requests.ts";
import { eventually } from "../../support/gateway.ts";
import { openTestFiles, type TestFiles } from "../files/open-test-files.ts";
import { ACCOUNT, openJobs, PAYER } from "../jobs/stage.ts";

/** Three parts. */
const LINES = 1_100;
const BOUND = nano(CENT / 100);
const COST = nano(CENT / 250);

/** Every line can cost `BOUND` and costs `COST`. */
const calls: LineCalls = {
  callerOf: async () => ({ payer: PAYER }) as never,
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

/** A provider that answers every line at the first look. */
function vendors(): BatchVendors {
  const ids: string[] = [];
  const format = {
    line(customId: string) {
      ids.push(customId);
      return `${customId}\n`;
    },
    upload: async () => null,
    create: async () => "b",
    find: async () => null,
    state: async () => ({ status: "completed", message: null, outputs: ["/answers"], answers: ids.length }),
    cancel: async () => {},
    answer: () => ({ status: 200, body: {} }),
  };
  const stream = async () =>
    Readable.from(
      ids.map((id) => `${JSON.stringify({ custom_id: id })}\n`),
      { objectMode: false },
    );
  const opened = { api: { linesMax: LINES, bytesMax: 1e9 }, format, client: { keyName: "k", stream } };
  return { percentOf: () => 100, open: () => opened as unknown as ReturnType<BatchVendors["open"]>, pollMs: 1 };
}

export function rivalContract(name: string, open: () => Promise<Stores>): void {
  let stores: Stores;
  let files: TestFiles;
  beforeAll(async () => {
    [stores, files] = await Promise.all([open(), openTestFiles()]);
    await stores.ledger.openAccount(newAccount(ACCOUNT, (LINES * BOUND) / CENT));
  });
  afterAll(async () => {
    expect((await stores.ledger.doctor()).findings).toEqual([]);
    await files.close();
    await stores.close();
  });

  it(`${name}: a native batch keeps its money until its last line is paid, whatever other calls take`, async () => {
    let taken = 0;
    let isRival = false;
    const take = async () => {
      if (!isRival) return;
      const row = await stores.ledger.account(ACCOUNT);
      const free = (row?.grantedNano ?? 0) - (row?.spentNano ?? 0) - (row?.heldNano ?? 0);
      if (free === 0) return;
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
    const batchFiles = createBatchFiles(files);
    const kind = batchKind({
      files: batchFiles,
      calls,
      places: new BatchPlaces(),
      vendors: vendors(),
      left: { add: async () => {} },
      clock: systemClock,
      free: async () => ZERO,
      onBroken: (error) => {
        throw error;
      },
      onLines() {},
    });
    const text = Array.from({ length: LINES }, (_, at) =>
      JSON.stringify({ custom_id: `${at}`, method: "POST", url: "/v1/chat/completions", body: {} }),
    ).join("\n");
    const bytes = (async function* () {
      yield Buffer.from(text);
    })();
    const file = { filename: "in.jsonl", purpose: "batch", sizeBytes: text.length, expiresAtMs: null } as const;
    const input = await batchFiles.keep(PAYER.id, file, bytes);
    if (input instanceof GatewayError) throw input;
    const start: BatchStart = {
      wire: "files",
      endpoint: "/v1/chat/completions",
      inputId: input.id,
      keyId: PAYER.keyId,
      maxCostNano: null,
      metadata: null,
      createdAtMs: Date.now(),
      outputMs: 3_600_000,
      headers: {},
    };
    const stage = openJobs({ ...stores, ledger }, `rival-${name}`, [kind]);
    await stage.jobs.start();
    const id = await stage.launch(`batch_${name}`, PAYER.keyId, { ...{ job: kind.name, start, amountNano: ZERO } });
    const job = await eventually(async () => {
      const found = await stage.jobs.find(id, PAYER);
      return found?.state === "succeeded" || found?.state === "failed" ? found : undefined;
    }, "the end of the batch");
    await stage.jobs.stop();
    expect(job.progress).toMatchObject({ done: LINES, failed: 0, refused: 0, spentNano: LINES * COST });
    expect(taken).toBe(LINES * (BOUND - COST));
    expect(await stores.ledger.account(ACCOUNT)).toMatchObject({ spentNano: LINES * COST, heldNano: taken });
  });
}
