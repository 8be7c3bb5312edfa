// Stream events for actions that run between two rounds of a model, for formats that have no item for them.
import type { NeutralEvent } from "../../core/neutral.ts";
import { rawObject } from "../../core/raw-json.ts";

export type ActionEvent = Extract<NeutralEvent, { kind: "action-begun" | "action-done" }>;

/** An SSE comment, ignored by clients, that shows the model is at work and commits the round to its route. */
export const AT_WORK = Buffer.from(": the model calls an action\n\n");

export function actionJson(event: ActionEvent): object {
  const { id, action, arguments: params } = event.action;
  if (event.kind === "action-begun") return { id, action, params: rawObject(params) ?? params, status: "running" };
  const { ok, cents } = event.action;
  return { id, action, status: ok ? "done" : "failed", ok, cents };
}
