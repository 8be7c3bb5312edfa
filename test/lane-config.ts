// Settings that all lanes share.

/** For the processes that run tests. */
export const PROCESSES = {
  pool: "forks" as const,
  setupFiles: ["test/support/file-cost.ts", "test/support/whole-day.ts"],
  runner: "test/support/skip-missing.ts",
  execArgv: ["--disable-warning=ExperimentalWarning"],
  // `expect.poll` waits as long as `eventually`.
  expect: { poll: { interval: 5, timeout: 60_000 } },
  // Node loads the sources itself, as for the gateway: nothing is transformed, and no call passes through a runner's exports.
  experimental: { viteModuleRunner: false, nodeLoader: false },
};

/** For a lane that is one project. */
export const LANE = { ...PROCESSES, globalSetup: ["test/support/run-folder.ts"] };
