// A page job whose process stopped: the next process continues with the missing rows, and pays for none twice.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { eventually } from "../../support/gateway.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { say } from "../../upstream/outside.ts";
import { HTML, PAGE, type PagesGateway, recordOf, startPagesGateway } from "./deep-pages.ts";

const countOf = (heads: readonly string[], path: string) =>
  heads.filter((text) => text.startsWith(`GET ${path} `)).length;

it("is adopted: finished rows are kept, each page is paid once, and the hold ends", async () => {
  const folder = mkdtempSync(join(tmpdir(), "deep-adopted-"));
  const first = await startPagesGateway({ DATA_DIR: folder, DRAIN_SECONDS: "0" });
  // Two pages arrive; the others hang until the process has stopped.
  first.play = (socket, path) => {
    if (path === "/0" || path === "/1") say(socket, HTML, PAGE);
  };
  const account = await first.account({ kind: "personal", creditCents: 1_000 });
  const urls = Array.from({ length: 5 }, (_, n) => first.at(`/${n}`));
  const launch = await first.launch(account, { urls, budgetCents: 50 });
  const { job_id: id } = launch.json.data as { job_id: string };
  await eventually(() => {
    const { progress } = JSON.parse(recordOf(folder, "job", id) ?? "{}");
    return progress?.done === 2 ? true : undefined;
  }, "two rows");
  const before = {
    progress: JSON.parse(recordOf(folder, "job", id) ?? "{}").progress,
    heads: [...first.outside.heads],
  };
  await first.drain();

  const second: PagesGateway = await startPagesGateway({ DATA_DIR: folder }, first.outside);
  second.play = (socket) => say(socket, HTML, PAGE);
  const job = await second.ended(launch);
  expect(job).toMatchObject({ status: "succeeded", chargedCents: 5, result: { read_count: 5, spent_cents: 5 } });
  expect(job.rows.map(({ url }) => url)).toEqual(urls);
  const after = first.outside.heads.slice(before.heads.length);
  expect([countOf(after, "/0"), countOf(after, "/1"), countOf(after, "/2")]).toEqual([0, 0, 1]);
  expect(JSON.parse(recordOf(folder, "job", id) ?? "{}").end.rows.slice(0, 2)).toEqual([
    before.progress.rows[0].name,
    before.progress.rows[1].name,
  ]);
  expect(await second.money(account)).toMatchObject({ balance_cents: 995, held_cents: 0 });
  expect(await second.doctor()).toEqual([]);
  await second.stop();
  removeFolder(folder);
});
