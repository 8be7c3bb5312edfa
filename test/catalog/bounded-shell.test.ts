// Runs the shell line that limits the output of a vendor's machine in a real shell.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { boundedCommand, boundedLine, boundedOutput, boundedPrint } from "../../src/catalog/bounded-shell.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";

onlyAProcessShows("a shell on a vendor's machine");

const run = promisify(execFile);

async function ran(text: string, timeoutMs = 20_000, language: "python" | "javascript" | null = null) {
  const { stdout } = await run("sh", ["-c", boundedLine(language, { text, timeoutMs })], { maxBuffer: 2 ** 24 });
  return boundedOutput(stdout);
}

describe.skipIf(process.platform !== "linux")("a bounded command", () => {
  it("tells its two sides apart, with its exit code, whatever quotes stand in it", async () => {
    const text = `echo "it's \\"so\\" \`echo x\` $((1 + 1))"; echo oh >&2; exit 3`;
    expect(await ran(text)).toEqual({ stdout: `it's "so" x 2\n`, stderr: "oh\n", exit_code: 3 });
  });

  it("ends where it prints without end, and tells the first part", async () => {
    const flood = await ran("yes");
    expect(flood).toMatchObject({ truncated: true, stderr: "" });
    expect(flood?.stdout).toHaveLength(262_144);
  });

  it("ends when its time is over, and keeps what it had printed", async () => {
    expect(await ran("echo begun; sleep 60", 1_000)).toMatchObject({
      stdout: "begun\n",
      exit_code: 124,
      timed_out: true,
    });
  });

  it("does not wait for what it left running, nor for words that nobody types", async () => {
    const from = Date.now();
    expect(await ran("sleep 60 & echo started; cat")).toEqual({ stdout: "started\n", stderr: "", exit_code: 0 });
    expect(Date.now() - from).toBeLessThan(30_000);
  });

  it("may print what is not UTF-8", async () => {
    expect((await ran("printf 'a\\377b'"))?.stdout).toBe("a\ufffdb");
  });

  it("may be a program", async () => {
    const text = "console.log(process.argv.length, 'a\\nb')";
    expect(await ran(text, 20_000, "javascript")).toEqual({ stdout: "1 a\nb\n", stderr: "", exit_code: 0 });
  });
});

it("a stand-in reads the command of such a line, and answers as it prints", () => {
  const command = { language: "python", text: "print('ü')\n$(rm -rf /)", timeoutMs: 5_000 } as const;
  expect(boundedCommand(boundedLine("python", command))).toEqual(command);
  expect(boundedCommand("echo hello")).toBeNull();
  const output = { stdout: "ü\n", stderr: "", exit_code: 0 };
  expect(boundedOutput(boundedPrint(output))).toEqual(output);
  expect(boundedOutput("no such line")).toBeNull();
});
