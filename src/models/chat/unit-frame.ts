// The frames for unit-priced answers: whole, text, events or bytes; the cost is part of `usage`.
import type { Frame } from "../../core/endpoint.ts";
import { usdNumber, usdText } from "../../core/money.ts";
import type { Charge } from "../../core/plan.ts";
import { isRecord } from "../../upstream/json-pointer.ts";
import { errorObject } from "../formats/error-object.ts";
import type { AnswerForm } from "./unit-endpoint.ts";

const TYPES: Readonly<Record<"json" | "events", string>> = {
  json: "application/json",
  events: "text/event-stream; charset=utf-8",
};

/** Adds the cost to the usage of the last event, where it has one. */
function withCost(tail: string, charge: Charge): string {
  return tail
    .split("\n\n")
    .map((event) => {
      const at = event.indexOf("data: ");
      if (at < 0 || !event.includes('"usage"')) return event;
      const json: unknown = JSON.parse(event.slice(at + 6));
      if (!isRecord(json) || !isRecord(json.usage)) return event;
      const usage = { ...json.usage, cost: usdNumber(charge.chargedNano) };
      return `${event.slice(0, at)}data: ${JSON.stringify({ ...json, usage })}`;
    })
    .join("\n\n");
}

function some(body: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => names.includes(name)));
}

export function unitFrame(form: AnswerForm, tellsCost: boolean): Frame {
  return {
    keepAlive: null,
    head(reply, served, legs, charge) {
      reply.header("content-type", "contentType" in form ? form.contentType : TYPES[form.kind]);
      if (form.kind === "events") reply.header("cache-control", "no-cache");
      reply.header("x-tollgate-model", served.model);
      reply.header("x-tollgate-attempts", String(legs.filter(({ failure }) => failure !== null).length + 1));
      if (charge !== null) reply.header("x-tollgate-cost-usd", usdText(charge.chargedNano));
    },
    last(final, cost, charge) {
      if (final.kind === "stream") {
        if (form.kind !== "events") return final.tail;
        const { inputTokens = 0, outputTokens = 0 } = cost.usage ?? {};
        const usage = {
          prompt_tokens: inputTokens,
          completion_tokens: outputTokens,
          total_tokens: inputTokens + outputTokens,
          cost: usdNumber(charge.chargedNano),
        };
        return withCost(Buffer.from(final.tail).toString("utf8"), charge) + (form.ends?.(usage) ?? "");
      }
      if (form.kind === "text") return form.render(final.body);
      const body = form.kind === "json" && form.only !== undefined ? some(final.body, form.only) : final.body;
      if (form.kind === "json" && form.usage !== undefined)
        return JSON.stringify({ ...body, usage: { ...form.usage(cost.usage), cost: usdNumber(charge.chargedNano) } });
      if (!tellsCost) return JSON.stringify(body);
      const usage = isRecord(body.usage) ? body.usage : {};
      return JSON.stringify({ ...body, usage: { ...usage, cost: usdNumber(charge.chargedNano) } });
    },
    // Only the broken connection tells a truncated audio file from a whole one.
    broken: (error) =>
      form.kind === "events"
        ? `event: error\ndata: ${JSON.stringify({ type: "error", error: errorObject(error) })}\n\n`
        : null,
  };
}
