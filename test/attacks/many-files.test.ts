// Hundreds of files in one account: listing a page takes as long as with ten, and every file is counted and can be deleted.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callerOf, type FilesCaller } from "../actions/files/calling.ts";
import { cpuMsOf } from "../support/cpu-time.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

const FILES = 400;
const AT_ONCE = 50;

let gateway: TestGateway;
let eve: FilesCaller;
let account: TestAccount;
const ids: string[] = [];
let fewMs = 0;

const listedMs = async (params: object) => {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 5; time++) {
    least = Math.min(least, await cpuMsOf(() => eve.call("list", params)));
  }
  return least;
};

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ kind: "personal", creditCents: 20_000 });
  eve = callerOf(gateway, account);
  const announce = async (at: number) => {
    const { file_id } = await eve.announce({ filename: `${at}.txt`, size_bytes: 1, tags: [`t${at % 7}`] });
    ids.push(file_id);
  };
  for (let at = 0; at < 10; at++) await announce(at);
  fewMs = await listedMs({});
  for (let at = 10; at < FILES; at += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, FILES - at) }, (_, more) => announce(at + more)));
}, 240_000);
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
});

describe("an account with hundreds of files", () => {
  it("has each of them under an id of its own", () => {
    expect(new Set(ids).size).toBe(FILES);
  });

  it("is shown a page of them in about the time of a page of ten", async () => {
    expect(await listedMs({})).toBeLessThan(Math.max(20 * fewMs, 250));
  });

  it("asks for those of a tag that no file has in bounded time", async () => {
    expect(await listedMs({ tags: ["none"] })).toBeLessThan(1_000);
  });

  it("keeps nobody else waiting while it looks through them again and again", async () => {
    const other = callerOf(gateway, await gateway.account({ kind: "personal", creditCents: 10 }));
    const looks = Array.from({ length: 64 }, () => eve.call("list", { tags: ["none"] }));
    const ms = await cpuMsOf(async () => expect((await other.call("list", {})).status).toBe(200));
    expect(ms).toBeLessThan(5_000);
    await Promise.all(looks);
  });

  it("gets the room of each back that it deletes, once, however often it asks", async () => {
    const [one = ""] = ids;
    const said = await Promise.all(Array.from({ length: 20 }, () => eve.call("delete", { file_id: one })));
    expect(said.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(1);
    expect((await eve.call("get", { file_id: one })).status).toBe(404);
  });
});
