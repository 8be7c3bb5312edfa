// `npm run soak -- --minutes=60 --seed=7`: runs the fault tests' soak for a chosen time.
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "60" }, seed: { type: "string" } } });
const VITEST = ["--disable-warning=ExperimentalWarning", "node_modules/vitest/vitest.mjs", "run"];
const child = spawn(process.execPath, [...VITEST, "--config", "vitest.faults.config.ts", "test/faults/soak.test.ts"], {
  stdio: "inherit",
  env: {
    ...process.env,
    SOAK_MINUTES: values.minutes,
    ...(values.seed === undefined ? {} : { SOAK_SEED: values.seed }),
  },
});
child.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
