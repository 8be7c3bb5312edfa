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

it("a command that redirects long outputs keeps little in the machine's files", () => {
  const machines = createMachineRoom().of("vendor");
  const machine = machines.make({ name: "box", envs: { A: "x".repeat(32_000) }, notes: {} });
  const text = Array.from({ length: 40 }, (_, at) => `echo ${"$A".repeat(100)} > f${at}`).join("\n");
  expect(machines.run(machine, { language: null, text, timeoutMs: 1_000 })).toMatchObject({ exit_code: 1 });
  const rewritten = Array.from({ length: 40 }, () => `echo ${"$A".repeat(10)} > one`).join("\n");
  expect(machines.run(machine, { language: null, text: rewritten, timeoutMs: 1_000 })).toMatchObject({
    exit_code: 137,
  });
  const kept = [...machine.files.values()].reduce((sum, { length }) => sum + length, 0);
  expect(kept).toBeLessThan(1_000_000);
});

it("a variable that only every object has is empty", () => {
  const machines = createMachineRoom().of("vendor");
  const machine = machines.make({ name: "box", envs: {}, notes: {} });
  const { stdout } = machines.run(machine, { language: null, text: "echo $constructor$__proto__", timeoutMs: 1_000 });
  expect(stdout).toBe("\n");
});
