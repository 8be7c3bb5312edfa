// The order of a lane's files: a few that take minutes go first, so that none of them runs alone at the end.
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** `names`: those files without `.test.ts`, longest first. The rest follow in the runner's own order. */
export function longestFirst(names: readonly string[]) {
  const rankOf = ({ moduleId }: TestSpecification) => {
    const rank = names.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
    return rank === -1 ? names.length : rank;
  };
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
    }
  };
}
