// Prepaid machine time: how the actions that begin, extend, describe and end it use the records, and what their answers say about it.
import type { ActionOffer } from "../../catalog/catalog.ts";
import type { PrepaidUse } from "../../catalog/prepaid.ts";
import type { Params } from "../../catalog/said.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import { isAccountPayer, type Payer } from "../../core/plan.ts";
import { enter } from "../../platform/records/cleanups.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Around } from "../../upstream/action-attempt.ts";
import { actionMsMax } from "../../upstream/action-candidate.ts";
import { idsAt } from "../../upstream/missing-from.ts";
import { labelOf } from "../../upstream/run-script.ts";
import { failureOfKind, VendorFailure } from "../../upstream/vendor-failure.ts";
import { METER_MS } from "./prepaid-session-meter.ts";
import {
  type Entry,
  endPrepaid,
  entryId,
  type Meter,
  PREPAID_SESSIONS,
  type PrepaidSession,
  prepaidOf,
  putPrepaid,
  type StoredPrepaidSession,
  strike,
} from "./prepaid-session-records.ts";
import { leavePlace, type PlacesDeps, takePlace } from "./prepaid-session-slots.ts";

const MINUTE_MS = 60_000;
/** How long after its deadline a call may still be answered. */
const LATE_MS = 30_000;
const TRIES_MAX = 5;

export interface PrepaidSessionsDeps extends PlacesDeps {
  readonly records: Records;
  readonly clock: Pick<Clock, "epochMs">;
}

interface Caller {
  readonly payer: Payer;
  readonly callId: string;
}

export type PrepaidSessions = ReturnType<typeof createPrepaidSessions>;

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

/** Why it cannot be extended by these minutes; null where it can. */
function extensionRefusal(
  stored: StoredPrepaidSession | null,
  { offer, params, nowMs }: { readonly offer: ActionOffer; readonly params: Params; readonly nowMs: number },
): GatewayError | null {
  const use = offer.spec.prepaid;
  if (use?.does !== "extends") return null;
  if (stored === null || stored.time.state !== "running" || stored.time.endsAtMs <= nowMs)
    return bad(use.id, "it has ended.");
  const { beganAtMs, endsAtMs } = stored.time;
  const minutesMax = offer.adapter.spec.prepaid?.minutesMax ?? 0;
  const most = Math.max(0, Math.floor((beganAtMs + minutesMax * MINUTE_MS - endsAtMs) / MINUTE_MS));
  if (minutesIn(use, params) <= most) return null;
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

const nowOf = ({ clock }: Pick<PrepaidSessionsDeps, "clock">) => Math.floor(clock.epochMs());

function find(offer: ActionOffer, id: unknown, payer: Payer, { records }: PrepaidSessionsDeps) {
  return prepaidOf(records, { adapter: offer.adapter.id, payer }, String(id));
}

/** The machine enters the calendar before the vendor creates it, so that it does not run on where the answer is lost. */
function beginning(offer: ActionOffer, params: Params, { payer, callId }: Caller, deps: PrepaidSessionsDeps): Around {
  const { records } = deps;
  const nowMs = () => nowOf(deps);
  const use = offer.spec.prepaid;
  const minutes = use === undefined ? 0 : minutesIn(use, params);
  const label = labelOf(callId);
  const owner = { id: payer.id, sandbox: payer.sandbox };
  const meter = meterOf(offer, params, payer);
  const metered = meter === null ? {} : { meter };
  const none = { label, adapter: offer.adapter.id, payer: owner, state: "running", ...metered } as const;
  let lostAtMs = 0;
  return {
    async before() {
      lostAtMs = nowMs() + actionMsMax(offer) + LATE_MS;
      const asked = { ...none, id: null, beganAtMs: nowMs(), endsAtMs: lostAtMs };
      await putPrepaid(records, asked, null);
      if (meter === null || !isAccountPayer(payer)) return;
      const refusal = await takePlace(offer, payer, label, deps);
      if (refusal === null) return;
      await strike(records, asked);
      throw refused(refusal);
    },
    async after(answer) {
      const kind = offer.adapter.spec.prepaid?.kind;
      const at = offer.spec.issues?.find((issued) => issued.kind === kind)?.at ?? "";
      const [id = null] = idsAt(answer, at);
      const beganAtMs = nowMs();
      const time = { ...none, id, beganAtMs, endsAtMs: beganAtMs + minutes * MINUTE_MS };
      await putPrepaid(records, time, null);
      if (meter !== null) {
        const read: Entry = { label, endsAtMs: beganAtMs + METER_MS, isMeter: true };
        await enter(records, PREPAID_SESSIONS, entryId(read), read);
      }
      if (lostAtMs !== time.endsAtMs) await strike(records, { label, endsAtMs: lostAtMs });
      return told(answer, time, beganAtMs);
    },
  };
}

async function extend(
  offer: ActionOffer,
  params: Params,
  payer: Payer,
  deps: PrepaidSessionsDeps,
): Promise<PrepaidSession> {
  const use = offer.spec.prepaid;
  if (use?.does !== "extends") throw new Error(`${offer.id} extends nothing`);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const stored = await find(offer, params[use.id], payer, deps);
    const refusal = extensionRefusal(stored, { offer, params, nowMs: nowOf(deps) });
    if (refusal !== null) throw refused(refusal);
    if (stored === null) continue;
    const { time, version } = stored;
    const longer: PrepaidSession = { ...time, endsAtMs: time.endsAtMs + minutesIn(use, params) * MINUTE_MS };
    if (await putPrepaid(deps.records, longer, version)) return longer;
  }
  throw refused(new GatewayError("upstream_busy", { detail: offer.id }));
}

export function createPrepaidSessions(deps: PrepaidSessionsDeps) {
  const { records } = deps;
  const nowMs = () => nowOf(deps);
  return {
    /** Why a call is refused before any hold; null where it is not. */
    async refusal(offer: ActionOffer, params: Params, payer: Payer): Promise<GatewayError | null> {
      const use = offer.spec.prepaid;
      if (use?.does !== "extends") return null;
      return extensionRefusal(await find(offer, params[use.id], payer, deps), { offer, params, nowMs: nowMs() });
    },

    /** Hooks around the attempts of a call; null where it does not concern prepaid time. */
    around(offer: ActionOffer, params: Params, caller: Caller): Around | null {
      const use = offer.spec.prepaid;
      if (use === undefined) return null;
      if (use.does === "begins") return beginning(offer, params, caller, deps);
      return {
        async before() {},
        async after(answer) {
          if (use.does === "extends") return told(answer, await extend(offer, params, caller.payer, deps), nowMs());
          const stored = await find(offer, params[use.id], caller.payer, deps);
          if (stored === null) return answer;
          const { time } = stored;
          if (use.does === "tells" && time.state === "ended") return told({ ...answer, ...use.over }, time, nowMs());
          if (use.does === "tells" || time.state === "ended") return told(answer, time, nowMs());
          await leavePlace(time, deps);
          // A concurrent extension has paid for time that no longer exists: the machine is over for both callers.
          const over = await endPrepaid(records, stored);
          await strike(records, over);
          return told(answer, over, nowMs());
        },
      };
    },
  };
}
