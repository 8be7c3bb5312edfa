// Many processes over Redis: the ledger beside a bare client, and what a call costs in CPU in two processes and in one.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startRedis } from "../../test/support/redis.ts";
import { atMost, type Bench, expectWhole, type Row, startClient, told } from "../bench.ts";
import { cpuMs, median, medianRatio } from "../measure.ts";
import { startTollgate } from "../peers/tollgate.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { requestText } from "../workload.ts";

const NAME = "redis: processes";
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CONNECTIONS = 64;

export async function redis(bench: Bench): Promise<Row[]> {
  return [...(await ledgerRows(bench)), ...(await processRows(bench))];
}

async function ledgerRows(bench: Bench): Promise<Row[]> {
  const folder = join(bench.folder, "redis-ledger");
  mkdirSync(folder, { recursive: true });
  const args = [folder, String(bench.rounds), bench.quick ? "0.5" : "1.5"];
  const { hello } = await bench.processes.fork(new URL("../redis.ts", import.meta.url), { args });
  return [...(hello.rows ?? [])];
}

/**
 * One process with 64 connections, and two with as many each, by turns: what a second process costs the first. All three share a
 * server, and each was warmed up alone, because a process that is not compiled yet costs several times as much.
 */
async function processRows(bench: Bench): Promise<Row[]> {
  const folder = join(bench.folder, "redis-processes");
  mkdirSync(folder, { recursive: true });
  const server = await startRedis({ dir: folder });
  const clients = [await startClient(bench), await startClient(bench)];
  const upstreamPort = bench.upstream.port;
  const ground = { ...bench, upstreamPort, nodeFlags: [] };
  const archive = String(pathToFileURL(join(folder, "archive.db")));
  const started: Subject[] = [];
  for (const name of ["alone", "first", "second"]) {
    const own = { ...ground, folder: join(folder, name) };
    started.push(
      await startTollgate(own, "tollgate", ROOT, {
        REDIS_URL: server.url,
        ARCHIVE_URL: archive,
        SIGNING_SECRET: "of-all-the-gateways",
      }),
    );
  }
  const [alone, ...two] = started as [Subject, Subject, Subject];
  const costs: { one: number[]; two: number[] } = { one: [], two: [] };
  for (const subject of started) await costOf([subject], clients, bench.quick ? 6_000 : 12_000);
  for (let round = 1; round <= bench.rounds; round++) {
    const ms = bench.quick ? 2_000 : 4_000;
    const one = await costOf([alone], clients, ms);
    const both = await costOf(two, clients, ms);
    bench.say(`  ${NAME}, round ${round}: one ${one.toFixed(0)} us, two ${both.toFixed(0)} us CPU per call`);
    costs.one.push(one);
    costs.two.push(both);
  }
  for (const { child } of started) if (child !== null) await bench.processes.stop(child);
  await server.dispose();
  return [
    told(NAME, "CPU per call, one process over Redis", `${median(costs.one).toFixed(0)} us`),
    told(NAME, "CPU per call, two processes over Redis", `${median(costs.two).toFixed(0)} us`),
    atMost(NAME, "CPU per call, two processes over one", medianRatio(costs.two, costs.one), 1.15, "x"),
  ];
}

/** Microseconds of CPU per answer over all subjects, each kept busy by a separate client. */
async function costOf(subjects: readonly Subject[], clients: readonly Client[], ms: number): Promise<number> {
  const pids = subjects.map(({ pid }) => pid ?? 0);
  const used = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  const before = used();
  const results = await Promise.all(
    subjects.map(async (subject, at) => {
      const request = requestText(subject, { stream: false });
      const result = await (clients[at] as Client).run({
        kind: "closed",
        port: subject.port,
        request,
        connections: CONNECTIONS,
        ms,
      });
      expectWhole(subject, result);
      return result.whole;
    }),
  );
  return ((used() - before) * 1_000) / results.reduce((sum, whole) => sum + whole, 0);
}
