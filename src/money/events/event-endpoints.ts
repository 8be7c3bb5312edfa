// Events and webhooks over HTTP: an account's own below `/api/v1`, all of them below `/admin/v1`.
import { z } from "zod";
import type { Answer, Call, EndpointSpec, StreamCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { EVENT_STREAM_HEADERS, wantsEvents } from "../../core/event-stream.ts";
import { adminEndpoint } from "../accounts/admin-accounts.ts";
import { pageSchema } from "../accounts/list-pages.ts";
import { type Answering, endpoint, missing, writing } from "../accounts/own-endpoint.ts";
import { readBody, readQuery } from "../accounts/read-body.ts";
import { overlapField } from "../accounts/rule-fields.ts";
import type { EventDispatcher } from "./event-dispatcher.ts";
import { EVENT_KINDS, type EventLog, eventRow, OPERATOR } from "./event-log.ts";
import type { EventStreams } from "./event-streams.ts";
import { WEBHOOKS_MAX, type Webhook, type Webhooks } from "./webhooks.ts";

export interface EventParts {
  readonly log: EventLog;
  readonly streams: EventStreams;
  readonly webhooks: Webhooks;
  readonly dispatcher: Pick<EventDispatcher, "redeliver">;
  /** Why events may not be sent to a URL, as far as known before sending; null: they may. */
  readonly urlFault: (url: string) => Promise<string | null>;
}

const kinds = z
  .array(z.enum(EVENT_KINDS, `must be some of ${EVENT_KINDS.join(", ")}`))
  .min(1)
  .nullish();
const newSchema = z.strictObject({ url: z.string("must be an http or https address").max(2_000), kinds });
const rotateSchema = z.strictObject({ overlap_seconds: overlapField.default(86_400) });
const redeliverSchema = z.strictObject({ event_id: z.string("must be the id of an event").min(1).max(100) });
const listSchema = pageSchema.extend({ account: z.string().min(1).max(100).optional() });

export function hookRow({ id, url, kinds: heard, createdAtMs }: Webhook) {
  return { id, url, kinds: heard, created_at: new Date(createdAtMs).toISOString() };
}

function none(of: "webhook" | "event"): GatewayError {
  return missing(of, `There is no such ${of}.`);
}

/** The same for an account and for the operator, with different events. */
function actions({ log, streams, webhooks, dispatcher, urlFault }: EventParts) {
  return {
    /** A stream of events for clients that accept one; otherwise a page. */
    async told(payer: string, { request, gone }: StreamCall, page: z.output<typeof pageSchema>) {
      if (!wantsEvents(request.headers.get("accept"))) return this.list(payer, page.limit, page.cursor ?? null);
      const bytes = streams.open(payer, request.headers.get("last-event-id") ?? null, gone);
      if (bytes instanceof GatewayError) throw bytes;
      return { status: 200, headers: EVENT_STREAM_HEADERS, bytes };
    },
    async list(payer: string, limit: number, cursor: string | null): Promise<Answer> {
      const { events, next } = await log.page(payer, limit, cursor);
      return { status: 200, body: { events: events.map(eventRow), next_cursor: next } };
    },
    async hooks(payer: string): Promise<Answer> {
      return { status: 200, body: { webhooks: (await webhooks.of(payer)).map(hookRow) } };
    },
    async create(payer: string, { request }: Call): Promise<Answer> {
      const body = readBody(newSchema, request.body);
      const fault = await urlFault(body.url);
      if (fault !== null) throw new GatewayError("bad_url", { param: "url", detail: `url: ${fault}` });
      const hook = await webhooks.create(payer, body.url, body.kinds ?? null);
      const detail = `There are ${WEBHOOKS_MAX} webhooks, and there can be no more: delete one.`;
      if (hook === null) throw new GatewayError("conflict", { detail });
      return { status: 201, body: { ...hookRow(hook), secret: hook.secrets[0]?.secret } };
    },
    async rotate(payer: string, { request }: Call): Promise<Answer> {
      const body = readBody(rotateSchema, request.body);
      const hook = await webhooks.rotate(payer, request.params.id ?? "", body.overlap_seconds * 1_000);
      if (hook === null) throw none("webhook");
      return { status: 200, body: { ...hookRow(hook), secret: hook.secrets[0]?.secret } };
    },
    async remove(payer: string, { request }: Call): Promise<Answer> {
      const id = request.params.id ?? "";
      if (!(await webhooks.delete(payer, id))) throw none("webhook");
      return { status: 200, body: { id, deleted: true } };
    },
    async redeliver(payer: string, { request }: Call): Promise<Answer> {
      const body = readBody(redeliverSchema, request.body);
      const hook = await webhooks.get(request.params.id ?? "");
      if (hook?.payer !== payer) throw none("webhook");
      const event = await log.find(payer, body.event_id);
      if (event === null) throw none("event");
      await dispatcher.redeliver(hook, event);
      return { status: 202, body: { webhook: hook.id, event_id: event.id } };
    },
  };
}

export function ownEventEndpoints(parts: EventParts): EndpointSpec[] {
  const act = actions(parts);
  const payerOf = ({ caller }: Parameters<Answering>[0]) => caller.payer.id;
  const own = (next: (payer: string, call: Call) => Promise<Answer>) => writing((call) => next(payerOf(call), call));
  return [
    {
      method: "GET",
      path: "/api/v1/events",
      auth: "key",
      cookies: true,
      bodyBytesMax: 0,
      async stream(call) {
        if (call.caller === null) throw new GatewayError("invalid_token");
        if (!call.caller.primary) throw new GatewayError("key_cannot_mint_keys");
        return act.told(call.caller.payer.id, call, readQuery(pageSchema, call.request.query));
      },
    },
    endpoint("GET", "/api/v1/webhooks", own(act.hooks)),
    endpoint("POST", "/api/v1/webhooks", own(act.create)),
    endpoint("POST", "/api/v1/webhooks/{id}/rotate", own(act.rotate)),
    endpoint("POST", "/api/v1/webhooks/{id}/redeliver", own(act.redeliver)),
    endpoint("DELETE", "/api/v1/webhooks/{id}", own(act.remove)),
  ];
}

export function adminEventEndpoints(parts: EventParts): EndpointSpec[] {
  const act = actions(parts);
  const operators = (next: (payer: string, call: Call) => Promise<Answer>) => (call: Call) => next(OPERATOR, call);
  return [
    {
      method: "GET",
      path: "/admin/v1/events",
      auth: "admin",
      bodyBytesMax: 0,
      async stream(call) {
        const page = readQuery(listSchema, call.request.query);
        return act.told(page.account === undefined ? OPERATOR : `acct:${page.account}`, call, page);
      },
    },
    adminEndpoint("GET", "/admin/v1/webhooks", operators(act.hooks)),
    adminEndpoint("POST", "/admin/v1/webhooks", operators(act.create)),
    adminEndpoint("POST", "/admin/v1/webhooks/{id}/rotate", operators(act.rotate)),
    adminEndpoint("POST", "/admin/v1/webhooks/{id}/redeliver", operators(act.redeliver)),
    adminEndpoint("DELETE", "/admin/v1/webhooks/{id}", operators(act.remove)),
  ];
}
