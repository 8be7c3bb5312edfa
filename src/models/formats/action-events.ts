// What the gateway does between two rounds of a model, for wires that have no item of their own for it.
import type { NeutralEvent } from "../../core/neutral.ts";
import { rawObject } from "../../core/raw-json.ts";

export type ActionEvent = Extract<NeutralEvent, { kind: "action-begun" | "action-done" }>;

/** Shows that the model is at work, and commits its round to the route that it came by: clients of events pass over it. */
export const AT_WORK = Buffer.from(": the model calls an action\n\n");

export function actionTold(event: ActionEvent): object {
  const { id, action, arguments: params } = event.action;
  if (event.kind === "action-begun") return { id, action, params: rawObject(params) ?? params, status: "running" };
  const { ok, cents } = event.action;
  return { id, action, status: ok ? "done" : "failed", ok, cents };
}
