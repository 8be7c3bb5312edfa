// Requests that name the model in their path; their body must not repeat it.
import { isRecord } from "../core/json.ts";
import { refuse } from "./dialect.ts";
import type { Refusal } from "./refusals.ts";

const PLACE = /\/(?:deployments|models?)\/([^/:]+)/;
const STREAMS = /stream/i;

export function modelInPath(url: URL): string | null {
  const model = PLACE.exec(url.pathname)?.[1];
  return model === undefined ? null : decodeURIComponent(model);
}

export function withPathModel(body: unknown, url: URL): unknown {
  const model = modelInPath(url);
  if (model === null || !isRecord(body)) return body;
  return { ...body, model };
}

/** The refusal of a body that repeats what its path states; null if it does not. */
export function pathRefusal(body: unknown, url: URL, alsoInPath: readonly string[]): Refusal | null {
  if (modelInPath(url) === null || !isRecord(body)) return null;
  const twice = ["model", ...alsoInPath].find((field) => body[field] !== undefined);
  return twice === undefined ? null : refuse(twice, "Extra inputs are not permitted");
}

export function streamsByPath({ pathname }: URL): boolean {
  return STREAMS.test(pathname);
}
