// How pages read and change data: with the same endpoints that programs call, in process.
import type { EndpointShape } from "../../../core/endpoint.ts";

/** An endpoint's refusal, worded for people. */
export class Refused {
  readonly status: number;
  readonly words: string;
  constructor(status: number, words: string) {
    this.status = status;
    this.words = words;
  }
}

/** Calls one of our own endpoints and returns its body, typed as that endpoint's answer. Rejects where a store is down. */
export type Ask = <Body>(method: EndpointShape["method"], path: string, body?: unknown) => Promise<Body | Refused>;

/** The body, or `none` where it is unavailable: only for parts that a page can do without. */
export function bodyOr<Body>(answer: Body | Refused, none: Body): Body {
  return answer instanceof Refused ? none : answer;
}

/** The result of a form's action that has nothing to show. */
export async function nothingElse(answer: Promise<unknown>): Promise<Refused | null> {
  const done = await answer;
  return done instanceof Refused ? done : null;
}

/** A path with the defined parts of a query. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "");
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}
