// From a source to what would change by it: read within bounds, then held against the catalog in a thread of its own.
import { Worker } from "node:worker_threads";
import type { Catalog } from "../catalog/catalog.ts";
import { vendorFactsOf } from "../catalog/updates/facts-of.ts";
import { BadList } from "../catalog/updates/list.ts";
import type { ProposalOrder } from "../catalog/updates/proposal.ts";
import { type ModelsUpdate, piecesOf, type UpdatePieces, updateFrom, updateText } from "../catalog/updates/update.ts";
import type { Clock } from "../clock.ts";
import { eachOf, inSlices } from "../slices.ts";
import { THREAD_FLAGS } from "../thread-flags.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { readSource, sourceText } from "./update-source.ts";

/** A list may have rules that take for ever to try: its thread is ended. */
const COMPARE_MS_MAX = 30_000;
const COMPARE_MIB_MAX = 512;

/** What the thread is asked: the order, in texts. */
export type OrderTexts = Omit<ProposalOrder, "vendors" | "before"> & {
  readonly vendors: readonly string[];
  readonly before: UpdatePieces | null;
};

interface ProposalTexts {
  /** What is told of it: the proposal without the update, as JSON. */
  readonly told: string;
  /** How many changes the update has, and how many wait for the operator's word. */
  readonly taken: number;
  readonly held: number;
  readonly pieces: UpdatePieces;
}

/** What the thread says; `bad`: why the list cannot be believed. */
export type UpdateAnswer = { readonly proposal: ProposalTexts } | { readonly bad: string };

/** What would change, and the update that it makes. */
export interface Proposed extends Pick<ProposalTexts, "told" | "taken" | "held"> {
  readonly update: ModelsUpdate;
  /** The update as JSON. */
  readonly json: string;
}

export interface UpdateOrder {
  readonly from: string;
  /** Whose list a file or an address is, where it is one vendor's own. */
  readonly vendor: string | null;
  readonly yes: boolean;
}

export interface ProposeDeps {
  readonly catalog: Catalog;
  readonly before: ModelsUpdate | null;
  readonly upstream: Upstream;
  readonly markupPercent: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

function compared(order: OrderTexts, signal: AbortSignal): Promise<ProposalTexts> {
  const worker = new Worker(new URL("./update-worker.ts", import.meta.url), {
    workerData: order,
    execArgv: [...THREAD_FLAGS],
    resourceLimits: { maxOldGenerationSizeMb: COMPARE_MIB_MAX },
  });
  const done = Promise.withResolvers<ProposalTexts>();
  const late = () => done.reject(new BadList(`comparing it took longer than ${COMPARE_MS_MAX / 1000} seconds`));
  const timer = setTimeout(late, COMPARE_MS_MAX);
  const left = () => done.reject(new BadList("it was left: the gateway ends"));
  signal.addEventListener("abort", left, { once: true });
  worker.on("message", (answer: UpdateAnswer) => {
    if ("proposal" in answer) done.resolve(answer.proposal);
    else done.reject(new BadList(answer.bad));
  });
  worker.on("error", (error: Error) => done.reject(new BadList(`it cannot be compared: ${error.message}`)));
  return done.promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", left);
    return worker.terminate();
  });
}

/** Says what would change. Throws BadList with one line, which names the source, where nothing will. */
export async function proposeUpdate({ from, vendor, yes }: UpdateOrder, deps: ProposeDeps): Promise<Proposed> {
  const { catalog, before, upstream, markupPercent, clock, signal } = deps;
  const source = sourceText(from);
  try {
    const read = await readSource(from, { adapters: catalog.adapters({ sandbox: false }), upstream, signal });
    const takenAt = `${new Date(clock.epochMs()).toISOString().slice(0, 19)}Z`;
    const order = {
      bytes: read.bytes,
      source,
      vendor: read.vendor ?? vendor,
      vendors: await inSlices(eachOf(vendorFactsOf(catalog), (facts) => JSON.stringify(facts))),
      before: before && (await inSlices(piecesOf(before))),
      markupPercent,
      takenAt,
      yes,
    };
    const { pieces, ...proposed } = await compared(order, signal);
    return { ...proposed, update: await inSlices(updateFrom(pieces)), json: updateText(pieces) };
  } catch (error) {
    if (error instanceof BadList) throw new BadList(`${source}: ${error.message}; nothing was changed`);
    throw error;
  }
}
