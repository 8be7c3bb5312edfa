// The rate at which our own fetcher contacts one host, across processes.
import { expect, it } from "vitest";
import { createHostPace, sharedPace } from "../../../src/actions/composites/pages/host-pace.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { openStores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { folderForFile, forFile } from "../../support/for-file.ts";

const folder = folderForFile("tollgate-host-pace-");
const stores = forFile(
  await openStores(readConfig({ DATA_DIR: folder }), {
    onFatal(error) {
      throw error;
    },
  }),
);

const paceOf = (records: Parameters<typeof sharedPace>[1]) =>
  sharedPace(createHostPace(systemClock), records, systemClock);
const bounds = (msMax: number) => ({ msMax, signal: new AbortController().signal });

it("three processes ask a host twice at once and five times a second together, and another host meanwhile", async () => {
  const processes = [paceOf(stores.records), paceOf(stores.records), paceOf(stores.records)];
  const beganMs: number[] = [];
  let running = 0;
  let most = 0;
  const ask = async (at: number) => {
    const release = await processes[at % processes.length]?.enter("gate.example", bounds(30_000));
    if (release === null || release === undefined) throw new Error("its turn has not come");
    beganMs.push(performance.now());
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 250));
    running -= 1;
    release();
  };
  const asking = Promise.all(Array.from({ length: 6 }, (_, at) => ask(at)));
  const other = await processes[0]?.enter("other.example", bounds(10_000));
  other?.();
  await asking;
  expect(most).toBe(2);
  // Six turns span a second from the first to the last; a turn may be reported late on a busy machine.
  expect((beganMs.at(-1) ?? 0) - (beganMs[0] ?? 0)).toBeGreaterThan(800);
});

it("whoever's turn does not come in time leaves no place taken", async () => {
  const [one, two] = [paceOf(stores.records), paceOf(stores.records)];
  const first = await one.enter("busy.example", bounds(10_000));
  const second = await two.enter("busy.example", bounds(10_000));
  expect(await paceOf(stores.records).enter("busy.example", bounds(120))).toBeNull();
  first?.();
  second?.();
  const third = await paceOf(stores.records).enter("busy.example", bounds(10_000));
  expect(third).not.toBeNull();
  third?.();
});

it("each process keeps its own pace where the records are away", async () => {
  const away = () => Promise.reject(new Error("away"));
  const release = await paceOf({ put: away, delete: away }).enter("gate.example", bounds(1_000));
  expect(release).not.toBeNull();
  release?.();
});
