// The sandbox's memory of actions: the resources that vendors keep for their callers, and the progress of each call.
import type { JsonObject } from "../catalog/said.ts";
import { getOrMake, makeRoom } from "../core/maps.ts";
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

const CALLS_MAX = 10_000;
const RESOURCES_MAX = 50_000;
/** The limit for all stored resources together, as JSON. */
const CHARS_MAX = 32 * 1024 * 1024;

function textOf({ adapter, kind, id }: ResourceName): string {
  return JSON.stringify([adapter, kind, id]);
}

/** Beyond a limit the oldest entries are dropped. */
export class ActionMemory {
  readonly epochMs: () => number;
  readonly #calls = new Map<string, ActionCall>();
  readonly #resources = new Map<string, { readonly resource: Resource; readonly chars: number }>();
  /** The names of each resource's parts. */
  readonly #parts = new Map<string, Set<string>>();
  #chars = 0;

  constructor(epochMs: () => number) {
    this.epochMs = epochMs;
  }

  call(name: string): ActionCall {
    return getOrMake(this.#calls, name, () => {
      makeRoom(this.#calls, CALLS_MAX);
      return { swaps: new Map(), steps: new Set(), applied: false, polls: 0 };
    });
  }

  keep(resource: Resource): void {
    this.#put(resource);
    for (const parent of resource.parents) {
      getOrMake(this.#parts, textOf(parent), () => new Set()).add(textOf(resource));
    }
    for (const [oldest] of this.#resources) {
      if (this.#resources.size <= RESOURCES_MAX && this.#chars <= CHARS_MAX) break;
      this.#forget(oldest);
    }
  }

  /** Also finds ended resources. */
  find(name: ResourceName): Resource | undefined {
    return this.#resources.get(textOf(name))?.resource;
  }

  hasEnded({ endsAtMs }: Resource): boolean {
    return endsAtMs !== null && endsAtMs <= this.epochMs();
  }

  /** The resources of a kind that have not ended, oldest first; a null parent means all parents. */
  list(of: Pick<ResourceName, "adapter" | "kind"> & { readonly parent: ResourceName | null }): readonly Resource[] {
    const names = of.parent === null ? this.#resources.keys() : (this.#parts.get(textOf(of.parent)) ?? []);
    return [...names].flatMap((name) => {
      const found = this.#resources.get(name)?.resource;
      const isOne = found?.adapter === of.adapter && found.kind === of.kind && !this.hasEnded(found);
      return isOne ? [found] : [];
    });
  }

  end(name: ResourceName): void {
    const endsAtMs = this.epochMs();
    for (const one of [textOf(name), ...(this.#parts.get(textOf(name)) ?? [])]) {
      const known = this.#resources.get(one)?.resource;
      if (known !== undefined && !this.hasEnded(known)) this.#put({ ...known, endsAtMs });
    }
  }

  reset(): void {
    this.#calls.clear();
    this.#resources.clear();
    this.#parts.clear();
    this.#chars = 0;
  }

  #put(resource: Resource): void {
    const name = textOf(resource);
    const chars = JSON.stringify(resource.item).length;
    this.#chars += chars - (this.#resources.get(name)?.chars ?? 0);
    this.#resources.set(name, { resource, chars });
  }

  #forget(name: string): void {
    const known = this.#resources.get(name);
    if (known === undefined) return;
    this.#chars -= known.chars;
    this.#resources.delete(name);
    for (const parent of known.resource.parents) this.#parts.get(textOf(parent))?.delete(name);
    if (this.#parts.get(name)?.size === 0) this.#parts.delete(name);
  }
}
