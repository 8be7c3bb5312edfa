// The whole flow in a real Chromium: a client's link, the sign-in, the consent, and back to the client with a code.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext } from "puppeteer-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { BROWSER_MS_MAX, openProfile } from "../../support/browser.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { getAs } from "../../support/keyed-fetch.ts";
import { onlyAProcessShows } from "../../support/process-fact.ts";
import { Client, pkce, type Tokens } from "./person.ts";

onlyAProcessShows("a sign-in in a browser");

let gateway: TestGateway;
let account: TestAccount;
let browser: BrowserContext;
let callback: Server;
let redirect: string;
beforeAll(async () => {
  gateway = await startTestGateway({ OAUTH: "1", TRUST_PROXY: "1" });
  account = await gateway.account();
  browser = await openProfile();
  callback = createServer((_, response) => response.end("back at the client"));
  await new Promise<void>((resolve) => callback.listen(0, "127.0.0.1", resolve));
  redirect = `http://127.0.0.1:${(callback.address() as AddressInfo).port}/callback`;
}, BROWSER_MS_MAX);
afterAll(async () => {
  await browser?.close();
  callback?.close();
  await gateway.stop();
});

/** The parts of a browser that functions in the page use. */
declare const document: { readonly documentElement: { readonly scrollWidth: number } };
declare const innerWidth: number;

it(
  "a person signs in, sets the bounds and allows; the client's token has them",
  async () => {
    const client = new Client(gateway.url);
    await client.register({ client_name: "Claude Code", redirect_uris: [redirect] });
    const { verifier, challenge } = pkce();
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on("console", (line) => {
      if (["error", "warn"].includes(line.type())) complaints.push(line.text());
    });
    const shots = process.env.TOLLGATE_SCREENSHOTS;
    const shoot = async (name: string) => {
      for (const [look, width] of [
        ["light", 1000],
        ["dark", 1000],
        ["light", 360],
      ] as const) {
        await page.setViewport({ width, height: 800 });
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: look }]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
        if (shots !== undefined)
          await page.screenshot({ path: `${shots}/${name}-${look}-${width}.png`, fullPage: true });
      }
    };

    await page.goto(gateway.url + client.authorizePath(challenge, { redirect_uri: redirect }));
    expect(await page.title()).toBe("Sign in · Tollgate");
    await shoot("sign-in");
    await page.type("#key", account.key);
    await Promise.all([page.waitForNavigation(), page.click("button")]);

    expect(await page.title()).toBe("Claude Code asks for access to your account · Tollgate");
    await shoot("consent");
    await page.$eval("#dollars", (field) => ((field as unknown as { value: string }).value = "7.50"));
    await page.select("[name=period]", "week");
    await page.select("#what", "search");
    await Promise.all([page.waitForNavigation(), page.click("button[value=allow]")]);
    expect(page.url().startsWith(redirect)).toBe(true);

    const code = new URL(page.url()).searchParams.get("code") ?? "";
    const fields = { grant_type: "authorization_code", code, redirect_uri: redirect, code_verifier: verifier };
    const tokens = (await (await client.token(fields)).json()) as Tokens;
    const own = await getAs(tokens.access_token, `${gateway.url}/api/v1/account`);
    expect(await own.json()).toMatchObject({
      account_id: account.accountId,
      key: { label: "Claude Code", ceiling_cents: 750, ceiling_period: "week" },
    });
    expect(complaints).toEqual([]);
    await page.close();
  },
  BROWSER_MS_MAX,
);
