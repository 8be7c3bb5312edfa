// The runner of every lane: skips a test that needs a program which this machine lacks and cannot install, and says so.
import { type RunnerTestCase, type RunnerTestSuite, TestRunner } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** The program that is missing, and how to install it. */
    missing?: string;
  }
}

/** Turns a failure by a missing program into a skipped task. */
function skipIfMissing({ result, meta }: RunnerTestCase | RunnerTestSuite): void {
  const missing = result?.errors?.find(({ name }) => name === "MissingProgram")?.message;
  if (result === undefined || missing === undefined) return;
  meta.missing = missing;
  delete result.errors;
  // The runner's own reports show the note.
  Object.assign(result, { state: "skip", note: missing });
}

export default class SkipMissing extends TestRunner {
  override async onAfterRetryTask(...args: Parameters<TestRunner["onAfterRetryTask"]>): Promise<void> {
    await super.onAfterRetryTask(...args);
    skipIfMissing(args[0]);
  }

  /** Where a hook failed, all tests of the suite have been skipped by now. */
  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onAfterRunSuite(suite);
    skipIfMissing(suite);
  }
}
