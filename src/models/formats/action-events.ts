// Events for actions that run between two rounds of a model, for formats without an item for them.
import type { NeutralEvent } from "../../core/neutral.ts";
import { rawObject } from "../../core/raw-json.ts";

export type ActionEvent = Extract<NeutralEvent, { kind: "action-begun" | "action-done" }>;

/** A comment that shows the model is at work and commits the round to its route; clients ignore it. */
export const AT_WORK = Buffer.from(": the model calls an action\n\n");

export function actionJson(event: ActionEvent): object {
  const { id, action, arguments: params } = event.action;
  if (event.kind === "action-begun") return { id, action, params: rawObject(params) ?? params, status: "running" };
  const { ok, cents } = event.action;
  return { id, action, status: ok ? "done" : "failed", ok, cents };
}
