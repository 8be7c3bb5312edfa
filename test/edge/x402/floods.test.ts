// Requests that cost their sender nothing cost us little: challenges and forged payments leave no trace, and unsettled claims end.
import { beforeEach, expect, it } from "vitest";
import { type RunAnswer, readAnswer } from "../../actions/run/acme-gateway.ts";
import { startPaidGateway } from "./paid-gateway.ts";
import { askedBy } from "./wallet.ts";

const { chain, gateway } = await startPaidGateway({ UNPAID_COST_CENTS: "200" });
beforeEach(() => {
  chain.mood = "well";
  gateway.vendor.answers({ body: { results: ["found"] } });
});

async function ask(headers: Record<string, string> = {}): Promise<RunAnswer> {
  const response = await fetch(`${gateway.url}/api/run/acme/search`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: '{"q":"tea"}',
  });
  return readAnswer(response);
}

/** The ledger's entries of strangers: open holds, and postings. */
async function books() {
  const { json } = await gateway.admin("GET", "/admin/v1/doctor");
  return { holds: json.holds, postings: json.postings };
}

it("five hundred challenges write nothing and ask nobody", async () => {
  const before = [await books(), chain.verifies];
  const answers = await Promise.all(Array.from({ length: 500 }, () => ask()));
  expect(answers.every(({ status }) => status === 402)).toBe(true);
  expect([await books(), chain.verifies]).toEqual(before);
});

it("dust of two hundred wallets is refused by the challenge alone, before its facilitator is asked", async () => {
  const asked = askedBy(await ask());
  const before = [await books(), chain.verifies];
  const pays = Array.from({ length: 200 }, () => chain.wallet(1).pay(asked, { value: "1" }));
  const answers = await Promise.all(pays.map((payment) => ask({ "payment-signature": payment })));
  expect(answers.every(({ status }) => status === 402)).toBe(true);
  expect([await books(), chain.verifies]).toEqual(before);
});

it("a hundred claims that are never settled leave no hold and no posting, and the next payer is served", async () => {
  const asked = askedBy(await ask());
  const before = await books();
  const pays = Array.from({ length: 100 }, () => chain.wallet(5).pay(asked));
  const answers = await Promise.all(pays.map((payment) => ask({ "payment-signature": payment })));
  expect(answers.map(({ status }) => status).filter((status) => status !== 402)).toEqual([]);
  expect((await books()).postings).toEqual(before.postings);
  expect(gateway.vendor.asked).toEqual([]);
  const good = await ask({ "payment-signature": chain.wallet(1_000_000).pay(asked) });
  expect(good.status).toBe(200);
});
