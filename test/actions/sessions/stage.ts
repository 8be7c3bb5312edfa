// Sessions over real stores with a clock that the test controls, at a vendor with boxes in memory that does what the test says.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JobRecord } from "../../../src/actions/jobs/job-record.ts";
import { Jobs } from "../../../src/actions/jobs/jobs.ts";
import { UNCLOSED } from "../../../src/actions/sessions/box-cleanups.ts";
import { openSessions, type Sessions } from "../../../src/actions/sessions/sessions.ts";
import type { BoxCommand, BoxOutput, SessionContext, SessionSpec } from "../../../src/catalog/adapter.ts";
import type { Adapter } from "../../../src/catalog/catalog.ts";
import type { LocalAction, LocalCall } from "../../../src/catalog/local-action.ts";
import type { JsonObject } from "../../../src/catalog/said.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { jobIdOf } from "../../../src/core/ids.ts";
import { type Nano, nano, nanoFromCents, ZERO } from "../../../src/core/money.ts";
import type { AccountPayer, KeptHoldSpec } from "../../../src/core/plan.ts";
import { createWindows } from "../../../src/kernel/windows.ts";
import type { Ledger } from "../../../src/money/ledger/model/ledger.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../../src/money/ledger/sqlite/ledger.ts";
import { Cleanups, type CleanupsSeen } from "../../../src/platform/records/cleanups.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../../src/platform/records/sqlite-records.ts";
import type { DiskBounds } from "../../../src/platform/storage/disk-guard.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import { failureOfKind, VendorFailure } from "../../../src/upstream/vendor-failure.ts";
import { newAccount } from "../../money/ledger/requests.ts";
import { NO_BOUNDS } from "../../money/ledger/store.ts";
import { eventually } from "../../support/gateway.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { callsOf } from "../jobs/stage.ts";

/** 2026-03-12 10:00 UTC. */
export const START_MS = Date.UTC(2026, 2, 12, 10);
export const MINUTE_MS = 60_000;

/** The vendor: its boxes, and its behavior when called. */
export class BoxVendor {
  readonly boxes = new Map<string, { label: string; envs: Readonly<Record<string, string>> }>();
  readonly asked: string[] = [];
  /** The labels of the requested boxes. */
  readonly labels: string[] = [];
  /** Overrides the results of a script's next calls. */
  readonly faults = new Map<string, () => unknown>();
  prints: (command: BoxCommand) => BoxOutput | Promise<BoxOutput> = ({ text }) => {
    return { stdout: text, stderr: "", exit_code: 0 };
  };
  #made = 0;

  async #do<T>(script: string, usual: () => T | Promise<T>): Promise<T> {
    this.asked.push(script);
    const fault = this.faults.get(script);
    if (fault !== undefined) return (await fault()) as T;
    return usual();
  }

  make(label: string, envs: Readonly<Record<string, string>> = {}): JsonObject {
    const id = `box-${++this.#made}`;
    this.boxes.set(id, { label, envs });
    return { id, token: "a secret of the vendor's" };
  }

  spec(more: Partial<SessionSpec> = {}): SessionSpec {
    const idOf = (box: JsonObject) => String(box.id);
    return {
      description: "A machine.",
      vcpus: 2,
      memoryGb: 4,
      metered: "open",
      centsPerHour: 60,
      upstreamCentsPerHour: 48,
      minutesMax: 300,
      leaseMinutes: 30,
      languages: ["python", "bash"],
      create: (_, { label, envs }) => {
        this.labels.push(label);
        return this.#do("create", () => this.make(label, envs));
      },
      run: (_, box, command) => this.#do("run", () => this.#run(idOf(box), command)),
      extend: () => this.#do("extend", () => {}),
      isOpen: (_, box) => this.#do("isOpen", () => this.boxes.has(idOf(box))),
      close: (_, box) => this.#do("close", () => void this.boxes.delete(idOf(box))),
      closeLabelled: (_, label) =>
        this.#do("closeLabelled", () => {
          for (const [id, box] of this.boxes) if (box.label === label) this.boxes.delete(id);
        }),
      ...more,
    };
  }

  #run(id: string, command: BoxCommand): BoxOutput | Promise<BoxOutput> {
    if (!this.boxes.has(id)) throw away();
    return this.prints(command);
  }
}

/** The vendor does not answer. */
export function away(): VendorFailure {
  return new VendorFailure({ ...failureOfKind("provider_timeout", "no answer"), mayHaveRun: true });
}

export function fails(): never {
  throw away();
}

/** The result of a session action. */
export type Said = Record<string, unknown> | GatewayError;

export interface SessionProcess {
  readonly jobs: Jobs;
  readonly sessions: Sessions;
  /** Makes one pass over the boxes that must be closed. */
  sweep(): Promise<void>;
  /** Boxes still to be closed after the last sweep. */
  unclosed(): CleanupsSeen;
  /** Calls an action as a caller does, except create_session. */
  call(action: "session" | "close", params: object, payer?: AccountPayer): Promise<Said>;
  /** Launches as the kernel does; returns the session's id, or the error. */
  create(params?: object, maxCostNano?: Nano | null, payer?: AccountPayer): Promise<string | GatewayError>;
  /** Its process dies: nothing is heard from it any more. */
  die(): Promise<void>;
}

export interface SessionStage {
  readonly ledger: Ledger;
  readonly records: Records;
  readonly vendor: BoxVendor;
  readonly clock: ReturnType<typeof manualClock>;
  /** How often each ledger operation was called. */
  readonly operations: Map<string, number>;
  process(): Promise<SessionProcess>;
  /** Advances the clock by minutes; after each, everything due has happened. */
  minutes(count: number, ms?: number): Promise<void>;
  /** An account with this many cents, as a payer. */
  account(name: string, cents: number): Promise<AccountPayer>;
  /** The job of a session, once it is over. */
  over(process: SessionProcess, sessionId: string, payer: AccountPayer): Promise<JobRecord>;
  job(process: SessionProcess, sessionId: string, payer: AccountPayer): Promise<JobRecord | null>;
  dispose(): Promise<void>;
}

interface Waiting {
  readonly atMs: number;
  readonly wake: () => void;
}

/** `disk`: the stores' folder, and how much space to keep free there; default: its own folder, and none. */
export async function sessionStage(
  more: Partial<SessionSpec> = {},
  startMs = START_MS,
  disk: { readonly folder: string; readonly bounds: DiskBounds } | null = null,
): Promise<SessionStage> {
  const folder = disk?.folder ?? mkdtempSync(join(tmpdir(), "tollgate-sessions-"));
  const clock = manualClock(startMs);
  const thread = await openSqliteThread({
    file: join(folder, "tollgate.db"),
    units: { ledger: LEDGER_UNIT, records: RECORDS_UNIT },
    clock,
    disk: disk?.bounds ?? NO_BOUNDS,
    sharing: "readers",
    onFatal: (error) => console.error("the store broke:", error),
  });
  const operations = new Map<string, number>();
  const ledger = new Proxy(sqliteLedger(thread), {
    get(target, name: keyof Ledger) {
      operations.set(name, (operations.get(name) ?? 0) + 1);
      return target[name];
    },
  });
  const records = sqliteRecords(thread);
  const vendor = new BoxVendor();
  const adapter = { id: "acme", spec: { sessions: vendor.spec(more) }, configured: true } as unknown as Adapter;
  const waiting = new Set<Waiting>();
  const processes: SessionProcess[] = [];
  let [number, calls] = [0, 0];

  /** Short waits are polls: they run in real time. */
  function wait(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0 && ms < 1_000) return new Promise((resolve) => setTimeout(resolve, 5));
    return new Promise((resolve) => {
      const wake = () => {
        waiting.delete(one);
        resolve();
      };
      const one = { atMs: clock.epochMs() + ms, wake };
      waiting.add(one);
      signal.addEventListener("abort", one.wake);
      if (signal.aborted || ms <= 0) one.wake();
    });
  }

  async function process(): Promise<SessionProcess> {
    let jobs: Jobs;
    const sessions = openSessions({
      records,
      ledger,
      clock,
      jobs: () => jobs,
      adapter: (id) => (id === "acme" ? adapter : null),
      vendorScript: (script, { signal }) => {
        const context = { key: "", label: "", signal, ask: async () => fails(), end: fails };
        return script(context as unknown as SessionContext);
      },
      wait,
      onBroken: (error) => console.error(error),
    });
    jobs = new Jobs({
      ledger,
      records,
      windows: createWindows(null),
      observer: { unpaid() {} },
      clock,
      shared: false,
      kinds: [sessions.kind],
      self: `process-${++number}`,
      runnerLeaseMs: 3_600_000,
      holdLeaseMs: 1_800_000,
      innerCalls: (outer) => callsOf(outer, "", []),
      // A store whose clock was moved reports it, and is retried: its test sees a session that does not continue.
      onBroken: () => {},
    });
    await jobs.start();
    await jobs.adopt();
    const named = (name: string): LocalAction => {
      const found = sessions.actionsOf(adapter).find(({ action }) => action === name);
      if (found === undefined) throw new Error(`no action ${name}`);
      return found;
    };
    const callOf = (id: string, payer: AccountPayer) => {
      return { id, payer, signal: new AbortController().signal, sandboxFault: null } as unknown as LocalCall;
    };
    const cleanups = new Cleanups({ records, clock, onBroken: (error) => console.error(error) }, [sessions.unclosed]);
    const made: SessionProcess = {
      jobs,
      sessions,
      sweep: () => cleanups.look(false),
      unclosed: () => cleanups.seen(UNCLOSED),
      async call(name, params, payer = ADA) {
        const action = named(name);
        return (await action.run(action.params.parse(params), callOf(`tx_call${++calls}`, payer))) as Said;
      },
      async create(params = {}, maxCostNano = null, payer = ADA) {
        const action = named("create_session");
        const { launches, price } = action;
        if (launches === undefined) throw new Error("it launches nothing");
        const holdId = `tx_launch${++calls}`;
        const slots = [{ scope: "sessions", max: launches.inFlightMax, code: "too_many_inflight" }] as const;
        const hold: KeptHoldSpec = {
          kind: "kept",
          owner: `job:${jobIdOf(holdId)}`,
          leaseMs: 1_800_000,
          onExpire: launches.onExpire ?? "void",
          job: launches.job,
          action: "acme/create_session",
          start: launches.start?.({}, maxCostNano),
          sandboxFault: null,
          chain: {
            firstId: holdId,
            keyId: payer.keyId,
            asked: "acme/create_session",
            slots,
            onExpire: launches.onExpire ?? "void",
          },
        };
        const amountNano = nanoFromCents(price.quoteCents?.({}) ?? 0);
        await jobs.keeper.announce(holdId, hold, payer);
        const held = await ledger.reserve({
          ...{ accountId: payer.accountId, holdId, keyId: payer.keyId, parentId: null, amountNano, slots },
          ...{ inference: false, windows: [], owner: hold.owner, leaseMs: hold.leaseMs, onExpire: hold.onExpire },
          ...{ requestId: "req", operation: "run", asked: "acme/create_session", effect: "write", idempotency: null },
          nowMs: clock.epochMs(),
        });
        if (held.outcome !== "held") throw new Error(held.outcome);
        try {
          const data = (await action.run(action.params.parse(params), callOf(holdId, payer))) as Record<
            string,
            unknown
          >;
          await jobs.keeper.takeOver({ id: holdId, amountNano }, hold);
          await eventually(() => (waiting.size >= jobs.running() ? true : undefined), "its first minute");
          return String(data.session_id);
        } catch (error) {
          await ledger.void({ accountId: payer.accountId, holdId }, "failed");
          await jobs.keeper.dismiss(holdId, hold);
          return error instanceof GatewayError ? error : new GatewayError("upstream_error", { cause: error });
        }
      },
      async die() {
        await jobs.stop();
        await cleanups.stop();
      },
    };
    processes.push(made);
    return made;
  }

  const running = () => processes.reduce((sum, { jobs }) => sum + jobs.running(), 0);
  const stage: SessionStage = {
    ledger,
    records,
    vendor,
    clock,
    operations,
    process,
    async minutes(count, ms = MINUTE_MS) {
      for (let minute = 0; minute < count; minute++) {
        clock.advance(ms);
        for (const one of [...waiting]) if (one.atMs <= clock.epochMs()) one.wake();
        await eventually(() => (waiting.size >= running() ? true : undefined), "the end of a minute");
      }
    },
    async account(name, cents) {
      await ledger.openAccount(newAccount(name, cents));
      return { id: `acct:${name}`, accountId: name, keyId: `${name}.key`, sandbox: false };
    },
    job: (made, sessionId, payer) => made.jobs.find(sessionId.replace("ses_", "job_"), payer),
    over: (made, sessionId, payer) =>
      eventually(async () => {
        const job = await stage.job(made, sessionId, payer);
        return job?.state === "succeeded" || job?.state === "failed" ? job : undefined;
      }, `the end of ${sessionId}`),
    async dispose() {
      for (const one of processes) await one.die();
      await thread.close();
      if (disk === null) removeFolder(folder);
    },
  };
  return stage;
}

export const ADA: AccountPayer = { id: "acct:ada", accountId: "ada", keyId: "ada.key", sandbox: false };

/** An account's spent and held amounts, in cents. */
export async function moneyOf({ ledger }: Pick<SessionStage, "ledger">, payer: AccountPayer) {
  const account = await ledger.account(payer.accountId);
  return { spent: (account?.spentNano ?? ZERO) / 1e7, held: (account?.heldNano ?? ZERO) / 1e7 };
}

export const cents = (count: number): Nano => nano(count * 1e7);
