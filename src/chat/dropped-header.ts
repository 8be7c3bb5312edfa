// Tells the caller which fields of the body were not sent, so that a client with extras keeps working and nobody is left guessing.
import type { ModelCandidate } from "../upstream/upstream.ts";

const NAME = "x-tollgate-dropped";

/** A server of the operator's own takes fields that no vendor is sent: it bills nobody for them. */
export function isOwnServer({ adapter }: ModelCandidate["offer"]): boolean {
  return adapter.spec.local === true;
}

/** The header of a body's dropped fields; none where every candidate is a server of the operator's own, which is sent them. */
export function droppedHeader(dropped: readonly string[], ownServersOnly: boolean): Readonly<Record<string, string>> {
  return dropped.length === 0 || ownServersOnly ? {} : { [NAME]: dropped.join(",") };
}
