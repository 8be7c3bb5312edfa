// What core/onescrape adds to pages that it fetches itself: five at once, of 100 KB, on loopback.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { atMost, type Bench, type Row, told } from "../bench.ts";
import { cpuMs, median } from "../measure.ts";
import { openAccount } from "../peers/tollgate.ts";

const NAME = "onescrape, five pages";
const PAGES = 5;
/** The server's time for a page. */
const PAGE_MS = 40;
/** Enough sites that each is read less than five times a second, the limit per host. */
const SITES = 100;

export async function pages(bench: Bench): Promise<Row[]> {
  const folder = join(bench.folder, "pages");
  mkdirSync(folder, { recursive: true });
  const file = new URL("../peers/pages-gateway.ts", import.meta.url);
  const { child, hello } = await bench.processes.fork(file, { args: [folder, String(bench.upstream.port)] });
  const key = await openAccount(hello.adminPort ?? 0, folder);
  const pid = child.pid ?? 0;
  let site = 0;

  /** The slowest of five pages as any client gets them, and as the gateway reads them, in milliseconds. */
  async function once(kind: "text" | "html"): Promise<{ readonly own: number; readonly ours: number }> {
    const paths = Array.from({ length: PAGES }, () => `/${kind}/${PAGE_MS}?${site++}`);
    const fromMs = performance.now();
    await Promise.all(
      paths.map(async (path) => {
        const response = await fetch(`http://127.0.0.1:${bench.upstream.port}${path}`);
        return response.text();
      }),
    );
    const own = performance.now() - fromMs;
    const urls = paths.map((path, at) => {
      return `http://site${(site + at) % SITES}.bench.example:${bench.upstream.port}${path}`;
    });
    const askedMs = performance.now();
    const response = await fetch(`http://127.0.0.1:${hello.port}/api/run/core/onescrape`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ urls }),
    });
    const { data } = (await response.json()) as { data: { read_count: number } };
    const ours = performance.now() - askedMs;
    if (data.read_count !== PAGES) throw new Error(`${kind}: read ${JSON.stringify(data).slice(0, 2_000)}`);
    return { own, ours };
  }

  const figures = new Map<string, { readonly added: number; readonly cpu: number }>();
  for (const kind of ["text", "html"] as const) {
    // Reads each site's robots.txt once, and warms up.
    for (let at = 0; at < (SITES / PAGES) * 3; at++) await once(kind);
    const calls = bench.quick ? 60 : 200;
    const own: number[] = [];
    const ours: number[] = [];
    const before = cpuMs(pid);
    for (let at = 0; at < calls; at++) {
      const took = await once(kind);
      own.push(took.own);
      ours.push(took.ours);
    }
    const cpu = (cpuMs(pid) - before) / (calls * PAGES);
    const added = median(ours) - median(own);
    bench.say(`  ${NAME}: ${kind} +${added.toFixed(2)} ms p50, ${cpu.toFixed(2)} ms CPU a page`);
    figures.set(kind, { added, cpu });
  }
  await bench.processes.stop(child);
  const { added = Number.NaN, cpu = Number.NaN } = figures.get("text") ?? {};
  const html = figures.get("html");
  return [
    atMost(NAME, "plain text: p50 over the slowest page", added, 5, " ms"),
    atMost(NAME, "plain text: CPU a page", cpu, 3, " ms"),
    told(
      NAME,
      "HTML, with extraction: p50 over the slowest page, CPU a page",
      `${html?.added.toFixed(1)} ms, ${html?.cpu.toFixed(1)} ms`,
    ),
  ];
}
