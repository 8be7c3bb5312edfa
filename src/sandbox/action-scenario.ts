// Reads one action request, and decides the vendor's answer before anything is written.
import type { Json } from "../catalog/said.ts";
import { refusalBody, type VendorWords } from "./action-body.ts";
import { errorIn200, wordsMeaning, wordsNotReady } from "./action-derive.ts";
import { ACTION_FAULTS, type ActionConduct, actionConductOf, type ResponseScript, USUAL } from "./action-faults.ts";
import { idsAt, type Swaps, swapsFor, withSwaps } from "./action-ids.ts";
import type { ActionCall, ActionMemory } from "./action-memory.ts";
import { type ActionReading, addressOf, RequestRefusal, readActionRequest, sentAs } from "./action-request.ts";
import type { ActionPlace, Vendors } from "./action-vendors.ts";
import { askedToPay } from "./asks-payment.ts";
import type { Arrival } from "./scenario.ts";
import { type StandIn, type StandInCall, VendorRefusal } from "./stand-in.ts";
import { openStandInCall, usualAnswer } from "./stand-in-call.ts";

/** Headers by which the gateway identifies what a request belongs to; real vendors never get them. */
const ACTION_HEADER = "x-tollgate-sandbox-action";
const STEP_HEADER = "x-tollgate-sandbox-step";
const FAULT_HEADER = "x-tollgate-sandbox-fault";

export interface ActionScenario {
  readonly adapter: string;
  readonly action: string;
  readonly at: number;
  readonly words: VendorWords;
  readonly script: ResponseScript;
  readonly delayMs: number;
}

export interface ActionDeps {
  readonly vendors: Vendors;
  readonly standIn: StandIn;
  readonly memory: ActionMemory;
}

export function isActionArrival({ target }: Arrival): boolean {
  return target.headers[ACTION_HEADER] !== undefined;
}

/** A refusal with the usual message for its status. */
export function refused(status: number, message?: string): VendorWords {
  return { status, headers: {}, body: refusalBody(status, message), isText: false };
}

function wordsOf({ status, body }: VendorRefusal): VendorWords {
  return { status, headers: {}, body, isText: false };
}

function headerOf({ target }: Arrival, name: string): string {
  return String(target.headers[name] ?? "");
}

function placeOf(arrival: Arrival, vendors: Vendors): ActionPlace | string {
  const adapter = arrival.target.url.pathname.split("/")[1] ?? "";
  const name = headerOf(arrival, ACTION_HEADER);
  const vendor = vendors.get(adapter);
  const action = Object.entries(vendor?.spec.actions ?? {}).find(([id]) => id === name)?.[1];
  if (vendor === undefined || action === undefined) return `There is no action ${adapter}/${name}.`;
  const at = Number(headerOf(arrival, STEP_HEADER) || 0);
  const step = at === 0 || action.run !== undefined ? null : action.steps?.[at - 1];
  return step === undefined ? `${adapter}/${name} has no step ${at}.` : { adapter, name, vendor, action, at, step };
}

function issuePointers({ action }: ActionPlace): readonly string[] {
  return (action.issues ?? []).map(({ at }) => at);
}

/** The example's answers, with this call's ids. */
function answersOf(place: ActionPlace, swaps: Swaps): readonly Json[] {
  return place.action.example.answers.map((answer) => withSwaps(answer, swaps, issuePointers(place)));
}

/** Maps the example's caller-supplied ids to those of the request, so that answers repeat the caller's ids. */
function echoes(place: ActionPlace, reading: ActionReading): Swaps {
  const { action, step } = place;
  const params = new Set([...(action.requires ?? []).map(({ param }) => param), ...(action.callerIds ?? [])]);
  return new Map(
    [...params].flatMap((param) => {
      const example = [action.example.params[param] ?? []].flat().map(String);
      const sent = sentAs(param, step ?? action, reading);
      return example.flatMap((id, at): [string, string][] => (sent[at] === undefined ? [] : [[id, sent[at]]]));
    }),
  );
}

/** Chooses the example answer: by the number of earlier steps that have run; for a script, by its number of requests. */
function dueAnswer({ action, at }: ActionPlace, answers: readonly Json[], call: ActionCall): Json | undefined {
  if (action.run !== undefined) return answers[Math.min(at, answers.length - 1)];
  return answers[at === 0 ? 0 : Math.max(1, [...call.steps].filter((step) => step < at).length)];
}

interface Usual {
  readonly words: VendorWords;
  /** The request has no effect. */
  readonly isRefused: boolean;
  /** Sent even if the request names a fault. */
  readonly isFinal: boolean;
}

function refusedAs(words: VendorWords, isFinal: boolean): Usual {
  return { words, isRefused: true, isFinal };
}

/** The answer of the vendor's stand-in; the example if the stand-in does not implement the action. */
function usualOf(standIn: StandIn, call: StandInCall, { action, adapter, name }: ActionPlace): Usual {
  const play = standIn.actions?.[name] ?? ((asked) => usualAnswer(asked, action));
  try {
    const body = play(call);
    if (body instanceof VendorRefusal) return refusedAs(wordsOf(body), false);
    const isText = typeof body === "string" && (action.answer?.kind ?? "json") !== "json";
    return { words: { status: 200, headers: {}, body, isText }, isRefused: false, isFinal: false };
  } catch (error) {
    if (error instanceof VendorRefusal) return refusedAs(wordsOf(error), true);
    const message = error instanceof Error ? error.message : String(error);
    return refusedAs(refused(500, `The stand-in for ${adapter}/${name} has failed: ${message}`), true);
  }
}

/** The answer that the conduct puts in place of the usual one; null if none. */
function faultyWords(place: ActionPlace, script: ResponseScript, usual: VendorWords): VendorWords | null {
  if (script.kind === "refuse") return refused(script.status);
  if (script.kind === "error") return errorIn200(place, usual);
  if (script.kind !== "means") return null;
  const missing = `No rule of ${place.adapter}/${place.name} makes an answer mean ${script.verdict}.`;
  return wordsMeaning(script.verdict, place, usual) ?? refused(400, missing);
}

function applies({ once, step, script }: ActionConduct, at: number, call: ActionCall): boolean {
  if (script.kind === "answer" || (step !== null && step !== at)) return false;
  if (!once) return true;
  const first = !call.applied;
  call.applied = true;
  return first;
}

/** The vendor's answer if its stand-in cannot be loaded. */
export function brokenStandIn(adapter: string, message: string): ActionScenario {
  return { adapter, action: "", at: 0, words: refused(500, message), script: USUAL.script, delayMs: 0 };
}

/** Decides the answer. Refuses an invalid request, whatever fault it names. */
export function actionScenarioOf(arrival: Arrival, { vendors, standIn, memory }: ActionDeps): ActionScenario {
  const [adapter, action] = [arrival.target.url.pathname.split("/")[1] ?? "", headerOf(arrival, ACTION_HEADER)];
  const place = placeOf(arrival, vendors);
  const at = typeof place === "string" ? 0 : place.at;
  const says = (words: VendorWords, script: ResponseScript = USUAL.script, delayMs = 0): ActionScenario => {
    return { adapter, action, at, words, script, delayMs };
  };
  if (typeof place === "string") return says(refused(404, place));

  const fault = headerOf(arrival, FAULT_HEADER);
  const conduct = actionConductOf(fault, { action: `${adapter}/${action}`, isVendor: (id) => vendors.has(id) });
  if (conduct === null) {
    const names = ACTION_FAULTS.map(({ name }) => name).join(", ");
    return says(refused(400, `There is no fault ${fault}; there are ${names}.`));
  }

  const call = memory.call(JSON.stringify([adapter, action, headerOf(arrival, "x-request-id")]));
  if (at === 0) call.steps.clear();
  const before = answersOf(place, call.swaps);
  const gave = (pointer: string) => before.flatMap((answer) => idsAt(answer, pointer).map(String));
  const reading = readActionRequest(place, arrival, gave);
  if (reading instanceof RequestRefusal) return says(refused(reading.status, reading.message));
  const { rails } = place.vendor.spec.auth;
  const asked = at === 0 && fault === "" ? askedToPay(place.action, rails, arrival.target) : null;
  if (asked !== null) return says(asked);
  if (at === 0)
    call.swaps = new Map([...swapsFor(place.action.example.answers, issuePointers(place)), ...echoes(place, reading)]);
  const answer = dueAnswer(place, answersOf(place, call.swaps), call);
  if (answer === undefined)
    return says(refused(500, `The example of ${adapter}/${action} has no answer for step ${at}.`));
  const { path } = addressOf(arrival.target.url.pathname);
  const open = openStandInCall({ place, reading, memory, vendors, path, answer });
  const { words: usual, isRefused, isFinal } = usualOf(standIn, open.call, place);
  if (isFinal) return says(usual);
  if (place.step?.until !== undefined && call.polls < conduct.notReady) {
    const early = wordsNotReady(place, usual);
    call.polls += 1;
    if (early !== null) return says(early, USUAL.script, conduct.delayMs);
  }
  call.steps.add(at);
  const delayMs = conduct.step === null || conduct.step === at ? conduct.delayMs : 0;
  const script = applies(conduct, at, call) ? conduct.script : USUAL.script;
  const isGiven = script.kind === "answer" || script.kind === "padded";
  if (isGiven && !isRefused) open.commit(usual.body, conduct.notReady);
  return says(faultyWords(place, script, usual) ?? usual, script, delayMs);
}
