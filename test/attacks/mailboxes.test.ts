// Mailboxes are bought once and permanently: a flood of purchases, repeats and others' addresses, at a vendor whose answers get lost.
import { beforeEach, describe, expect, it } from "vitest";
import { startAcmeGateway } from "../actions/run/acme-gateway.ts";
import { forFile } from "../support/for-file.ts";
import type { TestAccount } from "../support/gateway.ts";
import { startVendor } from "../support/vendor-server.ts";

const PRICE_CENTS = 200;
let made: string[];
/** How many of the next purchases lose their answer. */
let losses = 0;
const vendor = forFile(await startVendor());
const gateway = forFile(await startAcmeGateway({ AGENTMAIL_API_KEY: "key", AGENTMAIL_BASE_URL: vendor.url }));
beforeEach(() => {
  made = [];
  losses = 0;
  vendor.asked.length = 0;
  vendor.answers((response, { method, url }) => {
    const isPurchase = method === "POST" && url === "/inboxes";
    if (isPurchase) made.push(`box-${made.length}@agentmail.to`);
    if (isPurchase && losses-- > 0) return void response.socket?.destroy();
    const bought = { inbox_id: made.at(-1), created_at: "2026-11-20T10:11:12Z", updated_at: "2026-11-20T10:11:12Z" };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(isPurchase ? bought : { count: 0, messages: [], message_id: "m", thread_id: "t" }));
  });
});

const buy = (account: TestAccount, headers: Record<string, string> = {}) =>
  gateway.run(account, "agentmail/create_inbox", {}, headers);

describe("a mailbox", () => {
  it("is sold as often as the balance pays for it, however many are asked for at once", async () => {
    const eve = await gateway.live({ creditCents: 3 * PRICE_CENTS + 50 });
    const answers = await Promise.all(Array.from({ length: 40 }, () => buy(eve)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(made).toHaveLength(3);
    expect(await gateway.balanceCents(eve)).toBe(50);
    expect(await gateway.heldCents(eve)).toBe(0);
  });

  it("is bought once under a key, however often that is said at once and afterwards", async () => {
    const eve = await gateway.live({ creditCents: 10 * PRICE_CENTS });
    const keyed = { "idempotency-key": "my-box" };
    await Promise.all(Array.from({ length: 20 }, () => buy(eve, keyed)));
    const again = await Promise.all(Array.from({ length: 20 }, () => buy(eve, keyed)));
    expect(new Set(again.map(({ json }) => (json.data as { inbox_id: string }).inbox_id)).size).toBe(1);
    expect(made).toHaveLength(1);
    expect(await gateway.balanceCents(eve)).toBe(9 * PRICE_CENTS);
  });

  it("whose answer was lost is not charged, and not bought a second time under its key", async () => {
    const eve = await gateway.live({ creditCents: 10 * PRICE_CENTS });
    losses = 1;
    const keyed = { "idempotency-key": "lost-box" };
    expect((await buy(eve, keyed)).status).toBe(500);
    expect((await buy(eve, keyed)).json).toMatchObject({ ok: false, error: "outcome_unknown" });
    expect(made).toHaveLength(1);
    expect(await gateway.balanceCents(eve)).toBe(10 * PRICE_CENTS);
  });

  it.each([
    ["send", { to: "ada@example.com", subject: "x", text: "y" }],
    ["list-messages", {}],
    ["reply", { message_id: "<m@agentmail.to>", text: "y" }],
  ])("of another account is 404 to %s, in whatever way its address is written", async (action, params) => {
    const [ada, eve] = [await gateway.live({ creditCents: 1_000 }), await gateway.live({ creditCents: 1_000 })];
    const { inbox_id: own } = (await buy(ada)).json.data as { inbox_id: string };
    const asked = vendor.asked.length;
    const ways = [
      own,
      own.toUpperCase(),
      `${own}.`,
      `x+${own}`,
      `"${own}"`,
      ` ${own}`,
      own.replace("@", "%40"),
      `../${own}`,
    ];
    for (const inbox_id of ways) {
      const { status, json } = await gateway.run(eve, `agentmail/${action}`, { inbox_id, ...params });
      expect([inbox_id, [400, 404].includes(status), json.charged_cents]).toEqual([inbox_id, true, 0]);
    }
    expect(vendor.asked).toHaveLength(asked);
    expect((await gateway.run(ada, `agentmail/${action}`, { inbox_id: own, ...params })).status).toBe(200);
  });
});
