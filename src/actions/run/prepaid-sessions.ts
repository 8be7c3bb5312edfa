// Prepaid machine time: how the actions that begin, extend, describe and end it use the records, and what their answers say about it.
import type { ActionOffer } from "../../catalog/catalog.ts";
import type { PrepaidUse } from "../../catalog/prepaid.ts";
import type { Params } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import { isAccountPayer, type Payer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Around } from "../../upstream/action-attempt.ts";
import { actionMsMax } from "../../upstream/action-candidate.ts";
import { idsAt } from "../../upstream/missing-from.ts";
import { labelOf } from "../../upstream/run-script.ts";
import { failureOfKind, VendorFailure } from "../../upstream/vendor-failure.ts";
import { leavePlace, METER_MS, type PlacesDeps, takePlace } from "./prepaid-session-holds.ts";
import { type Meter, PrepaidRecords, type PrepaidSession } from "./prepaid-session-records.ts";

const MINUTE_MS = 60_000;
/** How long after its deadline a call may still be answered. */
const LATE_MS = 30_000;

export interface PrepaidSessionsDeps extends PlacesDeps {
  readonly records: Records;
}

interface Caller {
  readonly payer: Payer;
  readonly callId: string;
}

function bad(param: string, detail: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: `${param}: ${detail}` });
}

/** Whether a machine with these params makes the vendor charge for more than time. */
export function takesMoreWith(use: PrepaidUse | undefined, params: Params): boolean {
  return use?.does === "begins" && use.takesMoreWith !== undefined && params[use.takesMoreWith] !== undefined;
}

/** The meter of a machine whose vendor charges for more than time; null for others. */
function meterOf({ spec: { prepaid: use } }: ActionOffer, params: Params, payer: Payer): Meter | null {
  if (!takesMoreWith(use, params)) return null;
  // The sandbox costs us nothing.
  return isAccountPayer(payer) && !payer.sandbox
    ? { keyId: payer.keyId, countedNano: ZERO, steps: 0, pendingNano: null }
    : null;
}

function minutesIn(use: PrepaidUse, params: Params): number {
  return "minutes" in use ? Number(params[use.minutes]) : 0;
}

/** What it becomes if extended by these minutes, or why it cannot be. */
function extended(
  time: PrepaidSession | null,
  use: PrepaidUse & { readonly does: "extends" },
  { offer, params, nowMs }: { readonly offer: ActionOffer; readonly params: Params; readonly nowMs: number },
): PrepaidSession | GatewayError {
  if (time === null || time.state !== "running" || time.endsAtMs <= nowMs) return bad(use.id, "it has ended.");
  const { beganAtMs, endsAtMs } = time;
  const minutesMax = offer.adapter.spec.prepaid?.minutesMax ?? 0;
  const most = Math.max(0, Math.floor((beganAtMs + minutesMax * MINUTE_MS - endsAtMs) / MINUTE_MS));
  const minutes = minutesIn(use, params);
  if (minutes <= most) return { ...time, endsAtMs: endsAtMs + minutes * MINUTE_MS };
  const bound = `it can be paid for ${minutesMax} minutes in all, and so for at most ${most} more.`;
  return bad(use.minutes, bound);
}

function told(answer: object, { state, endsAtMs }: PrepaidSession, nowMs: number): object {
  const leftMs = state === "running" ? Math.max(0, endsAtMs - nowMs) : 0;
  const left = { paidMinutes: Math.floor(leftMs / 600) / 100, expiresAt: new Date(endsAtMs).toISOString() };
  return { ...answer, ...left };
}

function refused(error: GatewayError): VendorFailure {
  return new VendorFailure({ ...failureOfKind("caller_invalid", error.message), told: error, mayHaveRun: false });
}

export class PrepaidSessions {
  readonly #deps: PrepaidSessionsDeps;
  readonly #records: PrepaidRecords;

  constructor(deps: PrepaidSessionsDeps) {
    this.#deps = deps;
    this.#records = new PrepaidRecords(deps.records);
  }

  /** Why a call is refused before any hold; null where it is not. */
  async refusal(offer: ActionOffer, params: Params, payer: Payer): Promise<GatewayError | null> {
    const use = offer.spec.prepaid;
    if (use?.does !== "extends") return null;
    const time = await this.#find(offer, params[use.id], payer);
    const longer = extended(time, use, { offer, params, nowMs: this.#nowMs() });
    return longer instanceof GatewayError ? longer : null;
  }

  /** Hooks around the attempts of a call; null where it does not concern prepaid time. */
  around(offer: ActionOffer, params: Params, caller: Caller): Around | null {
    const use = offer.spec.prepaid;
    if (use === undefined) return null;
    if (use.does === "begins") return this.#beginning(offer, params, caller);
    return {
      async before() {},
      after: async (answer) => {
        const time = await this.#find(offer, params[use.id], caller.payer);
        const nowMs = this.#nowMs();
        if (use.does === "extends") {
          const longer = await this.#records.change(time?.label ?? "", (now) => {
            const to = extended(now, use, { offer, params, nowMs });
            if (to instanceof GatewayError) throw refused(to);
            return to;
          });
          return told(answer, longer, nowMs);
        }
        if (time === null) return answer;
        if (use.does === "tells" && time.state === "ended") return told({ ...answer, ...use.over }, time, nowMs);
        if (use.does === "tells" || time.state === "ended") return told(answer, time, nowMs);
        await leavePlace(time, this.#deps);
        // A concurrent extension has paid for time that no longer exists: the machine is over for both callers.
        const over = await this.#records.change(time.label, (now) => ({ ...(now ?? time), state: "ended" }));
        await this.#records.strike(over);
        return told(answer, over, nowMs);
      },
    };
  }

  /** The machine enters the calendar before the vendor creates it, so that it does not run on where the answer is lost. */
  #beginning(offer: ActionOffer, params: Params, { payer, callId }: Caller): Around {
    const records = this.#records;
    const use = offer.spec.prepaid;
    const minutes = use === undefined ? 0 : minutesIn(use, params);
    const label = labelOf(callId);
    const owner = { id: payer.id, sandbox: payer.sandbox };
    const meter = meterOf(offer, params, payer);
    const metered = meter === null ? {} : { meter };
    const none = { label, adapter: offer.adapter.id, payer: owner, state: "running", ...metered } as const;
    let lostAtMs = 0;
    return {
      before: async () => {
        const nowMs = this.#nowMs();
        lostAtMs = nowMs + actionMsMax(offer) + LATE_MS;
        const asked = { ...none, id: null, beganAtMs: nowMs, endsAtMs: lostAtMs };
        await records.change(label, () => asked);
        if (meter === null || !isAccountPayer(payer)) return;
        const refusal = await takePlace(offer, payer, label, this.#deps);
        if (refusal === null) return;
        await records.strike(asked);
        throw refused(refusal);
      },
      after: async (answer) => {
        const kind = offer.adapter.spec.prepaid?.kind;
        const at = offer.spec.issues?.find((issued) => issued.kind === kind)?.at ?? "";
        const [id = null] = idsAt(answer, at);
        const beganAtMs = this.#nowMs();
        const time = { ...none, id, beganAtMs, endsAtMs: beganAtMs + minutes * MINUTE_MS };
        await records.change(label, () => time);
        if (meter !== null) await records.enter({ label, endsAtMs: beganAtMs + METER_MS, isMeter: true });
        if (lostAtMs !== time.endsAtMs) await records.strike({ label, endsAtMs: lostAtMs });
        return told(answer, time, beganAtMs);
      },
    };
  }

  #find(offer: ActionOffer, id: unknown, payer: Payer): Promise<PrepaidSession | null> {
    return this.#records.findById({ adapter: offer.adapter.id, payer }, String(id));
  }

  #nowMs(): number {
    return Math.floor(this.#deps.clock.epochMs());
  }
}
