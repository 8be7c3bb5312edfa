// Two attackers in a thread of their own: a site whose pages are slow to parse, and a tenant whose request bodies are slow to validate.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parentPort } from "node:worker_threads";

/** The gateway's address, and a key of a paying tenant. */
export interface Target {
  readonly url: string;
  readonly key: string;
  readonly seconds: number;
}

/** The number of runs of each attack, by answer status. */
export type Attacked = Readonly<Record<string, Readonly<Record<string, number>>>>;

const ROBOTS = `${"User-agent: x\n".repeat(2_000)}${"Disallow: /a\n".repeat(2_000)}`;
const PAGES: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  "/text": { type: "text/plain", text: " #".repeat(2_400_000) },
  "/wall": { type: "text/html", text: `<html><body>${"data-sitekey ".repeat(20_000)}` },
  "/mounts": { type: "text/html", text: `<html><body>${"<div ".repeat(20_000)}` },
  "/deep": { type: "text/html", text: `<html><body>${"<div>".repeat(50_000)}` },
};

const site = createServer(({ url = "" }, response) => {
  if (url === "/robots.txt") return response.writeHead(200, { "content-type": "text/plain" }).end(ROBOTS);
  const page = PAGES[url];
  response.writeHead(page === undefined ? 404 : 200, { "content-type": page?.type ?? "text/plain" });
  return response.end(page?.text ?? "");
});

const names = (count: number) => `{${Array.from({ length: count }, (_, at) => `"n${at}":1`).join(",")}}`;
const message = '"messages":[{"role":"user","content":"hi"}]';
const COUNTED = `{"model":"claude-opus-5",${message},"metadata":${names(590_000)}}`;
const CHAT = `{"model":"core/cheap",${message},${names(800_000).slice(1, -1)}}`;

let host = 0;
function scrape(port: number): string {
  host += 1;
  return JSON.stringify({ urls: Object.keys(PAGES).map((path) => `http://h${host}.example:${port}${path}`) });
}

/** Sends one kind of request repeatedly until the time is over. */
async function repeat(
  name: string,
  { url, key, untilMs }: { readonly url: string; readonly key: string; readonly untilMs: number },
  body: () => string,
): Promise<Attacked> {
  const statuses: Record<string, number> = {};
  while (performance.now() < untilMs) {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const signal = AbortSignal.timeout(Math.ceil(Math.max(1, untilMs - performance.now())));
    const status = await fetch(url, { method: "POST", headers, body: body(), signal })
      .then(async (response) => {
        await response.arrayBuffer();
        return response.status;
      })
      .catch(() => "cut off");
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return { [name]: statuses };
}

site.listen(0, "127.0.0.2", () => {
  const { port } = site.address() as AddressInfo;
  parentPort?.postMessage({ port });
  parentPort?.on("message", async ({ url, key, seconds }: Target) => {
    const to = (path: string) => ({ url: `${url}${path}`, key, untilMs: performance.now() + seconds * 1_000 });
    const attacks = [
      ...[1, 2, 3].map(() => repeat("pages", to("/api/run/core/onescrape"), () => scrape(port))),
      ...[1, 2].map(() => repeat("counted", to("/v1/messages/count_tokens"), () => COUNTED)),
      repeat("chat", to("/v1/chat/completions"), () => CHAT),
    ];
    parentPort?.postMessage({ attacked: Object.assign({}, ...(await Promise.all(attacks))) as Attacked });
  });
});
