// An endpoint or action that will go: its answers say so from the day it is announced, and after its sunset there is only 410.

import type { Endpoint, GatewayRequest, Retirement } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { retirementSchema } from "./validate-action.ts";

const CHECKED = retirementSchema.optional();

/** The first instant of a day, `YYYY-MM-DD`, in UTC. */
function dayMs(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

/** Whether it has had its sunset, which is the first instant of that day in UTC. */
export function isGone(retires: Retirement | undefined, nowMs: number): boolean {
  return retires !== undefined && nowMs >= dayMs(retires.sunset);
}

/**
 * The headers of every answer of what retires: `Deprecation` and `Sunset` as the contract has them, and where to go instead.
 * None before the day it is announced.
 */
export function retirementHeaders(retires: Retirement | undefined, nowMs: number): Readonly<Record<string, string>> {
  if (retires === undefined || nowMs < dayMs(retires.announced)) return {};
  return {
    deprecation: "true",
    sunset: new Date(dayMs(retires.sunset)).toUTCString(),
    ...(retires.successor === undefined ? {} : { link: `<${retires.successor}>; rel="successor-version"` }),
  };
}

/** What callers are told after the sunset. */
export function goneError({ sunset, successor }: Retirement): GatewayError {
  const instead = successor === undefined ? "It has no successor." : `Use ${successor} instead.`;
  return new GatewayError("gone", {
    detail: { sunset, instead },
    ...(successor === undefined ? {} : { data: { successor } }),
  });
}

/** The retirement that a request is subject to: its endpoint's own, or that of the action it names. */
export function retirementOf(endpoint: Endpoint, request: GatewayRequest): Retirement | undefined {
  return endpoint.retires ?? endpoint.retiresFor?.(request);
}

/** Throws where an endpoint's retirement leaves its callers less than the notice that the contract promises. */
export function checkRetirements(endpoints: readonly Endpoint[]): void {
  for (const { method, path, retires } of endpoints) {
    const problem = CHECKED.safeParse(retires).error?.issues[0];
    if (problem !== undefined) throw new Error(`${method} ${path}: ${problem.path.join(".")} ${problem.message}`);
  }
}
