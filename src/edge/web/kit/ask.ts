// How pages read and change data: with the same endpoints that programs call, in process.
import type { EndpointShape } from "../../../core/endpoint.ts";

export type Paged<Name extends string, Row> = Readonly<Record<Name, readonly Row[]>> & {
  readonly next_cursor: string | null;
};

/** An endpoint's refusal, worded for people. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, words: string) {
    super(words);
    this.status = status;
  }
}

/** Calls one of our own endpoints and returns its body, typed as that endpoint's answer. Throws a `Refused`, and what a store that is down throws. */
export type Ask = <Body>(method: EndpointShape["method"], path: string, body?: unknown) => Promise<Body>;

/** The answer, or what `instead` makes of a refusal. */
export async function unlessRefused<Body>(
  answer: Promise<Body>,
  instead: (refused: Refused) => Body | Promise<Body>,
): Promise<Body> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Refused) return instead(error);
    throw error;
  }
}

/** The body, or `none` where it is refused: only for parts that a page can do without. */
export const bodyOr = <Body>(answer: Promise<Body>, none: Body) => unlessRefused(answer, () => none);

/** A path with the defined parts of a query. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "");
  return set.length === 0 ? path : `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams(set)}`;
}
