// Decides answers to session requests: the vendor's stand-in answers, and action faults apply on top.
import type { VendorWords } from "./action-body.ts";
import { ACTION_FAULTS, actionConductOf, USUAL } from "./action-faults.ts";
import { addressOf, hasKey } from "./action-request.ts";
import { type ActionScenario, refused } from "./action-scenario.ts";
import type { Vendors } from "./action-vendors.ts";
import type { MachineRoom } from "./machines.ts";
import { type Arrival, jsonOf } from "./scenario.ts";
import type { StandIn } from "./stand-in.ts";

/** The value that marks session requests in the header that otherwise names an action. */
const SESSIONS = "sessions";

export interface SessionDeps {
  readonly vendors: Vendors;
  readonly standIn: StandIn;
  readonly room: MachineRoom;
}

export function isSessionArrival({ target }: Arrival): boolean {
  return target.headers["x-tollgate-sandbox-action"] === SESSIONS;
}

function wordsOf(arrival: Arrival, { vendors, standIn, room }: SessionDeps): VendorWords {
  const { method, target, body, said } = arrival;
  const { adapter, origin, path } = addressOf(target.url.pathname);
  const spec = vendors.get(adapter)?.spec;
  if (spec === undefined || standIn.sessions === undefined) return refused(404, `${adapter} has no sessions.`);
  if (body === null) return refused(413, "The request body is too large.");
  const keyless = origin !== undefined && spec.keylessOrigins?.includes(origin) === true;
  if (!keyless && !hasKey(spec.auth, target.headers, target.url.searchParams, {})) {
    return refused(401, "The API key is missing.");
  }
  const { headers, url } = target;
  const request = { method, origin, path, query: url.searchParams, headers, body, json: jsonOf(body) };
  const answer = standIn.sessions(said === undefined ? request : { ...request, said }, room.of(adapter));
  const { status, headers: told = {}, body: words, messages } = answer;
  if (messages !== undefined) return { status, headers: told, body: "", isText: true, messages };
  if (words instanceof Uint8Array) return { status, headers: told, body: "", isText: true, bytes: Buffer.from(words) };
  return { status, headers: told, body: words ?? "", isText: words === undefined };
}

/** Decides the answer. Refuses an invalid request, whatever fault it names. */
export function sessionScenarioOf(arrival: Arrival, deps: SessionDeps): ActionScenario {
  const { headers, url } = arrival.target;
  const { adapter } = addressOf(url.pathname);
  const at = Number(headers["x-tollgate-sandbox-step"] ?? 0);
  const fault = String(headers["x-tollgate-sandbox-fault"] ?? "");
  const conduct = actionConductOf(fault, { action: `${adapter}/${SESSIONS}`, isVendor: (id) => deps.vendors.has(id) });
  const says = (words: VendorWords, script = USUAL.script, delayMs = 0): ActionScenario => {
    return { adapter, action: SESSIONS, at, words, script, delayMs };
  };
  if (conduct === null) {
    const names = ACTION_FAULTS.map(({ name }) => name).join(", ");
    return says(refused(400, `There is no fault ${fault}; there are ${names}.`));
  }
  const applies = conduct.step === null || conduct.step === at;
  const script = applies && !(conduct.once && at > 0) ? conduct.script : USUAL.script;
  const delayMs = applies ? conduct.delayMs : 0;
  if (script.kind === "refuse") return says(refused(script.status), script, delayMs);
  return says(wordsOf(arrival, deps), script, delayMs);
}
