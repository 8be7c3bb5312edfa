// Holds a list against what is sold, beside the thread that serves calls: reading a list of thousands takes as long as a hundred calls.
import { parentPort, workerData } from "node:worker_threads";
import { BadList } from "../catalog/updates/list.ts";
import { type ProposalOrder, proposalOf } from "../catalog/updates/proposal.ts";
import type { UpdateAnswer } from "./propose-update.ts";

function answer(): UpdateAnswer {
  try {
    return { proposal: proposalOf(workerData as ProposalOrder) };
  } catch (error) {
    if (error instanceof BadList) return { bad: error.message };
    throw error;
  }
}

parentPort?.postMessage(answer());
