// The keys that sign access tokens: a new one each month, the same in each process, none stored.
import { createPrivateKey, sign, verify } from "node:crypto";
import { expect, it } from "vitest";
import { type PrivateJwk, type SigningKeys, signingKeys } from "../../../src/edge/oauth/signing-keys.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { manualClock } from "../../support/manual-clock.ts";

const NOVEMBER = Date.UTC(2026, 10, 23);
const DECEMBER = Date.UTC(2026, 11, 1);
const JANUARY = Date.UTC(2027, 0, 31);

const at = (epochMs: number, secrets = ["a secret"]) => signingKeys(secrets, manualClock(epochMs))();

function signer({ all: [first] }: SigningKeys): PrivateJwk {
  if (first === undefined) throw new Error("no key");
  return first;
}

it("is the same wherever the secret is, and after a restart", () => {
  expect(at(NOVEMBER).all).toEqual(at(NOVEMBER + 86_400_000).all);
});

it("signs with another each month; last month's stays good, and is gone after that", () => {
  const { kid } = signer(at(NOVEMBER));
  expect(signer(at(DECEMBER)).kid).not.toBe(kid);
  expect(at(DECEMBER).publicKeys.has(kid)).toBe(true);
  expect(at(JANUARY).publicKeys.has(kid)).toBe(false);
});

it("knows the next month's, should another process be there already", () => {
  expect(at(DECEMBER - 1).publicKeys.has(signer(at(DECEMBER)).kid)).toBe(true);
});

it("is another by a new secret, while what the old one has signed stays good as long as it is in the setting", () => {
  const { kid } = signer(at(NOVEMBER, ["old"]));
  const both = at(NOVEMBER, ["new", "old"]);
  expect(signer(both).kid).toBe(signer(at(NOVEMBER, ["new"])).kid);
  expect(both.publicKeys.has(kid)).toBe(true);
  expect(at(NOVEMBER, ["new"]).publicKeys.has(kid)).toBe(false);
});

it("is a pair: what the private half signs the public half verifies", () => {
  const keys = at(NOVEMBER);
  for (const { kid, kty, crv, x, y, d } of keys.all) {
    const publicKey = keys.publicKeys.get(kid);
    if (publicKey === undefined) throw new Error("no public half");
    const signature = sign(
      "sha256",
      Buffer.from("text"),
      createPrivateKey({ key: { kty, crv, x, y, d }, format: "jwk" }),
    );
    expect(verify("sha256", Buffer.from("text"), publicKey, signature)).toBe(true);
  }
});

it("shows no private half to clients", async () => {
  const gateway = await startTestGateway({ OAUTH: "1" });
  const { keys } = (await (await fetch(`${gateway.url}/oauth/jwks`)).json()) as { keys: Record<string, unknown>[] };
  await gateway.stop();
  expect(keys).toHaveLength(3);
  expect(keys.some((key) => "d" in key)).toBe(false);
});
