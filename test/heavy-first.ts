// The order of the suite's files: those that take longest begin first, so that none of them is left running alone at the end.
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Heaviest first, each ten seconds or more on two cores. The others follow as the runner knows them. */
const HEAVY = [
  "test/processes/several.test.ts",
  "test/redis/processes.test.ts",
  "test/pipeline/stream-faults.test.ts",
  "test/storage/redis-servers.test.ts",
  "test/ledger/spool/ledger.test.ts",
  "test/run/vendor-faults.test.ts",
  "test/cli/migrate.test.ts",
  "test/cli/restore.test.ts",
  "test/run/run-idempotency.test.ts",
  "test/ledger/spool/kill.test.ts",
  "test/redis/tour.test.ts",
];

export class HeavyFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification) => {
      const at = HEAVY.indexOf(relative(this.ctx.config.root, moduleId));
      return at < 0 ? HEAVY.length : at;
    };
    return sorted.toSorted((one, other) => place(one) - place(other));
  }
}
