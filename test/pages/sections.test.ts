// Pages whose endpoints refuse, or whose stores become unavailable: they say so, and never that nothing was spent or changed.
import { describe, expect, it } from "vitest";
import type { Answer, EndpointSpec, GatewayRequest } from "../../src/core/endpoint.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { overviewSection } from "../../src/edge/web/account/overview.ts";
import { pricesSection } from "../../src/edge/web/console/prices.ts";
import { todaySection } from "../../src/edge/web/console/today.ts";
import { html, textOf } from "../../src/edge/web/html.ts";
import { type Ask, Refused } from "../../src/edge/web/kit/ask.ts";
import { type Door, type Section, sectionEndpoints } from "../../src/edge/web/kit/sections.ts";
import { tableOf } from "../../src/edge/web/kit/shown.ts";

const NOW_MS = Date.parse("2026-11-22T10:00:00Z");
const BODIES: Readonly<Record<string, unknown>> = {
  "/api/v1/account": { account_id: "acct_1", kind: "personal", balance_cents: 500, held_cents: 0 },
  "/admin/v1/prices": { losses: [], unpriced: [] },
  "/admin/v1/models": { models: [] },
};

/** Refuses every report, as while the account is making another one. */
const ask: Ask = async <Body>(_method: string, path: string) => {
  if (!(path in BODIES)) throw new Refused(429, "Another report is being made.");
  return BODIES[path] as Body;
};

const door: Door = {
  places: {},
  find: "/account/find",
  signOut: "/sign-out",
  enter: async () => ({ ask, csrf: "token" }),
  toSignIn: () => ({ status: 303, body: "" }),
  isOurs: () => true,
};

async function answered(section: Section, method: "GET" | "POST", fields = ""): Promise<Answer> {
  const endpoint = sectionEndpoints(section, door).find((one) => one.method === method) as
    | (EndpointSpec & { answer(call: unknown): Promise<Answer> })
    | undefined;
  const query = new URLSearchParams();
  const about = { method, path: section.path, query, headers: new Map() };
  const request = { ...about, body: Buffer.from(fields) } as unknown as GatewayRequest;
  return (await endpoint?.answer({ request })) ?? { status: 0, body: "" };
}

describe("a long table", () => {
  it("is made a row a step, within the page and as it would be all at once", () => {
    const names = Array.from({ length: 500 }, (_, at) => `<${at}>`);
    const made: string[] = [];
    const Name = (name: string) => {
      made.push(name);
      return html`<b>${name}</b>`;
    };
    const page = html`<main>${[html`<p>Above</p>`, tableOf("Names", names, "", { Name })]}</main>`;
    expect(made).toEqual([]);
    const steps = textOf(page);
    steps.next();
    steps.next();
    expect(made).toEqual(names.slice(0, 2));
    const lines = names.map((_, at) => `<tr><td><b>&lt;${at}&gt;</b></td></tr>\n`);
    expect(page.text).toContain(`<main><p>Above</p><div`);
    expect(page.text).toContain(`<tbody>${lines.join("")}</tbody>`);
  });
});

describe("a report that is refused", () => {
  it.each([
    overviewSection(() => NOW_MS),
    todaySection(
      async () => html``,
      { days: async () => [] },
      () => NOW_MS,
    ),
    pricesSection(() => NOW_MS),
  ])("is told as such at $path", async (section) => {
    const { status, body } = await answered(section, "GET");
    expect(status).toBe(429);
    expect(body).toContain("Another report is being made.");
    expect(body).not.toContain("Nothing was");
  });
});

describe("a store that is away", () => {
  const away = () => Promise.reject(new GatewayError("ledger_unavailable"));
  const section: Section = {
    path: "/account/x",
    place: "/account",
    show: away,
    acts: { pay: { told: "", run: away } },
  };

  it("has a look asked again by itself", async () => {
    const { status, body } = await answered(section, "GET");
    expect(status).toBe(503);
    expect(body).toContain('http-equiv="refresh"');
  });

  it("leaves it open whether a form was done, and does not lead away from saying so", async () => {
    const { status, body } = await answered(section, "POST", "act=pay");
    expect(status).toBe(503);
    expect(body).toContain("We do not know whether this was done");
    expect(body).not.toContain("refresh");
  });
});
