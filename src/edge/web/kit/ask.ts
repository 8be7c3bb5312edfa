// How pages come by what they show and do what is asked of them: by the endpoints that programs call, inside of the process.
import type { EndpointShape } from "../../../core/endpoint.ts";

/** Why an endpoint did not do what it was asked, as a person is told it. */
export class Refused {
  readonly status: number;
  readonly words: string;
  constructor(status: number, words: string) {
    this.status = status;
    this.words = words;
  }
}

/** Asks one of our own endpoints. The answer's body is what that endpoint is known to answer. Rejects where a store is away. */
export type Ask = <Body>(method: EndpointShape["method"], path: string, body?: unknown) => Promise<Body | Refused>;

/** The body, or nothing in its place where it is not to be had: only of what a page is good without. */
export function bodyOr<Body>(answer: Body | Refused, none: Body): Body {
  return answer instanceof Refused ? none : answer;
}

/** What a form's act comes to where there is nothing to show of it. */
export async function nothingElse(answer: Promise<unknown>): Promise<Refused | null> {
  const done = await answer;
  return done instanceof Refused ? done : null;
}

/** A path with what is set of a query. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "");
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}
