// Holds a list against what is sold, beside the thread that serves calls: reading a list of thousands takes as long as a hundred calls.
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import type { ProposalOrder } from "../catalog/updates/proposal.ts";
import type { UpdateAnswer } from "./propose-update.ts";

// On Linux a thread has a priority of its own, elsewhere it would be the whole process's: where processors are few, calls come first.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_LOW);

const [{ BadList }, { proposalOf }] = await Promise.all([
  import("../catalog/updates/list.ts"),
  import("../catalog/updates/proposal.ts"),
]);

function answer(): UpdateAnswer {
  try {
    return { proposal: proposalOf(workerData as ProposalOrder) };
  } catch (error) {
    if (error instanceof BadList) return { bad: error.message };
    throw error;
  }
}

parentPort?.postMessage(answer());
