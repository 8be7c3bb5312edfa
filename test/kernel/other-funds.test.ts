// A door with other funds: a caller without a key first gets the price, then pays without an account.
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../src/core/errors.ts";
import { ZERO } from "../../src/core/money.ts";
import type { Capture, Charge, Funds, Held, Payer, Plan, Release } from "../../src/core/plan.ts";
import type { AnonymousAccess } from "../../src/edge/serve/deps.ts";
import { forFile } from "../support/for-file.ts";
import { COST, HOLD, openStage } from "../support/scripted-plan.ts";

/** What happens when the work is done and the payment is captured. */
type AtCapture = "paid" | "refused" | "unknown";

/** Payments authorized by a header, as on a chain: verified before the work, captured after it. */
class Authorized implements Funds {
  readonly calls: string[] = [];
  readonly #atCapture: AtCapture;

  constructor(atCapture: AtCapture) {
    this.#atCapture = atCapture;
  }

  async reserve(plan: Plan, id: string): Promise<Held> {
    this.calls.push(`verify ${plan.quote.nano}`);
    return { id, amountNano: plan.quote.nano };
  }

  async capture({ id }: Held, { cost }: Capture): Promise<Charge | GatewayError> {
    this.calls.push(`capture ${cost.chargeNano}`);
    if (this.#atCapture === "unknown") throw new Error("the chain did not answer");
    if (this.#atCapture === "refused") return new GatewayError("insufficient_balance");
    return {
      transactionId: id,
      chargedNano: cost.chargeNano,
      chargedCents: 1,
      absorbedNano: ZERO,
      absorbReason: null,
      balanceNano: null,
    };
  }

  async release(_: Held, { reason }: Release): Promise<void> {
    this.calls.push(`release ${reason}`);
  }

  async balance(): Promise<null> {
    return null;
  }

  async charged(): Promise<null> {
    return null;
  }
}

const PAYER: Payer = { id: "x402:0xabc", sandbox: false };
const CHALLENGE = new GatewayError("credits_required", { detail: { needed_usd: "0.000001", free_usd: "0" } });

/** A door that admits callers that claim to pay, and states the price to all others. */
function door(funds: Funds | null): AnonymousAccess {
  return {
    takes: () => "money",
    pay: async ({ quote }) => {
      expect(quote.nano).toBe(HOLD);
      return funds === null ? CHALLENGE : { payer: PAYER, funds };
    },
  };
}

const stage = forFile(await openStage());

function begin(funds: Funds | null) {
  const authenticate = () => new GatewayError("invalid_token", { detail: { detail: "no" } });
  return stage.begin({ deps: { anonymousPayer: door(funds), authenticate }, plan: { inference: false } });
}

describe("a stranger", () => {
  it("is told what the call costs before anything is held", async () => {
    const run = begin(null);
    await run.over;
    expect([run.reply.status, run.attempts, stage.moves]).toEqual([402, [], []]);
    expect(run.reply.text()).toContain("credits_required");
  });

  it("who pays is served, and no ledger is asked", async () => {
    const funds = new Authorized("paid");
    const run = begin(funds);
    (await run.attempt(0)).done();
    await run.over;
    expect([run.reply.status, run.reply.text()]).toEqual([200, "end"]);
    expect([funds.calls, stage.moves]).toEqual([[`verify ${HOLD}`, `capture ${COST}`], []]);
  });

  it("whose payment is refused after the work does not get the answer", async () => {
    const funds = new Authorized("refused");
    const run = begin(funds);
    (await run.attempt(0)).done();
    await run.over;
    expect([run.reply.status, run.reply.text()]).toEqual([402, expect.stringContaining("insufficient_balance")]);
    expect(funds.calls).toEqual([`verify ${HOLD}`, `capture ${COST}`]);
  });

  it("whose payment nobody knows of is promised nothing", async () => {
    const funds = new Authorized("unknown");
    const run = begin(funds);
    (await run.attempt(0)).done();
    await run.over;
    expect([run.reply.status, run.reply.text()]).toEqual([503, expect.stringContaining("ledger_unavailable")]);
  });

  it("whose call fails is not charged", async () => {
    const funds = new Authorized("paid");
    const run = begin(funds);
    (await run.attempt(0)).fail("caller_invalid");
    await run.over;
    expect([run.reply.status, funds.calls]).toEqual([400, [`verify ${HOLD}`, "release failed"]]);
  });
});
