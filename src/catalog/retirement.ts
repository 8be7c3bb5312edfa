// Retirement of endpoints, actions and models: answers announce it from the day it is announced, and after the sunset every call gets 410.

import type { Endpoint, GatewayRequest, Retirement } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { retirement } from "./action.ts";
import type { RetiredModel } from "./catalog.ts";
import type { ModelEnd } from "./said.ts";

/** How long before its end lists stop showing a model, in milliseconds. */
const UNLISTED_MS = 30 * 86_400_000;

const CHECKED = retirement.optional();

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** The first instant of a day (`YYYY-MM-DD`) in UTC. */
function dayMs(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

/** Whether the sunset has passed; it is the first instant of that day in UTC. */
export function isGone(retires: Retirement | undefined, nowMs: number): boolean {
  return retires !== undefined && nowMs >= dayMs(retires.sunset);
}

function endHeaders(day: string, successor: string | undefined) {
  const link = successor === undefined ? {} : { link: `<${successor}>; rel="successor-version"` };
  return { sunset: new Date(dayMs(day)).toUTCString(), ...link };
}

/** `Deprecation`, `Sunset` and a link to the successor on every answer of what retires. None before the announcement. */
export function retirementHeaders(retires: Retirement | undefined, nowMs: number): Readonly<Record<string, string>> {
  if (retires === undefined || nowMs < dayMs(retires.announced)) return NO_HEADERS;
  return { deprecation: "true", ...endHeaders(retires.sunset, retires.successor) };
}

export function goneError({ sunset, successor }: Retirement): GatewayError {
  const instead = successor === undefined ? "It has no successor." : `Use ${successor} instead.`;
  return new GatewayError("gone", {
    detail: { what: "This", sunset, instead },
    ...(successor === undefined ? {} : { data: { successor } }),
  });
}

/** The retirement that affects a request: the endpoint's own, or that of the action it names. */
export function retirementOf(endpoint: Endpoint, request: GatewayRequest): Retirement | undefined {
  return endpoint.retires ?? endpoint.retiresFor?.(request);
}

/** Throws if an endpoint's retirement gives callers less notice than the contract promises. */
export function checkRetirements(endpoints: readonly Endpoint[]): void {
  for (const { method, path, retires } of endpoints) {
    const problem = CHECKED.safeParse(retires).error?.issues[0];
    if (problem !== undefined) throw new Error(`${method} ${path}: ${problem.path.join(".")} ${problem.message}`);
  }
}

/** Whether a model is no longer served on a day (`YYYY-MM-DD`, UTC). */
export function hasEnded(retires: ModelEnd | undefined, day: string): boolean {
  return retires !== undefined && day >= retires.on;
}

/** Whether lists show a model on a day: not in the month before its end. */
export function isListedOn(day: string, retires: ModelEnd | null): boolean {
  return retires === null || dayMs(day) < dayMs(retires.on) - UNLISTED_MS;
}

/** Headers of calls to models that will end, for the earliest end: `Sunset` (RFC 8594) and a link to the successor. None if none ends. */
export function modelEndHeaders(ends: readonly ModelEnd[]): Readonly<Record<string, string>> {
  const [first] = ends.toSorted((a, b) => (a.on < b.on ? -1 : 1));
  if (first === undefined) return NO_HEADERS;
  return endHeaders(first.on, first.successor && `/api/llm/v1/models/${first.successor}`);
}

export function retiredModelError({ slug, retires: { on, successor } }: RetiredModel, param: string): GatewayError {
  const instead = successor === undefined ? "It has no successor." : `Ask for ${successor} instead.`;
  const data = successor === undefined ? { retired_on: on } : { retired_on: on, successor };
  return new GatewayError("gone", { of: "model", param, detail: { what: slug, sunset: on, instead }, data });
}
