// Refines the order of candidates: deployments of one model share its calls by weight, and a conversation stays where it was served last.
import { hash } from "node:crypto";
import type { MovedConversations } from "../../upstream/moved-conversations.ts";
import type { Placed } from "./prefer.ts";

export interface RouteOrder {
  readonly placed: readonly Placed[];
  /** The health key of the route that the conversation returns to; null: the order is that of any call. */
  readonly stuckTo: string | null;
  /** The first route if the conversation had not moved. */
  readonly first: Placed | null;
}

/** True for deployments: routes to the same model at the same provider, which share its calls. */
function areEquals(a: Placed, b: Placed | undefined): boolean {
  return b !== undefined && a.fit === b.fit && a.candidate.provider === b.candidate.provider;
}

function weightOf({ candidate: { offer } }: Placed): number {
  return offer.weight;
}

/** A stable number from 0 to 1 per conversation and route, so that losing one route does not move other conversations. */
function drawOf(conversation: string, { candidate }: Placed): number {
  return Number.parseInt(hash("sha1", `${conversation}\n${candidate.healthKey}`).slice(0, 12), 16) / 2 ** 48;
}

/** Orders deployments by a weighted draw (rendezvous hashing). */
function drawn(equals: readonly Placed[], conversation: string): readonly Placed[] {
  const scores = new Map(equals.map((one) => [one, -Math.log(drawOf(conversation, one) + 2 ** -50) / weightOf(one)]));
  return [...equals].sort((a, b) => (scores.get(a) ?? 0) - (scores.get(b) ?? 0));
}

function byWeight(placed: readonly Placed[], conversation: () => string): readonly Placed[] {
  if (!placed.some((one, at) => areEquals(one, placed[at + 1]))) return placed;
  const groups: Placed[][] = [];
  for (const one of placed) {
    const last = groups.at(-1);
    if (last !== undefined && areEquals(one, last[0])) last.push(one);
    else groups.push([one]);
  }
  return groups.flatMap((group) => (group.length === 1 ? group : drawn(group, conversation())));
}

/** Computes `conversation` only where it matters: where a model has several deployments or a conversation has moved lately. */
export function routeOrder(
  placed: readonly Placed[],
  {
    conversation,
    moved,
  }: { readonly conversation: () => string; readonly moved: Pick<MovedConversations, "size" | "routeOf"> },
): RouteOrder {
  const shared = byWeight(placed, conversation);
  const [first = null] = shared;
  const healthKey = moved.size === 0 ? null : moved.routeOf(conversation());
  const at = healthKey === null ? -1 : shared.findIndex(({ candidate }) => candidate.healthKey === healthKey);
  const stuck = shared[at];
  if (stuck === undefined || at === 0) return { placed: shared, stuckTo: null, first };
  return { placed: [stuck, ...shared.slice(0, at), ...shared.slice(at + 1)], stuckTo: healthKey, first };
}
