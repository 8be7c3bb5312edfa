// A sealed thought opens only for the account and the maker that it was sealed for, whatever the tampering.
import { expect, test } from "vitest";
import type { ReasoningBlock } from "../../../src/core/neutral.ts";
import { SEAL_CHARS_MAX, thoughtSeal } from "../../../src/models/chat/seal.ts";

const THOUGHT: ReasoningBlock = {
  kind: "reasoning",
  text: "Ein Gedanke \u{1f512}",
  format: "vendor-v1",
  signature: "c2ln",
  sealed: null,
  callId: "call_1",
};
const MAKER = "vendor/maker";
const seal = thoughtSeal(["secret-of-today"], "acct:1");

test("it opens as it was sealed, and says nothing of what is in it", () => {
  const text = seal.seal(THOUGHT, MAKER) ?? "";
  expect(seal.open(text, MAKER)).toEqual(THOUGHT);
  expect(text).toMatch(/^tgs1_[\w-]+$/);
  expect(Buffer.from(text.slice(5), "base64url").toString("latin1")).not.toContain("vendor");
  expect(seal.seal(THOUGHT, MAKER)).not.toBe(text);
});

test("not for another account, maker, family or secret", () => {
  const text = seal.seal(THOUGHT, MAKER) ?? "";
  expect(thoughtSeal(["secret-of-today"], "acct:2").open(text, MAKER)).toBeNull();
  expect(thoughtSeal(["another"], "acct:1").open(text, MAKER)).toBeNull();
  expect(seal.open(text, "other/maker")).toBeNull();
  expect(seal.open(text, "vendor/other")).toBeNull();
});

test("under a new secret what was sealed under the old one opens still, until that is gone", () => {
  const text = seal.seal(THOUGHT, MAKER) ?? "";
  const rotated = thoughtSeal(["secret-of-tomorrow", "secret-of-today"], "acct:1");
  expect(rotated.open(text, MAKER)).toEqual(THOUGHT);
  const fresh = rotated.seal(THOUGHT, MAKER) ?? "";
  expect(thoughtSeal(["secret-of-tomorrow"], "acct:1").open(fresh, MAKER)).toEqual(THOUGHT);
  expect(seal.open(fresh, MAKER)).toBeNull();
});

test("no bit of it can be changed, and what is no seal is none", () => {
  const text = seal.seal(THOUGHT, MAKER) ?? "";
  const bytes = Buffer.from(text.slice(5), "base64url");
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(seal.open(`tgs1_${changed.toString("base64url")}`, MAKER)).toBeNull();
  }
  for (const foreign of [
    "",
    "tgs1_",
    "tgs1_AAAA",
    text.slice(0, -4),
    text.slice(5),
    `${text}AAAA`,
    "gAAAAAB-of-a-vendor",
  ]) {
    expect(seal.open(foreign, MAKER)).toBeNull();
  }
});

test("what is too long to be carried is not sealed, and not opened", () => {
  expect(seal.seal({ ...THOUGHT, text: "a".repeat(SEAL_CHARS_MAX) }, MAKER)).toBeNull();
  const fits = seal.seal({ ...THOUGHT, text: "a".repeat(190_000) }, MAKER) ?? "";
  expect(fits.length).toBeLessThanOrEqual(SEAL_CHARS_MAX);
  expect(seal.open(fits, MAKER)?.text).toHaveLength(190_000);
  expect(seal.open(fits.padEnd(SEAL_CHARS_MAX + 1, "A"), MAKER)).toBeNull();
});
