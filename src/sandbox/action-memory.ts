// The sandbox's memory of actions: the resources that vendors keep for their callers, and the progress of each call.
import type { JsonObject } from "../catalog/said.ts";
import type { Swaps } from "./action-ids.ts";

/** The state of one call, which is identified by its action and the gateway's request id. */
export interface ActionCall {
  /** The ids of its answers, chosen at its first request. */
  swaps: Swaps;
  /** The steps requested so far, by number. */
  readonly steps: Set<number>;
  /** A fault that applies once has been played. */
  applied: boolean;
  polls: number;
}

export interface ResourceName {
  readonly adapter: string;
  readonly kind: string;
  readonly id: string;
}

export interface Resource extends ResourceName {
  readonly item: JsonObject;
  /** The resources that contain it. */
  readonly parents: readonly ResourceName[];
  /** The number of polls that still report it as running. */
  readonly earlyLooks: number;
  /** When it ends; null: unknown. */
  readonly endsAtMs: number | null;
}

export interface ActionMemory {
  call(name: string): ActionCall;
  keep(resource: Resource): void;
  /** Also finds ended resources. */
  find(name: ResourceName): Resource | undefined;
  hasEnded(resource: Resource): boolean;
  /** The resources of a kind that have not ended, oldest first; a null parent means all parents. */
  list(of: {
    readonly adapter: string;
    readonly kind: string;
    readonly parent: ResourceName | null;
  }): readonly Resource[];
  end(name: ResourceName): void;
  epochMs(): number;
  reset(): void;
}

const CALLS_MAX = 10_000;
const RESOURCES_MAX = 50_000;
/** The limit for all stored resources together, as JSON. */
const CHARS_MAX = 32 * 1024 * 1024;

function makeRoom(kept: Map<string, unknown>, most: number): void {
  const oldest = kept.keys().next();
  if (kept.size >= most && !oldest.done) kept.delete(oldest.value);
}

function textOf({ adapter, kind, id }: ResourceName): string {
  return JSON.stringify([adapter, kind, id]);
}

/** `epochMs` returns the current time. Beyond a limit the oldest entries are dropped. */
export function createActionMemory(epochMs: () => number): ActionMemory {
  const calls = new Map<string, ActionCall>();
  const resources = new Map<string, { readonly resource: Resource; readonly chars: number }>();
  /** The names of each resource's parts. */
  const parts = new Map<string, Set<string>>();
  let chars = 0;

  const forget = (name: string) => {
    const known = resources.get(name);
    if (known === undefined) return;
    chars -= known.chars;
    resources.delete(name);
    for (const parent of known.resource.parents) parts.get(textOf(parent))?.delete(name);
    if (parts.get(name)?.size === 0) parts.delete(name);
  };
  const hasEnded = ({ endsAtMs }: Resource) => endsAtMs !== null && endsAtMs <= epochMs();
  const put = (resource: Resource) => {
    const name = textOf(resource);
    const size = JSON.stringify(resource.item).length;
    chars += size - (resources.get(name)?.chars ?? 0);
    resources.set(name, { resource, chars: size });
  };

  return {
    call(name) {
      const known = calls.get(name);
      if (known !== undefined) return known;
      const begun: ActionCall = { swaps: new Map(), steps: new Set(), applied: false, polls: 0 };
      makeRoom(calls, CALLS_MAX);
      calls.set(name, begun);
      return begun;
    },
    keep(resource) {
      put(resource);
      for (const parent of resource.parents) {
        const name = textOf(parent);
        const siblings = parts.get(name) ?? new Set();
        parts.set(name, siblings.add(textOf(resource)));
      }
      for (const [oldest] of resources) {
        if (resources.size <= RESOURCES_MAX && chars <= CHARS_MAX) break;
        forget(oldest);
      }
    },
    find: (name) => resources.get(textOf(name))?.resource,
    hasEnded,
    list({ adapter, kind, parent }) {
      const names = parent === null ? resources.keys() : (parts.get(textOf(parent)) ?? []);
      return [...names].flatMap((name) => {
        const found = resources.get(name)?.resource;
        const isOne = found !== undefined && found.adapter === adapter && found.kind === kind && !hasEnded(found);
        return isOne ? [found] : [];
      });
    },
    end(name) {
      const endsAtMs = epochMs();
      for (const one of [textOf(name), ...(parts.get(textOf(name)) ?? [])]) {
        const known = resources.get(one)?.resource;
        if (known !== undefined && !hasEnded(known)) put({ ...known, endsAtMs });
      }
    },
    epochMs,
    reset() {
      calls.clear();
      resources.clear();
      parts.clear();
      chars = 0;
    },
  };
}
