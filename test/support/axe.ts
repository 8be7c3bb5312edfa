// axe in a page of a test's browser.
import { readFileSync } from "node:fs";
import type { Page } from "puppeteer-core";

const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
declare const axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };

/** The violations that axe finds; of one rule where it is named. */
export async function violationsIn(page: Page, rule?: string): Promise<string[]> {
  // By the protocol, not by a tag, because the page's own policy blocks such a script.
  if (await page.evaluate(() => typeof axe === "undefined")) await page.evaluate(AXE);
  const found = await page.evaluate((only) => axe.run(only === undefined ? {} : { runOnly: [only] }), rule);
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`));
}
