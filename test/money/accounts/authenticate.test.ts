import { describe, expect, test } from "vitest";
import type { AccountRow, KeyRow } from "../../../src/core/account-rows.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { nano } from "../../../src/core/money.ts";
import { Authenticator } from "../../../src/money/accounts/authenticate.ts";
import type { KeyBooks } from "../../../src/money/accounts/books.ts";
import { keyHash, mintKey } from "../../../src/money/accounts/secrets.ts";
import { createRequestWindows } from "../../../src/platform/limits/request-windows.ts";
import { manualClock } from "../../support/manual-clock.ts";

/** Books that count lookups and can change without the authenticator's knowledge. */
function setUp(options: { sandbox?: boolean; kind?: AccountRow["kind"]; missesPerMinute?: number } = {}) {
  const clock = manualClock(0);
  const minted = mintKey(options.kind === "sandbox");
  const account: AccountRow = {
    accountId: "acct_1",
    name: "one",
    kind: options.kind ?? "personal",
    createdAtMs: 0,
    frozen: false,
    inferenceCapNano: nano(7),
    requestsPerMinute: 5,
    inFlightMax: 6,
    strictBounds: false,
    grantedNano: nano(0),
    spentNano: nano(0),
    heldNano: nano(0),
    absorbedNano: nano(0),
  };
  const key: KeyRow = {
    keyId: "key_1",
    accountId: "acct_1",
    primary: true,
    label: "primary",
    externalId: null,
    hint: minted.hint,
    paused: false,
    ceilingNano: null,
    ceilingPeriod: null,
    services: null,
    models: null,
    expiresAtMs: null,
    createdAtMs: 0,
    lastUsedAtMs: null,
    periodSpentNano: nano(0),
    periodHeldNano: nano(0),
  };
  const state = {
    lookups: 0,
    account,
    keys: new Map([[minted.secretHash, key]]),
    broken: null as Error | null,
    hears: true,
  };
  const books: KeyBooks = {
    async keyByHash(hash) {
      state.lookups += 1;
      if (state.broken) throw state.broken;
      return state.keys.get(hash) ?? null;
    },
    key: async (_accountId, keyId) => [...state.keys.values()].find((one) => one.keyId === keyId) ?? null,
    account: async () => state.account,
  };
  const windows = createRequestWindows({ clock });
  const limit = options.missesPerMinute ?? 1_000_000;
  const authenticator = new Authenticator({
    books,
    clock,
    misses: { take: (address) => windows.take(address, limit), giveBack: (address) => windows.giveBack(address) },
    sandbox: options.sandbox ?? true,
    hears: () => state.hears,
  });
  const bearer = `Bearer ${minted.secret}`;
  const setKey = (change: Partial<KeyRow>) => state.keys.set(minted.secretHash, { ...key, ...change });
  const authenticate = (authorization: string | undefined, address = "192.0.2.1") =>
    authenticator.authenticate(authorization, { address });
  return { clock, state, bearer, setKey, authenticator, authenticate };
}

async function refusal(answer: ReturnType<ReturnType<typeof setUp>["authenticate"]>): Promise<GatewayError> {
  const result = await answer;
  if (result instanceof GatewayError) return result;
  throw new Error("the key was accepted");
}

describe("a good key", () => {
  test("becomes a caller with what its account allows", async () => {
    const { authenticate, bearer } = setUp();
    expect(await authenticate(bearer)).toEqual({
      sandbox: false,
      payer: { id: "acct:acct_1", accountId: "acct_1", keyId: "key_1", sandbox: false },
      primary: true,
      paused: false,
      frozen: false,
      requestsPerMinute: 5,
      inFlightMax: 6,
      inferenceCapNano: 7,
      strictBounds: false,
      allows: { services: null, models: null },
    });
  });

  test("says that its account's bounds are strict, once what was remembered is forgotten", async () => {
    const { authenticate, authenticator, bearer, state } = setUp();
    await authenticate(bearer);
    state.account = { ...state.account, strictBounds: true };
    expect(await authenticate(bearer)).toMatchObject({ strictBounds: false });
    authenticator.forget("acct_1");
    expect(await authenticate(bearer)).toMatchObject({ strictBounds: true });
  });

  test("says what it may call", async () => {
    const { authenticate, bearer, setKey } = setUp();
    setKey({ services: ["files"], models: [] });
    expect(await authenticate(bearer)).toMatchObject({ allows: { services: ["files"], models: [] } });
  });

  test("is looked up once and then answered without a promise", async () => {
    const { authenticate, bearer, state } = setUp();
    const first = await authenticate(bearer);
    const second = authenticate(bearer);
    expect(second).not.toBeInstanceOf(Promise);
    expect(second).toBe(first);
    expect(state.lookups).toBe(1);
  });

  test("in a burst is one lookup", async () => {
    const { authenticate, bearer, state } = setUp();
    const callers = await Promise.all(Array.from({ length: 100 }, () => authenticate(bearer)));
    expect(new Set(callers).size).toBe(1);
    expect(state.lookups).toBe(1);
  });

  test("is read again after a minute, and at once after a change", async () => {
    const { authenticate, authenticator, bearer, state, clock } = setUp();
    await authenticate(bearer);
    state.account = { ...state.account, frozen: true };
    expect(await authenticate(bearer)).toMatchObject({ frozen: false });
    authenticator.forget("acct_1");
    expect(await authenticate(bearer)).toMatchObject({ frozen: true });
    state.account = { ...state.account, frozen: false };
    clock.advance(60_001);
    expect(await authenticate(bearer)).toMatchObject({ frozen: false });
  });

  test("is read again after half a second while nothing is heard of changes made elsewhere", async () => {
    const { authenticate, bearer, state, clock } = setUp();
    state.hears = false;
    await authenticate(bearer);
    clock.advance(499);
    await authenticate(bearer);
    expect(state.lookups).toBe(1);
    state.account = { ...state.account, frozen: true };
    clock.advance(1);
    expect(await authenticate(bearer)).toMatchObject({ frozen: true });
  });

  test("that changes while it is looked up is not remembered as it was", async () => {
    const { authenticate, authenticator, bearer, state } = setUp();
    const looking = authenticate(bearer);
    state.account = { ...state.account, frozen: true };
    authenticator.forget("acct_1");
    await looking;
    expect(await authenticate(bearer)).toMatchObject({ frozen: true });
    expect(state.lookups).toBe(2);
  });

  test("that expires while it is remembered is refused from that moment, without asking the ledger", async () => {
    const { authenticate, bearer, state, clock, setKey } = setUp();
    setKey({ expiresAtMs: 30_000 });
    expect(await authenticate(bearer)).toMatchObject({ primary: true });
    clock.advance(29_999);
    expect(await authenticate(bearer)).toMatchObject({ primary: true });
    clock.advance(1);
    const error = await refusal(authenticate(bearer));
    expect([error.status, error.code, error.message]).toEqual([401, "invalid_token", "This key has expired."]);
    expect(state.lookups).toBe(1);
  });

  test("that has expired is looked up once, and good at once when it is given more time", async () => {
    const { authenticate, authenticator, bearer, state, clock, setKey } = setUp();
    setKey({ expiresAtMs: 1_000 });
    clock.advance(1_000);
    for (let call = 0; call < 5; call += 1) {
      expect((await refusal(authenticate(bearer))).message).toBe("This key has expired.");
    }
    expect(state.lookups).toBe(1);
    setKey({ expiresAtMs: 2_000 });
    authenticator.forget("acct_1");
    expect(await authenticate(bearer)).toMatchObject({ primary: true });
  });

  test("that has expired still says what its work goes on under, and one that is gone says nothing", async () => {
    const { authenticator, state, clock, setKey } = setUp();
    setKey({ expiresAtMs: 1_000 });
    clock.advance(1_000);
    expect(await authenticator.ofWorkGoingOn("acct_1", "key_1")).toMatchObject({ payer: { keyId: "key_1" } });
    state.keys.clear();
    expect(await authenticator.ofWorkGoingOn("acct_1", "key_1")).toBeNull();
  });

  test.each(["bearer", "BEARER", "Bearer  "])("may come as %j", async (scheme) => {
    const { authenticate, bearer } = setUp();
    expect(await authenticate(bearer.replace("Bearer", scheme.trimEnd()))).toMatchObject({ primary: true });
  });

  test("of a sandbox account says so, and is refused where there is no sandbox", async () => {
    const open = setUp({ kind: "sandbox" });
    expect(await open.authenticate(open.bearer)).toMatchObject({ payer: { sandbox: true } });
    const closed = setUp({ kind: "sandbox", sandbox: false });
    expect((await refusal(closed.authenticate(closed.bearer))).message).toContain("no sandbox accounts");
  });
});

describe("a bad key", () => {
  test.each([
    [undefined, "No key was sent"],
    ["", "No key was sent"],
    ["Basic dXNlcjpwYXNz", "not `Bearer <key>`"],
    ["Bearer", "not `Bearer <key>`"],
    ["Bearer two words", "not `Bearer <key>`"],
    ["Bearer sk-not-one-of-ours", "unknown"],
    [`Bearer ${"x".repeat(100_000)}`, "unknown"],
  ])("%#: is told what is wrong without asking the ledger", async (authorization, words) => {
    const { authenticate, state } = setUp();
    const answer = authenticate(authorization);
    expect(answer).not.toBeInstanceOf(Promise);
    const error = await refusal(answer);
    expect([error.status, error.code]).toEqual([401, "invalid_token"]);
    expect(error.message).toContain(words);
    expect(state.lookups).toBe(0);
  });

  test("is asked for once in a while, and good as soon as that has passed", async () => {
    const { authenticate, state, clock } = setUp();
    const late = mintKey(false);
    for (let call = 0; call < 10; call += 1) await refusal(authenticate(`Bearer ${late.secret}`));
    expect(state.lookups).toBe(1);
    const [key] = state.keys.values();
    if (key) state.keys.set(late.secretHash, key);
    clock.advance(5_001);
    expect(await authenticate(`Bearer ${late.secret}`)).toMatchObject({ primary: true });
  });

  test("in a flood does not reach the ledger, nor shut out those who are known", async () => {
    const { authenticate, bearer, state, clock } = setUp();
    await authenticate(bearer);
    const codes = new Map<string, number>();
    for (let call = 0; call < 3_000; call += 1) {
      const { code } = await refusal(authenticate(`Bearer ${mintKey(false).secret}`));
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    expect(state.lookups).toBeLessThanOrEqual(501);
    expect(codes.get("rate_limited")).toBeGreaterThanOrEqual(2_499);
    expect(await authenticate(bearer)).toMatchObject({ primary: true });
    clock.advance(1_000);
    expect((await refusal(authenticate(`Bearer ${mintKey(false).secret}`))).code).toBe("invalid_token");
  });

  test("of one address uses up its own look-ups and nobody else's", async () => {
    const { authenticate, bearer, state, clock } = setUp({ missesPerMinute: 10 });
    const codes = await Promise.all(
      Array.from({ length: 2_000 }, async () => (await refusal(authenticate(`Bearer ${mintKey(false).secret}`))).code),
    );
    expect(codes.filter((code) => code === "invalid_token")).toHaveLength(10);
    expect(state.lookups).toBe(10);
    expect((await refusal(authenticate(bearer))).code).toBe("rate_limited");
    expect(await authenticate(bearer, "192.0.2.2")).toMatchObject({ primary: true });
    clock.advance(60_000);
    expect(await refusal(authenticate(`Bearer ${mintKey(false).secret}`))).toMatchObject({ code: "invalid_token" });
  });

  test("that its own check digits give away is not looked up, and one without any is", async () => {
    const { authenticate, state } = setUp();
    const [key] = state.keys.values();
    const { secret } = mintKey(false);
    const madeUp = secret.endsWith("0") ? `${secret.slice(0, -1)}1` : `${secret.slice(0, -1)}0`;
    expect((await refusal(authenticate(`Bearer ${madeUp}`))).code).toBe("invalid_token");
    expect(state.lookups).toBe(0);
    const old = `tg_sk_${"k".repeat(43)}`;
    if (key) state.keys.set(keyHash(old), key);
    expect(await authenticate(`Bearer ${old}`)).toMatchObject({ primary: true });
  });

  test("does not keep a key that was good from being read again, from wherever it comes", async () => {
    const { authenticate, authenticator, bearer, state, clock } = setUp({ missesPerMinute: 600 });
    await authenticate(bearer);
    const flood = async () => {
      for (let call = 0; call < 600; call += 1) await refusal(authenticate(`Bearer ${mintKey(false).secret}`));
      expect((await refusal(authenticate(`Bearer ${mintKey(false).secret}`))).code).toBe("rate_limited");
    };
    clock.advance(120_000);
    await flood();
    expect(await authenticate(bearer)).toMatchObject({ primary: true });
    authenticator.forget(null);
    expect(await authenticate(bearer)).toMatchObject({ primary: true });
    authenticator.forget(null);
    state.keys.clear();
    expect((await refusal(authenticate(bearer))).code).toBe("invalid_token");
  });

  test("good keys do not use the room for bad ones up", async () => {
    const { authenticate, state } = setUp({ missesPerMinute: 10 });
    const [key] = state.keys.values();
    for (let call = 0; call < 1_000; call += 1) {
      const minted = mintKey(false);
      if (key) state.keys.set(minted.secretHash, key);
      expect(await authenticate(`Bearer ${minted.secret}`)).toMatchObject({ primary: true });
    }
  });
});

describe("a ledger that cannot be reached", () => {
  test("is told as such, not as a bad key, and asked again next time", async () => {
    const { authenticate, bearer, state } = setUp();
    state.broken = new GatewayError("ledger_unavailable");
    expect((await refusal(authenticate(bearer))).code).toBe("ledger_unavailable");
    state.broken = null;
    expect(await authenticate(bearer)).toMatchObject({ primary: true });
  });

  test("and that is broken in a way nobody foresaw is thrown", async () => {
    const { authenticate, bearer, state } = setUp();
    state.broken = new Error("bug");
    await expect(authenticate(bearer)).rejects.toThrow("bug");
  });
});
