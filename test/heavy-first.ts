// The order of a run's files: those that start most go first, so that none of them runs alone at the end.
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { suiteFiles } from "./lanes.ts";

export class HeavyFirst extends BaseSequencer {
  /** Files of equal weight keep the runner's own order: last failures, slow files, large files. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const weights = new Map(suiteFiles().map(({ path, weight }) => [path, weight]));
    const weightOf = ({ moduleId }: TestSpecification) => weights.get(relative(this.ctx.config.root, moduleId)) ?? 0;
    return sorted.toSorted((one, other) => weightOf(other) - weightOf(one));
  }
}
