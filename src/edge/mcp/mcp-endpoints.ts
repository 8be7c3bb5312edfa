// MCP at /mcp: one stateless address for both revisions of the protocol (2026-07-28 and 2025-11-25).
import { randomUUID } from "node:crypto";
import type { AuthInfo, McpHttpHandler } from "@modelcontextprotocol/server";
import type { Answer, EndpointSpec, StreamAnswer, StreamCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { EVENT_STREAM_HEADERS } from "../../core/event-stream.ts";
import { isRecord } from "../../core/json.ts";
import { readJson } from "../../core/json-bytes.ts";
import { getOrLoad } from "../../core/maps.ts";
import { ownSlice } from "../../core/slices.ts";
import type { Cancels } from "./cancels.ts";
import { BOUNDS } from "./inner-http.ts";
import { readPins } from "./pinned-tools.ts";
import { type McpCaller, type McpDeps, serverFactory } from "./server.ts";

/** The one form that a client names in Accept (RFC 9110, 12.5.1); null: both. A client that names neither gets JSON. */
function formOf(accept = ""): "json" | "events" | null {
  const ranges = accept.toLowerCase().replaceAll(/\s/g, "").split(",");
  const named = ranges.filter((range) => !/;q=0(\.0*)?(;|$)/.test(range)).map((range) => range.split(";")[0] ?? "");
  if (!named.some((type) => ["text/event-stream", "text/*"].includes(type))) return "json";
  return named.some((type) => ["application/json", "application/*", "*/*"].includes(type)) ? null : "events";
}

async function* partsOf(body: ReadableStream<Uint8Array>, ended: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    ended();
  }
}

/** A response of the library in the form that its client accepts. `ended` is called when it was read completely. */
async function answerOf(
  { status, headers: given, body }: Response,
  form: ReturnType<typeof formOf>,
  ended: () => void,
): Promise<Answer | StreamAnswer> {
  const headers = Object.fromEntries(given);
  delete headers["content-length"];
  const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
  if (isStream && body !== null && form !== "json") return { status, headers, bytes: partsOf(body, ended) };
  const text = await new Response(body).text().finally(ended);
  if (isStream) {
    // The answer is the last event; a cancelled call has none.
    const answer = [...text.matchAll(/^data: (\{.*)$/gm)].at(-1)?.[1];
    const type = { "content-type": "application/json" };
    return answer === undefined ? { status: 202, body: "" } : { status, headers: type, body: answer };
  }
  if (form !== "events" || status !== 200) return { status, headers, body: text };
  return { status, headers: EVENT_STREAM_HEADERS, body: `event: message\ndata: ${text}\n\n` };
}

const PATH = "/mcp";
const BODY_BYTES_MAX = 4 * 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;

const HEADERS = ["content-type", "mcp-protocol-version", "mcp-method", "mcp-name"];
const SESSION = "mcp-session-id";

export interface McpOptions extends McpDeps {
  readonly cancels: Cancels;
  /** True: a call without a credential gets a 401, which makes clients ask their users to sign in. False: it may read the catalog. */
  readonly wantsSignIn: boolean;
  readonly door: { allowsOrigin(origin: string): boolean; allowsHost(name: string): boolean };
}

function callerOf(auth: AuthInfo | undefined): McpCaller {
  if (auth?.extra?.caller === undefined)
    throw new Error("a server is made for a request that did not come by the endpoint");
  return auth.extra.caller as McpCaller;
}

/** The single message of a body. A batch would be many calls counted as one; the revisions since 2025-06-18 have none. */
function messageIn(body: Buffer): unknown {
  const read = readJson(body);
  const wrong = "wrong" in read ? read.wrong : Array.isArray(read.json) ? "must be one message, not a batch" : null;
  if (wrong !== null) throw new GatewayError("bad_request", { detail: `body: ${wrong}` });
  return "json" in read ? read.json : null;
}

function forbidden(what: string, said: string, mend: string): GatewayError {
  const detail = `${what} ${said.slice(0, 100)} may not call this server; ${mend}.`;
  return new GatewayError("key_not_allowed", { detail });
}

/** Throws for a refused key; a request without one may read the catalog. */
function checkCaller({ request, caller, notAdmitted = null }: StreamCall, { door, wantsSignIn }: McpOptions): void {
  const [origin, host] = [request.headers.get("origin"), request.headers.get("host")];
  if (origin !== undefined && !door.allowsOrigin(origin))
    throw forbidden("A page of the origin", origin, "MCP_ORIGINS names those that may");
  if (host !== undefined && !door.allowsHost(host))
    throw forbidden("A call under the name", host, "PUBLIC_URL says under which it is reached");
  if (notAdmitted !== null) throw notAdmitted;
  if (caller === null && wantsSignIn)
    throw new GatewayError("invalid_token", { detail: "This call needs a key or a token." });
}

/** Call ids are unique within a client. Clients of the 2025 revisions repeat the session id of their first answer; we store none. */
function clientOf({ request, caller }: StreamCall): string {
  const session = request.headers.get(SESSION);
  // Session ids are the sender's choice: one that equals another client's address must not name that client.
  const within = session === undefined ? ["at", request.address] : ["in", session];
  return JSON.stringify([caller?.payer.id ?? "", within]);
}

/** The request as the protocol's library takes it, with its caller. */
function innerRequest({ request, caller }: StreamCall, signal: AbortSignal) {
  const headers = new Headers({ accept: "application/json, text/event-stream" });
  for (const name of HEADERS) {
    const value = request.headers.get(name);
    if (value === undefined) continue;
    // Headers.set throws for these characters, which would look like a fault of ours.
    if (/[^\t\x20-\xff]/.test(value))
      throw new GatewayError("bad_request", { detail: `The header ${name} must be in ASCII.` });
    headers.set(name, value);
  }
  const inner: McpCaller = {
    authorization: request.headers.get("authorization"),
    sandbox: request.headers.get("x-tollgate-sandbox") === "1",
    bounds: new Map([...request.headers].filter(([name]) => BOUNDS.includes(name))),
    address: request.address,
    signal,
    payer: caller?.payer.id ?? null,
    query: request.query,
  };
  const url = `http://gateway${PATH}`;
  // The caller, in the form in which the protocol's library passes authentication.
  const { authorization: token = "", payer } = inner;
  const authInfo = { token, clientId: payer ?? "", scopes: [], extra: { caller: inner } };
  return { request: new Request(url, { method: "POST", headers, signal }), authInfo };
}

/** POST serves both revisions; GET and DELETE are answered as unsupported. */
export function mcpEndpoints(options: McpOptions): readonly EndpointSpec[] {
  const handlers = new Map<typeof PATH, Promise<McpHttpHandler>>();
  // Loaded for the first request: most gateways start without one. Loading takes long, so it yields to calls between its parts.
  async function load(): Promise<McpHttpHandler> {
    const library = await import("@modelcontextprotocol/server");
    await ownSlice();
    // The first use of one of its names makes Node load its own fetch implementation.
    new Headers();
    await ownSlice();
    return library.createMcpHandler(serverFactory(library, callerOf, options), { keepAliveMs: KEEP_ALIVE_MS });
  }

  async function stream(call: StreamCall): Promise<Answer | StreamAnswer> {
    checkCaller(call, options);
    const { request } = call;
    const read = readPins(request.query);
    if ("wrong" in read) throw new GatewayError("bad_request", { param: "tools", detail: `tools: ${read.wrong}` });
    const sent = messageIn(request.body);
    const { fetch } = await getOrLoad(handlers, PATH, load);
    const message = isRecord(sent) ? sent : {};
    const client = clientOf(call);
    options.cancels.take(client, message);
    const { signal, end } = options.cancels.begin(client, message, call.gone);
    let response: Response;
    try {
      const { request: asked, authInfo } = innerRequest(call, signal);
      response = await fetch(asked, { authInfo, parsedBody: sent });
    } catch (error) {
      end();
      throw error;
    }
    if (message.method === "initialize") response.headers.set(SESSION, randomUUID());
    return answerOf(response, formOf(request.headers.get("accept")), end);
  }

  return [{ method: "POST", path: PATH, auth: "none", bodyBytesMax: BODY_BYTES_MAX, bodyWhole: true, stream }];
}
