// The worker thread that reads untrusted content, one task at a time.
import { parentPort } from "node:worker_threads";
import { giveWay } from "../../../core/give-way.ts";
import type { ThreadAnswer } from "./extractor.ts";
import { linksIn } from "./page-addresses.ts";
import { decodedPage, judgedPage, judgedText, type PageDone, type PageTask } from "./page-tasks.ts";
import { readRobots } from "./robots.ts";
import { locationsIn } from "./site-locations.ts";

/** Throws where a page is too deep, or has too many elements. */
function doTask(task: PageTask): PageDone[PageTask["kind"]] {
  if (task.kind === "robots") return readRobots(Buffer.from(task.bytes).toString("utf8"), task.name);
  if (task.kind === "map") return locationsIn(decodedPage(task.page));
  if (task.kind === "links") return linksIn(decodedPage(task.page), task.url);
  if (task.kind === "text") return judgedText(task.page, task.status);
  return judgedPage(task.page, task.order);
}

function tell(answer: Omit<ThreadAnswer, "workedMs">): void {
  const { user, system } = process.threadCpuUsage();
  parentPort?.postMessage({ ...answer, workedMs: (user + system) / 1_000 } satisfies ThreadAnswer);
}

parentPort?.on("message", (task: PageTask) => {
  try {
    tell({ done: doTask(task) });
  } catch {
    tell({});
  }
});
// Lower the priority only once the code is loaded, because the first page waits for that.
giveWay();
tell({ isReady: true });
