// Fits the named models to the call: which of them can serve it, with how many output tokens, through which candidates.
import type { Catalog, Offer, SoldModel } from "../../catalog/catalog.ts";
import { tierName } from "../../catalog/find-model.ts";
import { CONTENT_KINDS } from "../../catalog/model-facts.ts";
import { GatewayError } from "../../core/errors.ts";
import type { ModelCandidate } from "../../upstream/model-candidate.ts";
import type { ModelRequest, OutputBound } from "../formats/model-request.ts";
import type { ChatDeps } from "./deps.ts";
import { takesUnsifted } from "./dropped-header.ts";
import type { Unfit } from "./plan-headers.ts";
import { partTokensMax } from "./prompt-bounds.ts";
import type { FitModel } from "./quote.ts";
import type { Wanted } from "./resolve-models.ts";

const TAKERS_NAMED = 5;

/** Where to look for other models for this caller. */
interface Others {
  readonly catalog: Catalog;
  readonly sandbox: boolean;
}

function notTaken(
  { slug, parts }: SoldModel,
  { shape, promptField }: Pick<ModelRequest, "shape" | "promptField">,
  { catalog, sandbox }: Others,
): string {
  // A file's content is not always known; it may be of any kind.
  const sent = CONTENT_KINDS.filter(([kind]) => shape.parts[kind] > 0 || (kind === "file" && shape.parts.anything > 0));
  const lacking = sent.filter(([, bound]) => parts[bound] === undefined).map(([kind]) => kind);
  const takes = (one: SoldModel | null) =>
    one !== null && one.offers.length > 0 && sent.every(([, bound]) => one.parts[bound] !== undefined);
  const tiers = [...catalog.tiers.values()].filter(({ models }) =>
    models.some((name) => takes(catalog.model(name, { sandbox }))),
  );
  const models = catalog.models({ sandbox }).filter((one) => one.listed && takes(one));
  const takers = [...tiers.map(tierName), ...models.map((one) => one.slug)];
  const who = takers.length === 0 ? "nobody who is configured here does" : takers.slice(0, TAKERS_NAMED).join(", ");
  return `${slug} does not take content of kind ${lacking.join(" and ")} in ${promptField}. Who takes it: ${who}`;
}

/** The output bound where neither the request nor the model has one. */
const OUTPUT_TOKENS_UNKNOWN = 16_384;
const NO_PARTS = {};

export interface FittedCall {
  readonly deps: ChatDeps;
  readonly read: ModelRequest;
  readonly sandbox: boolean;
  readonly requestId: string;
  readonly account: string | undefined;
  readonly conversation: () => string;
  readonly id: string;
  readonly createdS: number;
  /** Collects routes that cannot serve the call; null where the caller wants no trace. */
  readonly unfit: Unfit[] | null;
}

/** The output limit of a call that sets none. Some models may fill their whole context; half of it leaves room for the prompt. */
export function ownMax({ outputTokensMax, contextTokens }: SoldModel): number {
  return Math.min(outputTokensMax ?? OUTPUT_TOKENS_UNKNOWN, Math.ceil(contextTokens / 2));
}

/** The output limit at a model, before the payer's money is considered. */
function outputTokensMaxOf({ asked, fallback, cap }: OutputBound, model: SoldModel): number {
  // More than the whole context means as long as the model can answer.
  const length = asked !== null && asked > model.contextTokens ? ownMax(model) : asked;
  const wanted = Math.min(length ?? fallback ?? ownMax(model), cap ?? Number.POSITIVE_INFINITY);
  return Math.min(wanted, model.outputTokensMax ?? wanted);
}

/** One vendor's limit may be lower than other vendors' for the same model; it refuses more. */
export function takenBy({ spec }: Offer, outputTokensMax: number): number {
  return Math.min(outputTokensMax, spec.outputTokensMax ?? outputTokensMax);
}

const NOT_TAKEN = "content of this kind is not taken";

/** For each offer of the model its candidate, or why it cannot serve the call. */
function candidatesOf(
  model: SoldModel,
  firstTokenMsMax: number,
  outputTokensMax: number,
  call: FittedCall,
): (ModelCandidate | string)[] {
  const { read, deps } = call;
  const { settings, upstream } = deps;
  const unaryMs = settings.unaryMs + settings.unaryMsPerToken * outputTokensMax;
  const clocks = read.stream
    ? { firstTokenMsMax, lastFirstTokenMsMax: settings.lastFirstTokenMsMax, gapMsMax: settings.gapMsMax }
    : { firstTokenMsMax: unaryMs, lastFirstTokenMsMax: unaryMs, gapMsMax: settings.gapMsMax };
  const answers = read.answers({ id: call.id, createdS: call.createdS, model: model.slug });
  const made: (ModelCandidate | string)[] = [];
  for (const offer of model.offers) {
    if (partTokensMax(read.shape, offer.spec.parts ?? NO_PARTS, offer.spec.contextTokens) === null) {
      made.push(NOT_TAKEN);
      continue;
    }
    const candidate = upstream.chatCandidate(offer, {
      asked: takesUnsifted(offer, read) ? read.unsifted() : read.asked,
      answers,
      requestId: call.requestId,
      account: call.account,
      conversation: call.conversation,
      completionId: call.id,
      createdS: call.createdS,
      stream: read.stream,
      servedSlug: model.slug,
      contextTokens: model.contextTokens,
      outputTokensMax: takenBy(offer, outputTokensMax),
      clocks,
      seal: read.seal,
    });
    made.push(candidate);
  }
  return made;
}

/** The routes of a model that cannot serve the call, with reasons. */
function unfitOf({ offers }: SoldModel, made: readonly (ModelCandidate | string)[]): readonly Unfit[] {
  return offers.flatMap(({ adapter, upstreamModel }, at) => {
    const reason = made[at];
    return typeof reason === "string" ? [{ provider: adapter.id, model: upstreamModel, reason }] : [];
  });
}

/** Without the reasons. `filter` reserves room for seventeen elements, and nearly every call keeps a single one while it runs. */
function fitOf<One extends object>(made: readonly (One | string)[]): readonly One[] {
  const [first] = made;
  if (made.length === 1 && typeof first === "object") return [first];
  return made.filter((one) => typeof one !== "string");
}

function fitModel({ model, firstTokenMsMax, place }: Wanted, call: FittedCall): FitModel | string {
  const { read } = call;
  const partTokens = partTokensMax(read.shape, model.parts, model.contextTokens);
  if (partTokens === null) return notTaken(model, read, { catalog: call.deps.catalog(), sandbox: call.sandbox });
  const outputTokensMax = outputTokensMaxOf(read.output, model);
  const made = candidatesOf(model, firstTokenMsMax, outputTokensMax, call);
  call.unfit?.push(...unfitOf(model, made));
  const candidates = fitOf(made);
  if (candidates.length === 0) {
    const reasons = made.filter((one) => typeof one === "string");
    const reason = reasons.find((one) => one !== NOT_TAKEN) ?? NOT_TAKEN;
    return `${model.slug} cannot be asked for this: ${reason}`;
  }
  const unsifted = read.dropped.length > 0 && model.offers.some((offer) => takesUnsifted(offer, read));
  return { model, place, firstTokenMsMax, candidates, partTokens, outputTokensMax, unsifted };
}

/** The first request field that a reason mentions; most reasons are about the prompt. */
function fieldNamedIn(reason: string, { asked, promptField }: ModelRequest): string {
  const words = reason.slice(reason.indexOf(": ") + 1).match(/\w+/g) ?? [];
  return words.find((word) => Object.hasOwn(asked.body, word)) ?? promptField;
}

/** Moves models that ignore stop sequences behind the others of the same name: their answers would differ. */
function stoppedFirst(fits: readonly FitModel[]): readonly FitModel[] {
  const ignoresStop = ({ candidates: [first] }: FitModel) => first?.unsent().includes("stop") === true;
  return fits.toSorted((a, b) => a.place - b.place || Number(ignoresStop(a)) - Number(ignoresStop(b)));
}

/** The models that can serve the call, in order. Throws where none can. */
export function fitModels(wanted: readonly Wanted[], call: FittedCall): readonly FitModel[] {
  const { read } = call;
  const made = wanted.map((one) => fitModel(one, call));
  const fits = fitOf(made);
  if (fits.length > 0 && read.unknownPart === null)
    return fits.length > 1 && read.asked.body.stop != null ? stoppedFirst(fits) : fits;
  const unknown = `content parts of type ${read.unknownPart} are not known here`;
  const why = read.unknownPart === null ? String(made[0]) : unknown;
  const param = fieldNamedIn(why, read);
  throw new GatewayError("bad_request", { param, detail: `${param}: ${why}` });
}

/** The same model with a lower output limit. */
export function withOutput(fit: FitModel, outputTokensMax: number, call: FittedCall): FitModel {
  const candidates = fitOf(candidatesOf(fit.model, fit.firstTokenMsMax, outputTokensMax, call));
  return { ...fit, outputTokensMax, candidates };
}
