// Requests of a vendor's sessions: the adapter plays its own vendor, and the faults of actions are played over it.
import { refusalBody, type VendorWords } from "./action-body.ts";
import { ACTION_FAULTS, actionConductOf, USUAL } from "./action-faults.ts";
import { hasKey } from "./action-request.ts";
import type { ActionScenario } from "./action-scenario.ts";
import type { Vendors } from "./action-vendors.ts";
import type { MachineRoom } from "./machines.ts";
import type { Arrival } from "./scenario.ts";

/** What the gateway calls requests of sessions, where others name their action. */
const SESSIONS = "sessions";

export function isSessionArrival({ target }: Arrival): boolean {
  return target.headers["x-tollgate-sandbox-action"] === SESSIONS;
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

function refused(status: number, message?: string): VendorWords {
  return { status, headers: {}, body: refusalBody(status, message), isText: false };
}

/** The address below the vendor's origin, and which of its origins that is. */
function placeOf(pathname: string): {
  readonly adapter: string;
  readonly origin: string | undefined;
  readonly path: string;
} {
  const [, adapter = "", rest = ""] = /^\/([^/]+)(.*)$/s.exec(pathname) ?? [];
  const [, origin, path] = /^\/~([^/]+)(.*)$/s.exec(rest) ?? [];
  return { adapter, origin, path: path ?? rest };
}

function wordsOf(arrival: Arrival, vendors: Vendors, room: MachineRoom): VendorWords {
  const { method, target, body, said } = arrival;
  const { adapter, origin, path } = placeOf(target.url.pathname);
  const spec = vendors.get(adapter)?.spec;
  if (spec?.sessions === undefined) return refused(404, `${adapter} has no sessions.`);
  if (body === null) return refused(413, "The request body is too large.");
  const keyless = origin !== undefined && spec.keylessOrigins?.includes(origin) === true;
  if (!keyless && !hasKey(spec.auth, target.headers, target.url.searchParams, {})) {
    return refused(401, "The API key is missing.");
  }
  const { headers, url } = target;
  const request = { method, origin, path, query: url.searchParams, headers, body, json: jsonOf(body) };
  const answer = spec.sessions.standIn(said === undefined ? request : { ...request, said }, room.of(adapter));
  const { status, headers: told = {}, body: words, messages } = answer;
  if (messages !== undefined) return { status, headers: told, body: "", isText: true, messages };
  if (words instanceof Uint8Array) return { status, headers: told, body: "", isText: true, bytes: Buffer.from(words) };
  return { status, headers: told, body: words ?? "", isText: words === undefined };
}

/** Decides the answer. What the vendor would refuse is refused, whatever fault was asked for. */
export function sessionScenarioOf(arrival: Arrival, vendors: Vendors, room: MachineRoom): ActionScenario {
  const { headers, url } = arrival.target;
  const { adapter } = placeOf(url.pathname);
  const at = Number(headers["x-tollgate-sandbox-step"] ?? 0);
  const fault = String(headers["x-tollgate-sandbox-fault"] ?? "");
  const conduct = actionConductOf(fault, { action: `${adapter}/${SESSIONS}`, isVendor: (id) => vendors.has(id) });
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
  return says(wordsOf(arrival, vendors, room), script, delayMs);
}
