// Runs what we send to a sprite's standard input in a real shell.
import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import sprites from "../../adapters/sprites.ts";
import type { StandInRequest } from "../../src/sandbox/stand-in.ts";
import { openBoxBench } from "../support/box-bench.ts";
import { folderForFile, forFile } from "../support/for-file.ts";

const home = folderForFile("sprite-");
const at = forFile(await openBoxBench("sprites", sprites));

function shell({ query, said = [] }: StandInRequest): string {
  const input = Buffer.concat(said.filter(([stream]) => stream === 0).map((one) => one.subarray(1)));
  const [command = "", ...args] = query.getAll("cmd");
  return execFileSync(command, args, { input, env: { PATH: process.env.PATH, HOME: home } }).toString();
}

/** The result of the last requested command in a real shell. */
function ranLast(): string {
  const asked = at.vendor.requests.at(-1);
  if (asked === undefined) throw new Error("nothing was asked");
  return shell(asked);
}

it("keeps a session's variables, and gives them to every command as they were written", async () => {
  const box = await at.create("tg-0", { GREETING: 'it\'s "$HOME"', OTHER: "two\nlines" });
  ranLast();
  await at.run(box, 'printf \'%s|%s\' "$GREETING" "$OTHER"; cat');
  expect(ranLast()).toBe('it\'s "$HOME"|two\nlines');
});

it("runs a program of many lines, longer than one message, and tells its exit code", async () => {
  const box = await at.create("tg-1");
  const lines = Array.from({ length: 8_000 }, (_, n) => `x=${n} # a comment`);
  await at.run(box, [...lines, 'echo "$x"', "exit 5"].join("\n"));
  const failed = (() => {
    try {
      return ranLast();
    } catch (error) {
      return error;
    }
  })();
  expect(failed).toMatchObject({ status: 5, stdout: Buffer.from("7999\n") });
});
