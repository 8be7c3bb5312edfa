// Reads one request of an action and decides how it will be answered in the vendor's place, before anything is written.
import type { Json } from "../catalog/action.ts";
import { refusalBody, type VendorWords } from "./action-body.ts";
import { errorIn200, wordsMeaning, wordsNotReady } from "./action-derive.ts";
import { ACTION_FAULTS, type ActionConduct, actionConductOf, type ResponseScript, USUAL } from "./action-faults.ts";
import { idsAt, type Swaps, swapsFor, withSwaps } from "./action-ids.ts";
import type { ActionCall, ActionMemory } from "./action-memory.ts";
import { withPages } from "./action-pages.ts";
import { type ActionReading, RequestRefusal, readActionRequest, sentAs } from "./action-request.ts";
import { keepState, usedResources, usesOf, withState } from "./action-state.ts";
import type { ActionPlace, Vendors } from "./action-vendors.ts";
import { askedToPay } from "./asks-payment.ts";
import type { Arrival } from "./scenario.ts";

/** The headers by which the gateway says what a request belongs to; no vendor ever sees them. */
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

export function isActionArrival({ target }: Arrival): boolean {
  return target.headers[ACTION_HEADER] !== undefined;
}

function refused(status: number, message?: string): VendorWords {
  return { status, headers: {}, body: refusalBody(status, message), isText: false };
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

/** Where the vendor's own ids stand in an answer: those that it issues, and those of what it makes. */
function issuePointers({ action }: ActionPlace): readonly string[] {
  const made = (action.state?.makes ?? []).flatMap(({ id = "" }) => /^\{(\/.*)\}$/.exec(id)?.[1] ?? []);
  return [...new Set([...(action.issues ?? []).map(({ at }) => at), ...made])];
}

/** The example's answers with the ids of this call. */
function answersOf(place: ActionPlace, swaps: Swaps): readonly Json[] {
  return place.action.example.answers.map((answer) => withSwaps(answer, swaps, issuePointers(place)));
}

/** The ids that the vendor makes for a call. */
function freshIds(place: ActionPlace): Swaps {
  return swapsFor(place.action.example.answers, issuePointers(place));
}

/** What the request's own ids are in the example: answers bear the caller's in their place. */
function echoes(place: ActionPlace, reading: ActionReading): Swaps {
  const { action, step } = place;
  const params = new Set([...usesOf(place).map(({ param }) => param), ...(action.callerIds ?? [])]);
  return new Map(
    [...params].flatMap((param) => {
      const example = [action.example.params[param] ?? []].flat().map(String);
      const sent = sentAs(param, step ?? action, reading);
      return example.flatMap((id, at): [string, string][] => (sent[at] === undefined ? [] : [[id, sent[at]]]));
    }),
  );
}

/** The place with the example that goes with what was sent. */
function withExampleFor(place: ActionPlace, reading: ActionReading): ActionPlace {
  const { action, step } = place;
  const other = action.otherExamples?.find(({ when }) =>
    Object.entries(when).every(([param, value]) => sentAs(param, step ?? action, reading).includes(String(value))),
  );
  if (other === undefined) return place;
  return { ...place, action: { ...action, example: { ...action.example, answers: other.answers } } };
}

/** Which of the example's answers is due: by how many of the steps before it have run, of a script by how often it has asked. */
function dueAnswer({ action, at }: ActionPlace, answers: readonly Json[], call: ActionCall): Json | undefined {
  if (action.run !== undefined) return answers[Math.min(at, answers.length - 1)];
  return answers[at === 0 ? 0 : Math.max(1, [...call.steps].filter((step) => step < at).length)];
}

/** The usual answer of this request. */
function usualWords(place: ActionPlace, answers: readonly Json[], call: ActionCall): VendorWords {
  const { action, at, adapter, name } = place;
  const body = dueAnswer(place, answers, call);
  if (body === undefined) return refused(500, `The example of ${adapter}/${name} has no answer for step ${at}.`);
  const isText = typeof body === "string" && (action.answer?.kind ?? "json") !== "json";
  return { status: 200, headers: {}, body, isText };
}

/** The words that the conduct asks for instead of the usual ones; null: the usual ones. */
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

/** Decides the answer. A request that the vendor would refuse is refused, whatever fault was asked for. */
export function actionScenarioOf(arrival: Arrival, vendors: Vendors, memory: ActionMemory): ActionScenario {
  const [adapter, action] = [arrival.target.url.pathname.split("/")[1] ?? "", headerOf(arrival, ACTION_HEADER)];
  const named = placeOf(arrival, vendors);
  const at = typeof named === "string" ? 0 : named.at;
  const says = (words: VendorWords, script: ResponseScript = USUAL.script, delayMs = 0): ActionScenario => {
    return { adapter, action, at, words, script, delayMs };
  };
  if (typeof named === "string") return says(refused(404, named));

  const fault = headerOf(arrival, FAULT_HEADER);
  const conduct = actionConductOf(fault, { action: `${adapter}/${action}`, isVendor: (id) => vendors.has(id) });
  if (conduct === null) {
    const names = ACTION_FAULTS.map(({ name }) => name).join(", ");
    return says(refused(400, `There is no fault ${fault}; there are ${names}.`));
  }

  const call = memory.call(JSON.stringify([adapter, action, headerOf(arrival, "x-request-id")]));
  if (at === 0) call.steps.clear();
  const before = answersOf(named, call.swaps);
  const gave = (pointer: string) => before.flatMap((answer) => idsAt(answer, pointer).map(String));
  const reading = readActionRequest(named, arrival, gave);
  if (reading instanceof RequestRefusal) return says(refused(reading.status, reading.message));
  const found = withExampleFor(named, reading);
  const stateCall = usedResources(found, reading, memory);
  if ("status" in stateCall) return says(stateCall);
  const { rails } = found.vendor.spec.auth;
  const asked = at === 0 && fault === "" ? askedToPay(found.action, rails, arrival.target) : null;
  if (asked !== null) return says(asked);
  const paged = withPages(stateCall, vendors);
  const place = typeof paged === "number" ? found : paged;

  if (at === 0) call.swaps = new Map([...freshIds(place), ...echoes(place, reading)]);
  const plain = typeof paged === "number" ? refused(paged) : usualWords(place, answersOf(place, call.swaps), call);
  const { words: usual, isRefused } = withState(plain, stateCall);
  if (place.step?.until !== undefined && call.polls < conduct.notReady) {
    const early = wordsNotReady(place, usual);
    call.polls += 1;
    if (early !== null) return says(early, USUAL.script, conduct.delayMs);
  }
  call.steps.add(at);
  const delayMs = conduct.step === null || conduct.step === at ? conduct.delayMs : 0;
  const script = applies(conduct, at, call) ? conduct.script : USUAL.script;
  const isGiven = script.kind === "answer" || script.kind === "padded";
  if (isGiven && !isRefused) keepState(usual, stateCall, conduct.notReady);
  return says(faultyWords(place, script, usual) ?? usual, script, delayMs);
}
