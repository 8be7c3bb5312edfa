// What all lanes have in common.

/** Of the processes that run tests. */
export const PROCESSES = {
  pool: "forks" as const,
  setupFiles: ["test/support/file-cost.ts"],
  runner: "test/support/skip-missing.ts",
  execArgv: ["--disable-warning=ExperimentalWarning"],
  // Node reads the sources itself, as it does for the gateway: nothing is transformed, and no call goes by way of a runner's exports.
  experimental: { viteModuleRunner: false, nodeLoader: false },
};

/** Of a lane that is one project. */
export const LANE = { ...PROCESSES, globalSetup: ["test/support/run-folder.ts"] };
