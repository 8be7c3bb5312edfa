// The realtime endpoints: the session itself, secrets for browsers, and the refusal of WebRTC.
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { findRealtime } from "../../catalog/find-model.ts";
import type { Answer, Call, Endpoint, GatewayRequest, OverSession, SessionGrant } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import type { Caller } from "../../core/plan.ts";
import { requireModels } from "../../money/accounts/allowed.ts";
import { inChatWire } from "../chat/chat-endpoints.ts";
import { callTags } from "../formats/call-tags.ts";
import { invalid, parseJson } from "../formats/parse-json.ts";
import type { RealtimeDeps, Sold } from "./deps.ts";
import { RealtimeSession } from "./session.ts";
import { readUpdate } from "./settings.ts";
import { errorEvent } from "./wire.ts";

const PATH = "/realtime";
const SECRET_BYTES_MAX = 64 * 1024;
const SECONDS_MIN = 10;
const SECONDS_MAX = 600;
const CALL_BYTES_MAX = 256 * 1024;

const expiry = z.object({
  anchor: z.literal("created_at").optional(),
  seconds: z.number().int().min(SECONDS_MIN).max(SECONDS_MAX).optional(),
});

const NO_SOCKET = new GatewayError("bad_request", {
  detail: "This is a WebSocket: send the request with `Upgrade: websocket`, as realtime clients do.",
});
const NO_WEBRTC = new GatewayError("not_found", {
  of: "realtime_calls",
  detail: "WebRTC calls are not sold here: their sound does not pass through the gateway, so it cannot be metered.",
});

/** The models that a caller may open a session with. Throws where there are none. */
function soldTo(asked: string, caller: Caller, deps: RealtimeDeps): Omit<Sold, "tags"> {
  const search = { catalog: deps.catalog(), audience: caller, atMs: deps.clock.epochMs() };
  const { name, models } = findRealtime(asked, search);
  requireModels(caller.allows, [{ name, param: "model" }]);
  const configured = models.filter(({ offers }) => offers.length > 0);
  if (configured.length === 0) throw new GatewayError("upstream_not_configured", { detail: name });
  return { asked, name, models: configured };
}

/** Throws where the caller may not open this session. */
function soldFor(request: GatewayRequest, caller: Caller, grant: SessionGrant | null, deps: RealtimeDeps): Sold {
  const { query } = request;
  if (query.has("call_id")) throw NO_WEBRTC;
  if (caller.frozen) throw new GatewayError("account_frozen");
  if (caller.paused) throw new GatewayError("key_paused");
  if (grant !== null && grant.expiresAtMs <= deps.clock.epochMs())
    throw new GatewayError("invalid_token", { detail: "This client secret has expired." });
  const named = query.get("model");
  const asked = grant?.model ?? named;
  if (asked === null) throw invalid("model", "is missing: open /realtime?model=...");
  const sold = soldTo(asked, caller, deps);
  if (named !== null && named !== asked && !isNameOf(named, sold, caller, deps))
    throw invalid("model", `the client secret is for ${sold.name}`);
  return { ...sold, tags: callTags(request) };
}

function isNameOf(named: string, { name }: Pick<Sold, "name">, caller: Caller, deps: RealtimeDeps): boolean {
  try {
    return soldTo(named, caller, deps).name === name;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

function overSession(deps: RealtimeDeps): OverSession {
  return {
    protocol: "realtime",
    keyProtocol: "openai-insecure-api-key.",
    grantOf: deps.secrets.grantOf,
    check: (request, caller, grant) => void soldFor(request, caller, grant, deps),
    open(request, client) {
      const sold = soldFor(request, client.caller, client.grant, deps);
      return new RealtimeSession(request, client, sold, deps);
    },
    errorMessage: errorEvent,
  };
}

async function mintSecret({ request, caller }: Call, deps: RealtimeDeps): Promise<Answer> {
  if (caller === null) throw new GatewayError("invalid_token");
  // A client secret names its key alone, so its calls would leave the run's budget.
  if (caller.carriedRun !== undefined || caller.runRequired === true || request.headers.has("x-tollgate-run"))
    throw invalid("x-tollgate-run", "cannot be part of a client secret: open the session with the key");
  const body = request.body.length === 0 ? {} : parseJson(request.body);
  if (!isRecord(body)) throw invalid("", "must be an object");
  const read = expiry.safeParse(body.expires_after ?? {});
  if (!read.success)
    throw invalid("expires_after", `anchor is "created_at", and seconds are ${SECONDS_MIN} to ${SECONDS_MAX}`);
  const sent = body.session;
  if (!isRecord(sent) || typeof sent.model !== "string") throw invalid("session.model", "is missing");
  const sold = soldTo(sent.model, caller, deps);
  readUpdate(sent, { isModel: () => true, upstreamModel: sold.name });
  const { model: _, type: __, ...session } = sent;
  const ttlMs = (read.data.seconds ?? SECONDS_MAX) * 1_000;
  const { value, expiresAtMs } = await deps.secrets.mint(caller.payer, sold.name, session, ttlMs);
  const id = `sess_${randomBytes(12).toString("base64url")}`;
  const shown = { type: "realtime", object: "realtime.session", id, ...session, model: sold.name };
  return { status: 200, body: { value, expires_at: Math.floor(expiresAtMs / 1000), session: shown } };
}

export function realtimeEndpoints(deps: RealtimeDeps): readonly Endpoint[] {
  return [
    inChatWire({
      method: "GET",
      path: PATH,
      auth: "key",
      bodyBytesMax: 0,
      overSession: overSession(deps),
      answer: () => {
        throw NO_SOCKET;
      },
    }),
    inChatWire({
      method: "POST",
      path: `${PATH}/client_secrets`,
      auth: "key",
      bodyBytesMax: SECRET_BYTES_MAX,
      answer: (call) => mintSecret(call, deps),
    }),
    // Streamed, because a call's body is not JSON.
    inChatWire({
      method: "POST",
      path: `${PATH}/calls`,
      auth: "key",
      bodyBytesMax: CALL_BYTES_MAX,
      stream: async () => {
        throw NO_WEBRTC;
      },
    }),
  ];
}
