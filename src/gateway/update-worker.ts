// Holds a list against what is sold, beside the thread that serves calls: reading a list of thousands takes as long as a hundred calls.
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import type { OrderTexts, UpdateAnswer } from "./propose-update.ts";

// On Linux a thread has a priority of its own, elsewhere it would be the whole process's: where processors are few, calls come first.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const [{ BadList }, { proposalOf }, { piecesOf, updateFrom }, { atOnce }] = await Promise.all([
  import("../catalog/updates/list.ts"),
  import("../catalog/updates/proposal.ts"),
  import("../catalog/updates/update.ts"),
  import("../slices.ts"),
]);

function answer(): UpdateAnswer {
  const { vendors, before, ...order } = workerData as OrderTexts;
  try {
    const { update, ...told } = proposalOf({
      ...order,
      vendors: vendors.map((json) => JSON.parse(json)),
      before: before && atOnce(updateFrom(before)),
    });
    const { changes, taken } = told;
    const proposal = { told: JSON.stringify(told), taken, held: changes.length - taken };
    return { proposal: { ...proposal, pieces: atOnce(piecesOf(update)) } };
  } catch (error) {
    if (error instanceof BadList) return { bad: error.message };
    throw error;
  }
}

parentPort?.postMessage(answer());
