// What a command may cost the process that the sandbox's machines run in.
import { expect, it } from "vitest";
import { createMachineRoom } from "../../src/sandbox/machines.ts";

it.each([
  ["many long outputs", "yes;".repeat(1_500), {}],
  ["a long variable, many times", `echo ${"$A".repeat(400)}`, { A: "x".repeat(1_000_000) }],
])("a command with %s is bounded", (_, text, envs) => {
  const machines = createMachineRoom().of("vendor");
  const machine = machines.make({ name: "box", envs, notes: {} });
  const { stdout } = machines.run(machine, { language: null, text, timeoutMs: 1_000 });
  expect(stdout.length).toBeLessThan(5_000_000);
});
