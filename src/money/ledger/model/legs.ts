// The legs of a posting: at most so many and so long, and in the short form in which every store keeps them.
import type { PostedLeg } from "../../../core/account-rows.ts";
import { add, type Nano, nano, ZERO } from "../../../core/money.ts";

export const LEGS_MAX = 512;
export const LEGS_BYTES_MAX = 32 * 1024;

/** Stands for all of them, in a leg that sums legs of several. */
const SEVERAL = "*";
/** A character as JSON takes six bytes at most; a leg's numbers and marks fit into the second. */
const CHARACTER_BYTES_MAX = 6;
const LEG_BYTES_MAX = 96;

/** A leg as it is kept. What follows `ms` is left out of an ordinary one: that answered, once. */
export type PackedLeg =
  | readonly [vendor: string, model: string, upstream: number, ms: number]
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

function packed({ vendor, model, upstreamNano, ok, ms, reason, count, told }: PostedLeg): PackedLeg {
  const leg = [vendor, model, nano(upstreamNano), Math.round(ms)] as const;
  if (told !== undefined) {
    return [...leg, ok ? 1 : 0, reason, count, [told.action, nano(told.nano), told.ok ? 1 : 0]];
  }
  return ok && reason === null && count === 1 ? leg : [...leg, ok ? 1 : 0, reason, count];
}

function unpacked([vendor, model, upstream, ms, ok = 1, reason = null, count = 1, told]: PackedLeg): PostedLeg {
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

/** What legs are summed by, in turn, until they fit: what they ask for first, then ever less of it. The last leaves two legs. */
const BLURS: readonly Blur[] = [
  (leg) => leg,
  (leg) => ({ ...leg, model: SEVERAL }),
  (leg) => ({ ...leg, model: SEVERAL, reason: null }),
  (leg) => ({ ...leg, vendor: SEVERAL, model: SEVERAL, reason: null }),
];

/** One leg for all of a kind, in the order in which the kinds first came. */
function summed(legs: readonly PostedLeg[], blur: Blur): PostedLeg[] {
  const kinds = new Map<string, PostedLeg>();
  for (const [at, leg] of legs.map(blur).entries()) {
    const { vendor, model, ok, reason, upstreamNano, ms, count, told } = leg;
    // What a caller was told of stays a leg of its own: a model that acts has few of them.
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

/** The legs, where they fit; else those of one vendor, model and outcome as one. What they cost together stays the same. */
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

/** Postings and intents of releases that knew no legs have none. */
export function unpackLegs(legs: readonly PackedLeg[] | null | undefined): readonly PostedLeg[] {
  return legs == null ? [] : legs.map(unpacked);
}

/** Null where there are none. */
export function legsText(legs: readonly PostedLeg[]): string | null {
  return legs.length === 0 ? null : JSON.stringify(packLegs(legs));
}

export function legsIn(text: string | null): readonly PostedLeg[] {
  return text === null ? [] : unpackLegs(JSON.parse(text) as PackedLeg[]);
}

/** What they took from us together. */
export function legsCost(legs: readonly PostedLeg[]): Nano {
  return legs.reduce((sum, { upstreamNano }) => add(sum, upstreamNano), ZERO);
}

/** I13: what is wrong with a posting whose legs do not add up to what it says it cost us; null: nothing, or it has none. */
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
