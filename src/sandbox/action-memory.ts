// What the sandbox remembers of actions: which ids it has issued, and how far each call has come.
import type { Swaps } from "./action-ids.ts";

/** One call: an action, and the gateway's id of the request. */
export interface ActionCall {
  /** The ids of its answers, known since its first request. */
  swaps: Swaps;
  /** The requests that have come, by the number of their step. */
  readonly steps: Set<number>;
  /** A fault that applies once has been applied. */
  applied: boolean;
  polls: number;
}

export interface ActionMemory {
  /** The call of that name; begun where it is not known. */
  call(name: string): ActionCall;
  issue(adapter: string, kind: string, id: string): void;
  isIssued(adapter: string, kind: string, id: string): boolean;
  reset(): void;
}

const CALLS_MAX = 10_000;
const IDS_MAX = 100_000;

/** Makes room for one more: what came first is forgotten. */
function makeRoom(kept: Map<string, unknown>, most: number): void {
  const oldest = kept.keys().next();
  if (kept.size >= most && !oldest.done) kept.delete(oldest.value);
}

export function createActionMemory(): ActionMemory {
  const calls = new Map<string, ActionCall>();
  const ids = new Map<string, true>();
  const nameOf = (adapter: string, kind: string, id: string) => JSON.stringify([adapter, kind, id]);
  return {
    call(name) {
      const known = calls.get(name);
      if (known !== undefined) return known;
      const begun: ActionCall = { swaps: new Map(), steps: new Set(), applied: false, polls: 0 };
      makeRoom(calls, CALLS_MAX);
      calls.set(name, begun);
      return begun;
    },
    issue(adapter, kind, id) {
      makeRoom(ids, IDS_MAX);
      ids.set(nameOf(adapter, kind, id), true);
    },
    isIssued: (adapter, kind, id) => ids.has(nameOf(adapter, kind, id)),
    reset() {
      calls.clear();
      ids.clear();
    },
  };
}
