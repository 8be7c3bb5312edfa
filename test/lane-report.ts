// A lane's summary: how long its files took, and what this machine cannot run. For the quick lane, also whether it is still quick.
import { relative } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";

const SHOWN = 5;

export interface LaneBounds {
  /** What the lane leaves out. */
  readonly leftOut?: string;
  /** The most CPU time for all of its files together. */
  readonly cpuSecondsMax?: number;
}

/** The skipped tests by reason. */
function missingIn(modules: readonly TestModule[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const module of modules) {
    const parts = [module, ...module.children.allSuites(), ...module.children.allTests()];
    for (const part of parts) {
      const { missing } = part.meta();
      if (missing === undefined) continue;
      const name = part.type === "module" ? module.relativeModuleId : `${module.relativeModuleId}: ${part.fullName}`;
      found.set(missing, [...(found.get(missing) ?? []), name]);
    }
  }
  return found;
}

export default class LaneReport implements Reporter {
  readonly #bounds: LaneBounds;
  #root = "";

  constructor(bounds: LaneBounds = {}) {
    this.#bounds = bounds;
  }

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const { leftOut, cpuSecondsMax = Number.POSITIVE_INFINITY } = this.#bounds;
    const costs = modules
      .map((module) => ({ path: relative(this.#root, module.moduleId), seconds: module.meta().cpuSeconds ?? 0 }))
      .toSorted((one, other) => other.seconds - one.seconds);
    const sum = costs.reduce((total, { seconds }) => total + seconds, 0);
    const dearest = costs.slice(0, SHOWN).map(({ path, seconds }) => `${path} ${seconds.toFixed(1)}`);
    for (const [why, names] of missingIn(modules)) console.log(`Skipped: ${why}\n  ${names.join("\n  ")}`);
    console.log(`${modules.length} files, ${sum.toFixed(0)} s of the processor; most: ${dearest.join(", ")}.`);
    if (leftOut !== undefined) console.log(leftOut);
    if (sum <= cpuSecondsMax) return;
    console.log(`That is more than ${cpuSecondsMax} s: no longer a lane for every save.`);
    process.exitCode = 1;
  }
}
