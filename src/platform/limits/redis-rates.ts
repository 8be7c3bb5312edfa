// Counts requests and tokens per minute in Redis, across processes.
import { readFileSync } from "node:fs";
import type { RedisLink } from "../storage/redis-link.ts";
import type { CallRates } from "./call-rates.ts";

const SOURCE = readFileSync(new URL("./redis-rates.lua", import.meta.url), "utf8");

export function redisRates(link: Pick<RedisLink, "script">): CallRates {
  const operation = (name: string) => link.script(`rates_${name}`, `${SOURCE}\nreturn ops.${name}(KEYS, ARGV)\n`);
  const [take, giveBack] = [operation("take"), operation("give_back")];
  const keyOf = (accountId: string) => `{a:${accountId}}:n`;
  return {
    async take(accountId, taken) {
      const told = taken.flatMap(({ name, limit, amount }) => [name, limit, amount]);
      const [place, value] = (await take.run([keyOf(accountId)], told)) as [number, number];
      return Number(place) === 0 ? { minute: Number(value) } : { full: Number(place) - 1, resetSeconds: Number(value) };
    },
    async giveBack(accountId, minute, taken) {
      await giveBack.run([keyOf(accountId)], [minute, ...taken.flatMap(({ name, amount }) => [name, amount])]);
    },
  };
}
