// What serves the tools of wires that vendors run themselves, to models whose vendor does not, as data.
import { z } from "zod";
import { actionId, fn, type JsonObject, place, type Said, some, words } from "./said.ts";

/** An action that can serve such a tool. Places are JSON pointers, those of a result from the result. */
const source = z.strictObject({
  /** `<service>/<action>`. */
  action: actionId,
  params: fn<(wanted: { readonly asked: string }) => JsonObject>(),
  listAt: place,
  url: place,
  title: place,
  text: place,
});

/** One such tool, as a model is told of it. */
const tool = z.strictObject({
  about: words,
  /** Its one param. */
  takes: z.enum(["query", "url"]),
  /** The first that is configured serves. */
  sources: some(source, "has no source"),
});

export const hostedTools = z.strictObject({ kind: z.literal("hosted-tools"), web_search: tool, web_fetch: tool });

export type HostedSource = Said<z.infer<typeof source>>;
export type HostedToolSpec = Said<z.infer<typeof tool>>;
export type HostedToolsSpec = Said<z.infer<typeof hostedTools>>;
