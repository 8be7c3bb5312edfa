// Access tokens alone: a signature is verified once, and the result expires with its key and its token.
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { expect, test } from "vitest";
import { accessTokenReader } from "../../../src/edge/oauth/access-tokens.ts";
import type { SigningKeys } from "../../../src/edge/oauth/signing-keys.ts";
import { manualClock } from "../../support/manual-clock.ts";

const BASE = "https://gateway.example";
const START_MS = Date.UTC(2026, 0, 1);

function tokenOf(privateKey: KeyObject, claims: Record<string, unknown> = {}): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const own = { iss: BASE, aud: BASE, sub: "acct_one", grant: "key_one", scope: "svc:pay", exp: START_MS / 1_000 + 60 };
  const signed = `${part({ alg: "ES256", typ: "at+jwt", kid: "one" })}.${part({ ...own, ...claims })}`;
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

function setUp() {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const publicKeys = new Map([["one", publicKey]]);
  const clock = manualClock(START_MS);
  const keys = () => ({ publicKeys }) as unknown as SigningKeys;
  return {
    tokens: { read: accessTokenReader(keys, () => BASE, clock) },
    token: tokenOf(privateKey),
    publicKeys,
    clock,
  };
}

const GOOD = { accountId: "acct_one", clientId: "", keyId: "key_one", expiresAtMs: START_MS + 60_000 };
const REFUSED = { code: "invalid_token" };

test("a token is read each time, and one that differs in a letter is not", () => {
  const { tokens, token } = setUp();
  for (let i = 0; i < 3; i++) expect(tokens.read(token)).toEqual(GOOD);
  const last = token.at(-10) === "A" ? "B" : "A";
  expect(tokens.read(`${token.slice(0, -10)}${last}${token.slice(-9)}`)).toMatchObject(REFUSED);
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  expect(tokens.read(tokenOf(privateKey))).toMatchObject(REFUSED);
  expect(tokens.read(token)).toEqual(GOOD);
});

test("a token that was good is not when it has expired", () => {
  const { tokens, token, clock } = setUp();
  expect(tokens.read(token)).toEqual(GOOD);
  clock.advance(60_000);
  expect(tokens.read(token)).toMatchObject(REFUSED);
});

test("a token that was good is not when its key has gone, or another has its name", () => {
  const { tokens, token, publicKeys } = setUp();
  expect(tokens.read(token)).toEqual(GOOD);
  publicKeys.set("one", generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey);
  expect(tokens.read(token)).toMatchObject(REFUSED);
  publicKeys.delete("one");
  expect(tokens.read(token)).toMatchObject(REFUSED);
});
