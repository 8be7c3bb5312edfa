import { createHash } from "node:crypto";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  adminCheck,
  adminTokenPath,
  ensureAdminToken,
  readAdminToken,
} from "../../../src/money/accounts/admin-token.ts";
import { isMistyped, keyHash, looksLikeKey, mintId, mintKey } from "../../../src/money/accounts/secrets.ts";
import { folderForTest } from "../../support/for-file.ts";

describe("a key's secret", () => {
  test("has 43 random base62 characters and 6 to check them by, after a prefix that tells sandbox from live", () => {
    expect(mintKey(false).secret).toMatch(/^tg_sk_[0-9A-Za-z]{49}$/);
    expect(mintKey(true).secret).toMatch(/^tg_sk_test_[0-9A-Za-z]{49}$/);
    expect(looksLikeKey(mintKey(false).secret) && looksLikeKey(mintKey(true).secret)).toBe(true);
  });

  test("is stored as its SHA-256, and hinted at without giving it away", () => {
    const { secret, secretHash, hint } = mintKey(false);
    expect(secretHash).toBe(createHash("sha256").update(secret).digest("hex"));
    expect(keyHash(secret)).toBe(secretHash);
    expect(hint).toBe(`${secret.slice(0, 10)}...${secret.slice(-4)}`);
  });

  test("uses all of its alphabet in every place but the first, and never repeats", () => {
    const secrets = Array.from({ length: 3_000 }, () => mintKey(false).secret.slice(6));
    expect(new Set(secrets).size).toBe(3_000);
    for (let place = 1; place < 43; place += 1) expect(new Set(secrets.map((text) => text[place])).size).toBe(62);
  });

  test("shows by its check digits that a character is wrong, or two are swapped", () => {
    for (const secret of [mintKey(false).secret, mintKey(true).secret]) {
      expect(isMistyped(secret)).toBe(false);
      for (let at = secret.length - 49; at < secret.length; at += 1) {
        const wrong = secret[at] === "a" ? "b" : "a";
        expect(isMistyped(secret.slice(0, at) + wrong + secret.slice(at + 1))).toBe(true);
      }
    }
    // Predates check digits, so its validity cannot be judged.
    const old = `tg_sk_${"a".repeat(43)}`;
    expect([looksLikeKey(old), isMistyped(old)]).toEqual([true, false]);
  });

  test.each([
    "",
    "tg_sk_",
    `tg_sk_${"a".repeat(42)}`,
    `tg_sk_${"a".repeat(44)}`,
    `tg_sk_${"a".repeat(48)}`,
    `tg_sk_${"a".repeat(50)}`,
    `sk-${"a".repeat(46)}`,
    `tg_sk_${"-".repeat(43)}`,
  ])("%j cannot be one", (text) => {
    expect(looksLikeKey(text)).toBe(false);
  });

  test("ids say what they name and never repeat", () => {
    const ids = Array.from({ length: 1_000 }, () => mintId("acct_"));
    expect(new Set(ids).size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(/^acct_[0-9A-Za-z]{21}$/);
  });
});

describe("the admin token", () => {
  let folder = "";
  beforeEach(() => {
    folder = folderForTest("tollgate-token-");
  });

  test("is made once, in a folder that need not exist, readable by its owner alone", () => {
    const data = join(folder, "deep", "data");
    expect(readAdminToken(data)).toBeNull();
    const token = ensureAdminToken(data);
    expect(token.length).toBeGreaterThan(40);
    expect(ensureAdminToken(data)).toBe(token);
    expect(readAdminToken(data)).toBe(token);
    expect(statSync(adminTokenPath(data)).mode & 0o777).toBe(0o600);
  });

  test("may have been put there by the operator", () => {
    writeFileSync(adminTokenPath(folder), "chosen-by-the-operator\n");
    expect(ensureAdminToken(folder)).toBe("chosen-by-the-operator");
  });

  test("lets in nothing but itself", () => {
    const isAdmin = adminCheck("right-token");
    expect(isAdmin("Bearer right-token")).toBe(true);
    expect(isAdmin("bearer right-token")).toBe(true);
    for (const wrong of [undefined, "", "Bearer", "right-token", "Bearer right-toke", "Bearer right-token "]) {
      expect(isAdmin(wrong)).toBe(false);
    }
  });
});
