// A posting's legs: bounded in count and size, in the compact form that every store keeps.
import type { LegInRun, PostedLeg } from "../../../core/account-rows.ts";
import { add, type Nano, nano, ZERO } from "../../../core/money.ts";

export const LEGS_MAX = 512;
export const LEGS_BYTES_MAX = 32 * 1024;

/** Marks a leg that sums legs with several values in this field. */
const SEVERAL = "*";
/** JSON writes a character in at most six bytes; that also leaves room for a leg's numbers and marks. */
const CHARACTER_BYTES_MAX = 6;
const LEG_BYTES_MAX = 96;

/** A stored leg. An ordinary one, which answered once, omits the fields after `ms`. */
export type PackedLeg =
  | readonly [vendor: string, model: string, upstream: number, ms: number]
  | PackedInRun
  | readonly [
      vendor: string,
      model: string,
      upstream: number,
      ms: number,
      ok: 0 | 1,
      reason: string | null,
      count: number,
      told?: readonly [action: string | null, nano: number, ok: 0 | 1],
    ];

/** Shorter than a leg with an outcome. */
type PackedInRun = readonly [
  vendor: string,
  model: string,
  upstream: number,
  ms: number,
  firstTokenMs: LegInRun["firstTokenMs"],
  requestHash: string,
];
const IN_RUN_FIELDS = 6;
const isInRun = (leg: PackedLeg): leg is PackedInRun => leg.length === IN_RUN_FIELDS;

function packed({ vendor, model, upstreamNano, ok, ms, reason, count, told, inRun }: PostedLeg): PackedLeg {
  const leg = [vendor, model, nano(upstreamNano), Math.round(ms)] as const;
  if (told !== undefined) {
    return [...leg, ok ? 1 : 0, reason, count, [told.action, nano(told.nano), told.ok ? 1 : 0]];
  }
  if (!ok || reason !== null || count !== 1) return [...leg, ok ? 1 : 0, reason, count];
  return inRun === undefined ? leg : [...leg, inRun.firstTokenMs, inRun.requestHash];
}

function unpacked(packedLeg: PackedLeg): PostedLeg {
  if (isInRun(packedLeg)) {
    const [vendor, model, upstream, ms, firstTokenMs, requestHash] = packedLeg;
    const inRun = { firstTokenMs, requestHash };
    return { vendor, model, upstreamNano: nano(upstream), ok: true, ms, reason: null, count: 1, inRun };
  }
  const [vendor, model, upstream, ms, ok = 1, reason = null, count = 1, told] = packedLeg;
  const leg = { vendor, model, upstreamNano: nano(upstream), ok: ok === 1, ms, reason, count };
  return told === undefined ? leg : { ...leg, told: { action: told[0], nano: nano(told[1]), ok: told[2] === 1 } };
}

function fits(legs: readonly PostedLeg[]): boolean {
  if (legs.length > LEGS_MAX) return false;
  let most = 0;
  for (const { vendor, model, reason, told } of legs) {
    const chars = vendor.length + model.length + (reason?.length ?? 0) + (told?.action?.length ?? 0);
    most += LEG_BYTES_MAX + CHARACTER_BYTES_MAX * chars;
  }
  return most <= LEGS_BYTES_MAX || Buffer.byteLength(JSON.stringify(legs.map(packed))) <= LEGS_BYTES_MAX;
}

type Blur = (leg: PostedLeg) => PostedLeg;

/** The groupings by which legs are summed until they fit, from finest to coarsest. The last leaves two legs. */
const BLURS: readonly Blur[] = [
  (leg) => leg,
  (leg) => ({ ...leg, model: SEVERAL }),
  (leg) => ({ ...leg, model: SEVERAL, reason: null }),
  (leg) => ({ ...leg, vendor: SEVERAL, model: SEVERAL, reason: null }),
];

function summed(legs: readonly PostedLeg[], blur: Blur): PostedLeg[] {
  const kinds = new Map<string, PostedLeg>();
  for (const [at, leg] of legs.map(blur).entries()) {
    const { vendor, model, ok, reason, upstreamNano, ms, count, told } = leg;
    // A leg that was reported to the caller stays separate: a call of a model with tools has few of them.
    const kind = JSON.stringify([vendor, model, ok, reason, told === undefined ? null : at]);
    const before = kinds.get(kind);
    if (before === undefined) kinds.set(kind, leg);
    else
      kinds.set(kind, {
        ...before,
        upstreamNano: add(before.upstreamNano, upstreamNano),
        ms: before.ms + ms,
        count: before.count + count,
      });
  }
  return [...kinds.values()];
}

/** The legs themselves where they fit; else summed by vendor, model and outcome. Their total cost is unchanged. */
export function compactLegs(legs: readonly PostedLeg[]): readonly PostedLeg[] {
  if (fits(legs)) return legs;
  let fewer: readonly PostedLeg[] = legs;
  for (const blur of BLURS) {
    fewer = summed(legs, blur);
    if (fits(fewer)) break;
  }
  return fewer;
}

export function packLegs(legs: readonly PostedLeg[]): readonly PackedLeg[] {
  return compactLegs(legs).map(packed);
}

/** Postings and intents of releases without legs have none. */
export function unpackLegs(legs: readonly PackedLeg[] | null | undefined): readonly PostedLeg[] {
  return legs == null ? [] : legs.map(unpacked);
}

export function legsText(legs: readonly PostedLeg[]): string | null {
  return legs.length === 0 ? null : JSON.stringify(packLegs(legs));
}

export function legsIn(text: string | null): readonly PostedLeg[] {
  return text === null ? [] : unpackLegs(JSON.parse(text) as PackedLeg[]);
}

export function legsCost(legs: readonly PostedLeg[]): Nano {
  return legs.reduce((sum, { upstreamNano }) => add(sum, upstreamNano), ZERO);
}

/** I13: how a posting's legs fail to add up to its cost; null where they add up, or it has none. */
export function legsFault(posting: {
  readonly transactionId: string;
  readonly upstreamNano: Nano;
  readonly legs: readonly PostedLeg[];
}): string | null {
  const { transactionId, upstreamNano, legs } = posting;
  const cost = legsCost(legs);
  if (legs.length === 0 || cost === upstreamNano) return null;
  return `${transactionId} cost us ${upstreamNano}, its legs add up to ${cost}`;
}
