// The last word of the quick lane: how much of the suite it left out, and whether it is still quick.
import { relative } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";

/** Two quiet cores spend a minute on twice as much. */
const CPU_SECONDS_MAX = 110;
const SHOWN = 5;

export class QuickReport implements Reporter {
  readonly #leftOut: number;
  #root = "";

  constructor(leftOut: number) {
    this.#leftOut = leftOut;
  }

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const costs = modules
      .map((module) => ({ path: relative(this.#root, module.moduleId), seconds: module.meta().cpuSeconds ?? 0 }))
      .toSorted((one, other) => other.seconds - one.seconds);
    const sum = costs.reduce((total, { seconds }) => total + seconds, 0);
    console.log(
      `Quick lane: ${modules.length} files, ${sum.toFixed(0)} s of the processor. ` +
        `Left out: ${this.#leftOut} files that start processes, gateways or random histories (npm test), and the fault tests (npm run test:faults).`,
    );
    if (sum <= CPU_SECONDS_MAX) return;
    const dearest = costs.slice(0, SHOWN).map(({ path, seconds }) => `${path} ${seconds.toFixed(1)}`);
    console.log(`That is more than ${CPU_SECONDS_MAX} s: no longer a lane for every save. ${dearest.join(", ")}`);
    process.exitCode = 1;
  }
}
