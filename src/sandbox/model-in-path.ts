// Requests whose path names the model: the body must not name it again.
import { refuse } from "./dialect.ts";
import type { Refusal } from "./refusals.ts";

const PLACE = /\/(?:deployments|models?)\/([^/:]+)/;
const STREAMS = /stream/i;

function isObject(body: unknown): body is Record<string, unknown> {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}

/** The model that a path names; null where it names none. */
export function modelInPath(url: URL): string | null {
  const model = PLACE.exec(url.pathname)?.[1];
  return model === undefined ? null : decodeURIComponent(model);
}

/** The body with the model that its path names, or the refusal of one that names it again. */
export function withPathModel(body: unknown, url: URL): unknown {
  const model = modelInPath(url);
  if (model === null || !isObject(body)) return body;
  return { ...body, model };
}

/** What is wrong with a body beside a path that names its model; null: nothing. */
export function pathRefusal(body: unknown, url: URL, alsoInPath: readonly string[]): Refusal | null {
  if (modelInPath(url) === null || !isObject(body)) return null;
  const twice = ["model", ...alsoInPath].find((field) => body[field] !== undefined);
  return twice === undefined ? null : refuse(twice, "Extra inputs are not permitted");
}

/** Whether a path asks for a stream. */
export function streamsByPath({ pathname }: URL): boolean {
  return STREAMS.test(pathname);
}
