// One of our functions that calls actions: they are children of its hold and legs of its posting, and are cancelled with it.
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type LocalCall, localAction } from "../../../src/catalog/local-action.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import { startAcmeGateway } from "./acme-gateway.ts";

const SEARCH = { action: "acme/search", params: { q: "tea" } };
const BUY = { action: "acme/buy", params: { sku: "x" } };

/** What the action under test does with its calls; set by each test. */
let play: (call: LocalCall) => Promise<unknown> = async () => null;
/** The maximum cost of the last run's calls to us, in cents. */
let upstreamCentsMax = 10;

const composed = localAction({
  service: "core",
  action: "composed",
  description: "Does what a test tells it to, by calling actions.",
  category: "core",
  effect: "read",
  params: z.strictObject({}),
  price: { mode: "fixed", cents: 3 },
  upstreamCentsMax: () => upstreamCentsMax,
  run: (_, call) => play(call),
  example: { params: {} },
});

const gateway = forFile(await startAcmeGateway({}, { actions: [composed] }));
beforeEach(() => {
  upstreamCentsMax = 10;
  gateway.vendor.answers({ body: { results: ["a"] } });
});

const run = async (options = {}) => {
  const account = await gateway.live({ creditCents: 100, ...options });
  return { account, answer: await gateway.run(account, "core/composed") };
};

describe("a composite", () => {
  it("is one posting at its own price, whatever its calls cost by themselves", async () => {
    play = async ({ call }) => {
      const [one, two] = await Promise.all([call(SEARCH), call(SEARCH)]);
      return [one.ok && one.data, two.ok && two.data];
    };
    const { account, answer } = await run();
    expect(answer.json).toMatchObject({
      data: [{ results: ["a"] }, { results: ["a"] }],
      charged_cents: 3,
      balance_remaining_cents: 97,
    });
    expect(await gateway.transactions(account)).toHaveLength(1);
    expect(await gateway.heldCents(account)).toBe(0);
    expect(answer.headers.get("x-tollgate-attempts")).toBe("3");
  });

  it("gives each call an id of its own, which can be cited before it ends", async () => {
    play = async ({ call, id }) => {
      const answers = await Promise.all([call(SEARCH), call(BUY)]);
      return [id, ...answers.map((one) => one.id)];
    };
    const { answer } = await run();
    const id = String(answer.json.transaction_id);
    expect(answer.json.data).toEqual([id, `${id}.1`, `${id}.2`]);
  });

  it("is not held, windowed, slotted or listed again: its calls are its own", async () => {
    play = async ({ call }) => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => call(SEARCH)));
      return answers.filter(({ ok }) => ok).length;
    };
    const account = await gateway.live({ creditCents: 3, inFlight: 1 });
    const answer = await gateway.run(account, "core/composed");
    expect([answer.status, answer.json.data, answer.json.balance_remaining_cents]).toEqual([200, 5, 0]);
  });

  it("spends on its calls what it may cost us, and not more", async () => {
    upstreamCentsMax = 1;
    play = async ({ call, spend }) => {
      const told: unknown[] = [];
      for (let at = 0; at < 3; at++) {
        const answer = await call(SEARCH);
        told.push(answer.ok ? "ok" : answer.error.code);
      }
      return [told, spend.spentNano, spend.freeNano];
    };
    // A search costs us half a cent.
    expect((await run()).answer.json.data).toEqual([["ok", "ok", "over_budget"], 10_000_000, 0]);
    expect(gateway.vendor.asked).toHaveLength(2);
  });

  it("that makes no calls by its declaration is refused them", async () => {
    upstreamCentsMax = 0;
    play = async ({ call }) => {
      const answer = await call(SEARCH);
      return answer.ok ? "ok" : answer.error.code;
    };
    expect((await run()).answer.json.data).toBe("over_budget");
    expect(gateway.vendor.asked).toEqual([]);
  });

  it("is told of bad params, unknown actions and failures of its calls, and goes on", async () => {
    play = async ({ call }) => {
      const answers = [
        await call({ action: "acme/search", params: { q: "" } }),
        await call({ action: "acme/nothing", params: {} }),
      ];
      gateway.vendor.answers({ status: 500, body: {} });
      answers.push(await call(BUY));
      return answers.map((one) => (one.ok ? "ok" : one.error.code));
    };
    const { answer } = await run();
    expect(answer.json).toMatchObject({ data: ["bad_request", "not_found", "upstream_error"], charged_cents: 3 });
  });

  it("that fails is free, and its vendors' cost is ours", async () => {
    play = async ({ call }) => {
      await call(SEARCH);
      return new GatewayError("upstream_error", { detail: { detail: "nothing found" } });
    };
    const { account, answer } = await run();
    expect([answer.status, answer.json.error]).toEqual([500, "upstream_error"]);
    expect(await gateway.transactions(account)).toEqual([]);
    expect(await gateway.heldCents(account)).toBe(0);
  });
});

describe("work of a composite's own", () => {
  const outcome = (done: string) =>
    done === "refused" ? "not_made" : done === "late" ? "provider_timeout" : "answered";
  const working = (said: string) => ({ name: "own/work", run: async () => said, outcome }) as const;

  it("is a leg that costs nothing, whose id can be cited; what was not made leaves none", async () => {
    play = async ({ call, own }) => {
      const told = [await own(working("done")), await own(working("refused")), await own(working("late"))];
      const { id } = await call(SEARCH);
      return [...told.map((one) => [one.id?.split(".")[1] ?? null, one.done]), id.split(".")[1]];
    };
    const { answer } = await run();
    expect(answer.json.data).toEqual([["1", "done"], [null, "refused"], ["2", "late"], "3"]);
    const { json } = await gateway.admin("GET", `/admin/v1/transactions/${answer.json.transaction_id}`);
    const ours = { vendor: "tollgate", service: "own", action: "work", upstream_nano_usd: 0 };
    expect(json.legs).toMatchObject([
      { ...ours, ok: true, reason: null },
      { ...ours, ok: false, reason: "provider_timeout" },
      { vendor: "acme", action: "search", upstream_nano_usd: 5_000_000 },
      { vendor: "tollgate", service: "core", action: "composed", upstream_nano_usd: 0 },
    ]);
    expect(json.upstream_nano_usd).toBe(5_000_000);
  });

  it("that breaks breaks the composite, free", async () => {
    play = ({ own }) => own({ ...working(""), run: () => Promise.reject(new Error("broken")) });
    const { account, answer } = await run();
    expect([answer.status, answer.json.error, answer.json.charged_cents]).toEqual([500, "internal_error", 0]);
    expect(await gateway.heldCents(account)).toBe(0);
  });
});

describe("a race of two actions", () => {
  it("is won by the first that answers, and the other is stopped", async () => {
    const closed = Promise.withResolvers<void>();
    gateway.vendor.answers((response, { url }) => {
      if (url.endsWith("/get")) return void response.end('{"ok":1}');
      response.on("close", closed.resolve);
    });
    play = async ({ race }) => {
      const answer = await race([SEARCH, { action: "acme/free", params: {} }]);
      return answer.ok ? [answer.action, answer.provider, answer.data] : answer.error.code;
    };
    expect((await run()).answer.json.data).toEqual(["acme/free", "acme", { ok: 1 }]);
    await closed.promise;
  });

  it("goes on where one fails", async () => {
    gateway.vendor.answers((response, { url }) => {
      if (url.endsWith("/get")) return void setTimeout(() => response.end('{"ok":1}'), 50);
      response.writeHead(500).end("{}");
    });
    play = async ({ race }) => {
      const answer = await race([SEARCH, { action: "acme/free", params: {} }]);
      return answer.ok ? answer.action : answer.error.code;
    };
    expect((await run()).answer.json.data).toBe("acme/free");
  });

  it.each([
    ["of another action", { action: "acme/capped", params: {} }],
    ["of the same action", { action: "acme/search", params: { q: "coffee" } }],
  ])(
    "whose loser, %s, answers after the winner was paid: one charge, and what the loser took is a leg",
    async (_, loser) => {
      const late = Promise.withResolvers<ServerResponse>();
      gateway.vendor.answers((response, { url, body }) => {
        const isWinner = url === "/v1/search" && (body as { query?: string }).query === "tea";
        if (!isWinner) return void late.resolve(response);
        void late.promise.then(() => response.end('{"results":["a"]}'));
      });
      play = async ({ race }) => {
        const answer = await race([SEARCH, loser]);
        return answer.ok ? [answer.action, answer.data] : answer.error.code;
      };
      const { account, answer } = await run();
      expect(answer.json).toMatchObject({ data: ["acme/search", { results: ["a"] }], charged_cents: 3 });
      await sleep(100);
      const vendorsAnswer = await late.promise;
      vendorsAnswer.on("error", () => {});
      vendorsAnswer.end('{"results":["late"],"used":2}');
      await sleep(100);
      expect(await gateway.transactions(account)).toHaveLength(1);
      expect([await gateway.balanceCents(account), await gateway.heldCents(account)]).toEqual([97, 0]);
      const { json } = await gateway.admin("GET", `/admin/v1/transactions/${answer.json.transaction_id}`);
      const half = 5_000_000;
      expect(json.legs).toMatchObject([
        { vendor: "acme", action: "search", ok: true, reason: null, upstream_nano_usd: half },
        {
          vendor: "acme",
          action: loser.action.split("/")[1],
          ok: false,
          reason: "gateway_lost_race",
          upstream_nano_usd: half,
        },
        { vendor: "tollgate", ok: true, upstream_nano_usd: 0 },
      ]);
      expect(json.upstream_nano_usd).toBe(2 * half);
    },
  );

  it("is for reads: a write is sent to nobody", async () => {
    play = async ({ race }) => {
      const answer = await race([BUY, SEARCH]);
      return answer.ok ? "ok" : answer.error.code;
    };
    expect((await run()).answer.json.data).toBe("internal_error");
    expect(gateway.vendor.asked).toEqual([]);
  });
});

describe("a composite that stops", () => {
  it("stops the calls that it has not waited for", async () => {
    const closed = Promise.withResolvers<void>();
    gateway.vendor.answers((response) => void response.on("close", closed.resolve));
    play = async ({ call }) => {
      void call(SEARCH);
      await eventually(() => gateway.vendor.asked[0], "the vendor to be asked");
      return "done";
    };
    const { account, answer } = await run();
    expect(answer.json.data).toBe("done");
    await closed.promise;
    expect(await gateway.heldCents(account)).toBe(0);
  });

  it("goes on when its caller leaves, is charged, and its answer is kept under its key", async () => {
    const going = Promise.withResolvers<void>();
    play = async ({ call }) => {
      await going.promise;
      const answer = await call(SEARCH);
      return answer.ok && answer.data;
    };
    const account = await gateway.live({ creditCents: 100 });
    const leaving = new AbortController();
    const headers = {
      authorization: `Bearer ${account.key}`,
      "content-type": "application/json",
      "idempotency-key": "k1",
    };
    const left = fetch(`${gateway.url}/api/run/core/composed`, {
      method: "POST",
      headers,
      body: "{}",
      signal: leaving.signal,
    });
    await eventually(async () => ((await gateway.heldCents(account)) === 3 ? true : undefined), "its hold");
    leaving.abort();
    await expect(left).rejects.toThrow();
    going.resolve();
    await eventually(async () => ((await gateway.heldCents(account)) === 0 ? true : undefined), "its end");
    const again = await gateway.run(account, "core/composed", {}, { "idempotency-key": "k1" });
    expect(again.json).toMatchObject({ data: { results: ["a"] }, charged_cents: 3 });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await gateway.transactions(account)).toHaveLength(1);
  });
});
