// Settings that all lanes share.

/** For the processes that run tests. */
export const PROCESSES = {
  pool: "forks" as const,
  setupFiles: ["test/support/file-cost.ts"],
  runner: "test/support/skip-missing.ts",
  execArgv: ["--disable-warning=ExperimentalWarning"],
  // Node loads the sources itself, as for the gateway: nothing is transformed, and no call passes through a runner's exports.
  experimental: { viteModuleRunner: false, nodeLoader: false },
};

/** For a lane that is one project. */
export const LANE = { ...PROCESSES, globalSetup: ["test/support/run-folder.ts"] };
