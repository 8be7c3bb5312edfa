// Who makes the parts of a demo video, as data.
import { z } from "zod";
import { actionId, jsonObject, place, type Said, words } from "./said.ts";

export const demoMaker = z.strictObject({
  kind: z.literal("demo-maker"),
  /** The tier or model that writes storyboards. */
  writer: words,
  /** The model that speaks, and its voice where the caller names none. */
  speaker: z.strictObject({ model: words, voice: words }),
  /** A vendor's browser that is paid before it runs, for operators who have none of their own. Places are JSON pointers. */
  browser: z.strictObject({
    begin: z.strictObject({ action: actionId, params: jsonObject, connectAt: place }),
    /** Ends it by its id, which is at `idAt` of what began it. */
    end: z.strictObject({ action: actionId, param: words, idAt: place }),
  }),
});

export type DemoMakerSpec = Said<z.infer<typeof demoMaker>>;
