// The vendor of a simulation: answers, fails, dies in mid-answer or hangs, and keeps its own books.
import type { FailureKind } from "../../src/core/failures.ts";
import type { Nano } from "../../src/core/money.ts";
import type { AnswerSink, Attempt, Candidate } from "../../src/core/route.ts";
import type { World } from "./network.ts";
import type { CallPlan, Fault, UpstreamFault } from "./scenario.ts";
import { OUTSIDE } from "./virtual-time.ts";

/** One call to the vendor. */
export interface Entry {
  readonly holdId: string;
  readonly provider: string;
  readonly call: CallPlan;
  readonly atMs: number;
  /** Its charge for the work so far. */
  nano: number;
  /** It began to act. */
  readonly ran: boolean;
  /** The client read its answer to the end, or left with a part of it: it must be charged. */
  served: boolean;
}

const FIRST_MS_MAX = 90_000;
const LAST_FIRST_MS_MAX = 100_000;
const REFUSE_MS = 5;

const FAILS: Readonly<Record<"refuses" | "rejects" | "fails" | "breaks", readonly [FailureKind, number, boolean]>> = {
  refuses: ["provider_connection_failed", 0, false],
  rejects: ["caller_invalid", 400, false],
  fails: ["provider_server_error", 500, true],
  breaks: ["provider_cut", 0, true],
};

export class Upstream {
  readonly entries: Entry[] = [];
  readonly #world: World;
  readonly #asked = new Map<number, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** The candidates of a call whose client leaves when `left` says so. */
  candidates(call: CallPlan, holdId: string, left: () => boolean): Candidate[] {
    return ["north", "south"].map((provider) => ({
      provider,
      model: `${provider}/small`,
      healthKey: provider,
      firstTokenMsMax: FIRST_MS_MAX,
      lastFirstTokenMsMax: LAST_FIRST_MS_MAX,
      readOnMsMax: 0,
      pointlessAfter: () => false,
      open: (sink, firstMsMax) => this.#open(sink, firstMsMax, { provider, call, holdId, left }),
    }));
  }

  #open(
    sink: AnswerSink,
    firstMsMax: number,
    asked: { provider: string; call: CallPlan; holdId: string; left: () => boolean },
  ): Attempt {
    const { provider, call, holdId, left } = asked;
    const { time, faults } = this.#world;
    const ask = this.#asked.get(call.id) ?? 0;
    this.#asked.set(call.id, ask + 1);
    const isThis = (fault: Fault): fault is Extract<Fault, { kind: UpstreamFault }> =>
      "ask" in fault && fault.call === call.id && fault.ask === ask;
    const how = faults.find(isThis)?.kind ?? null;
    const entry: Entry = {
      holdId,
      provider,
      call,
      atMs: time.nowMs,
      nano: 0,
      ran: how !== "refuses" && how !== "rejects",
      served: false,
    };
    this.entries.push(entry);
    const gateway = time.current;
    let over = false;
    let pieces = 0;
    let deliveredNano = 0;
    const say = (what: () => void) => void time.after(0, gateway, () => (over ? undefined : what()));
    const fail = (kind: FailureKind, status: number, mayHaveRun: boolean) =>
      say(() => {
        over = true;
        sink.failed({ kind, status, message: kind, retryAfterMs: null, mayHaveRun });
      });
    const quiet = time.after(firstMsMax, gateway, () => how !== "is-silent" && fail("provider_timeout", 0, true));

    const finish = () =>
      say(() => {
        over = true;
        entry.served = true;
        if (call.streamed) return sink.done({ kind: "stream", tail: Buffer.from("") });
        deliveredNano = entry.nano;
        sink.done({ kind: "body", body: { answer: this.entries.indexOf(entry) } });
      });
    const piece = () => {
      // A streaming vendor stops when told to.
      if (over && call.streamed) return;
      entry.nano += call.pieceNano;
      pieces++;
      if (call.streamed)
        say(() => {
          quiet();
          deliveredNano += call.pieceNano;
          sink.content(Buffer.from("."));
        });
      const isHalf = how === "breaks" && pieces * 2 >= call.pieces;
      if (isHalf) return fail(...FAILS.breaks);
      if (pieces < call.pieces) return void time.after(call.pieceMs, OUTSIDE, piece);
      if (!call.streamed) quiet();
      finish();
    };
    if (how === "hangs" || how === "is-silent") return attemptOf();
    if (how !== null && how !== "breaks") {
      if (how === "fails") entry.nano = call.pieceNano;
      time.after(how === "fails" ? call.firstMs : REFUSE_MS, OUTSIDE, () => fail(...FAILS[how]));
      return attemptOf();
    }
    time.after(call.firstMs, OUTSIDE, piece);
    return attemptOf();

    function attemptOf(): Attempt {
      return {
        pause() {},
        resume() {},
        // It streams, and charges only for what it has sent.
        accepted: () => deliveredNano > 0,
        abort() {
          if (over) return;
          over = true;
          quiet();
          if (!call.finishes && left() && deliveredNano > 0) {
            entry.served = true;
            // The vendor bears what was in transit to us when we hung up.
            entry.nano = deliveredNano;
          }
        },
        reading: () => {
          const delivered = { text: "", bytes: pieces };
          return { usage: null, delivered, upstreamCostNano: deliveredNano as Nano, skippedEvents: 0 };
        },
      };
    }
  }
}
