// Outgoing safety: fetches a URL that a caller supplied, and connects only to public addresses, at every hop.
import type { IncomingHttpHeaders } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { buildConnector, Client, errors } from "undici";
import { GatewayError } from "../core/errors.ts";
import { NO_PROXIES, type Proxies } from "../core/proxies.ts";
import { ENCODINGS, encodingOf } from "./decoding.ts";
import { KeptClients } from "./kept-clients.ts";
import { createPublicAddresses, type PublicAddressesOptions } from "./public-addresses.ts";
import { readBody } from "./public-body.ts";
import { badUrl, serverTrouble, TooLarge, troubleOf } from "./public-trouble.ts";
import { NOT_PUBLIC, readLocation, readPublicUrl } from "./public-url.ts";
import { connectorThrough } from "./tunnel.ts";

const REDIRECTS_MAX = 5;
const HEADER_BYTES_MAX = 16_384;
const CONNECT_MS_MAX = 10_000;
/** Encoding slightly enlarges a body that cannot be compressed. */
const ENCODING_BYTES_MAX = 65_536;
/** Short bodies get long ones' encoded limit, so that all fetches from an origin share its connections: its robots.txt, then its pages. */
const SHARED_BYTES_MAX = 8 * 1_048_576;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** The server timed out on an idle connection; a request it has not read may be sent again (RFC 9110, section 15.5.9). */
const REQUEST_TIMEOUT = 408;
/** Aborting without a reason creates an error with a stack trace at the end of each successful call. */
const ENDED = new Error("the call has ended");

export interface PublicFetchOptions extends PublicAddressesOptions {
  readonly userAgent?: string;
  /** The time limit of any fetch, in milliseconds; for tests only. */
  readonly msMaxForTests?: number;
}

export interface OpenOptions {
  /** The limit of the decoded body. */
  readonly bytesMax: number;
  /** The time limit of the whole fetch: DNS, redirects, and the body to its last byte. */
  readonly msMax: number;
  /** Default: 5. */
  readonly redirectsMax?: number;
  /** Returns a redirect beyond the limit as an answer. Default: it is the server's fault. */
  readonly answersRedirects?: true;
  /** Called before connecting to the first URL and to each redirect, once they have passed the checks; an error ends the fetch. */
  readonly onHop?: (url: URL) => Promise<GatewayError | null>;
  readonly signal?: AbortSignal;
  /** Default: GET. */
  readonly send?: Sent;
}

export interface Sent {
  /** Default: POST. */
  readonly method?: string;
  /** By lower-case name. Meant for the named server only: a redirect to another origin drops them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null for no body; then no redirect adds one. */
  readonly body: string | null;
}

export interface PublicAnswer {
  /** Never that of a followed redirect. */
  readonly status: number;
  /** By lower-case name; without `content-encoding`, and without the length of an encoded body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly finalUrl: string;
  /** The decoded body; throws a GatewayError. Read it or leave its loop: until then the connection stays open, for `msMax` at most. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface PublicFetch {
  /** Refusals are `bad_url`; server failures are `upstream_error`. */
  open(url: string, options: OpenOptions): Promise<PublicAnswer | GatewayError>;
  /** Aborts running fetches; later ones are refused. */
  close(): void;
}

/** An answer's head, with its body unread. */
interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  drop(): void;
  /** Call when the body was read whole: the connection may serve the next fetch. */
  keep(): void;
}

function answerOf(reply: Reply, url: URL, limits: OpenOptions, call: AbortController): PublicAnswer | GatewayError {
  const { bytesMax, send } = limits;
  const { "content-encoding": coding, ...headers } = flat(reply.headers);
  const encoding = encodingOf(coding);
  if (encoding === null) return serverTrouble("sends a body in an encoding that is not understood here");
  if (encoding !== "identity") delete headers["content-length"];
  // An answer to HEAD states the length of a body that is not sent.
  const comes = send?.method === "HEAD" ? 0 : Number(headers["content-length"] ?? 0);
  if (comes > bytesMax) return new TooLarge(bytesMax);
  const ended = (isWhole: boolean) => {
    if (isWhole) reply.keep();
    call.abort(ENDED);
  };
  const body = readBody(reply.body, { encoding, bytesMax, ended });
  return { status: reply.status, headers, finalUrl: url.href, body };
}

/**
 * Opens no connection before the first call. A connection that delivered a whole answer is kept for seconds, and serves only pages of the
 * same origin whose name, resolved again, has the same addresses. So every page uses addresses that were checked for it.
 */
export function createPublicFetch(options: PublicFetchOptions = {}): PublicFetch {
  const { allowForTests = [], userAgent = "Tollgate", mayBeInner = false } = options;
  const { msMaxForTests = Number.POSITIVE_INFINITY, proxies = NO_PROXIES } = options;
  const publicAddresses = createPublicAddresses(options);
  const running = new Set<AbortController>();
  const clients = new KeptClients();
  let closed = false;

  const mayUsePort = (port: number) => mayBeInner || allowForTests.some((pair) => pair.endsWith(`:${port}`));

  async function follow(
    text: string,
    limits: OpenOptions,
    call: AbortController,
  ): Promise<PublicAnswer | GatewayError> {
    const { redirectsMax = REDIRECTS_MAX, answersRedirects = false, onHop } = limits;
    let send = limits.send;
    let target = readPublicUrl(text, mayUsePort, mayBeInner);
    for (let hops = 0; ; hops++) {
      const subject = hops === 0 ? "" : "redirects to one that ";
      if (typeof target === "string") return badUrl(subject + target);
      const stopped = (await onHop?.(target.url)) ?? null;
      if (stopped !== null) return stopped;
      const addresses = await publicAddresses(target, call.signal);
      if (addresses.length === 0) return badUrl(subject + NOT_PUBLIC);
      const asked: URL = target.url;
      const reply = await ask(
        { url: asked, addresses, userAgent, clients, proxies },
        send === undefined ? limits : { ...limits, send },
        call.signal,
      );
      const { location } = reply.headers;
      const isRedirect = REDIRECTS.has(reply.status) && location !== undefined;
      if (!isRedirect || (answersRedirects && hops === redirectsMax)) return answerOf(reply, asked, limits, call);
      reply.drop();
      if (Array.isArray(location)) return serverTrouble("redirects to two places at once");
      if (hops === redirectsMax) return serverTrouble(`redirects more than ${redirectsMax} times`);
      target = readLocation(location, asked, mayUsePort);
      if (typeof target !== "string" && target.url.origin !== asked.origin && send !== undefined)
        send = { ...send, headers: {} };
    }
  }

  return {
    async open(url, limits) {
      if (closed) return new GatewayError("draining");
      if (limits.signal?.aborted) return leftEarly();
      const call = startCall({ ...limits, msMax: Math.min(limits.msMax, msMaxForTests) });
      running.add(call);
      call.signal.addEventListener("abort", () => running.delete(call));
      try {
        const answer = await follow(url, limits, call);
        if (answer instanceof GatewayError) call.abort(ENDED);
        return answer;
      } catch (error) {
        const trouble = call.signal.aborted ? call.signal.reason : error;
        call.abort(ENDED);
        return troubleOf(trouble, limits.bytesMax);
      }
    },
    close() {
      closed = true;
      for (const call of running) call.abort(new GatewayError("draining"));
      clients.close();
    },
  };
}

function leftEarly(): GatewayError {
  return serverTrouble("was left before it had answered");
}

/** Aborted by whichever comes first: the timeout, the caller, the gateway's shutdown, or the end of the call, which stops the timer. */
function startCall({ msMax, signal }: OpenOptions): AbortController {
  const call = new AbortController();
  const late = () => call.abort(serverTrouble(`took longer than ${msMax / 1000} seconds`));
  const left = () => call.abort(leftEarly());
  const timer = setTimeout(late, msMax);
  signal?.addEventListener("abort", left, { once: true });
  call.signal.addEventListener("abort", () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", left);
  });
  return call;
}

interface Target {
  readonly url: URL;
  readonly addresses: readonly string[];
  readonly userAgent: string;
  readonly clients: KeptClients;
  readonly proxies: Proxies;
}

/** Sends one request to these addresses only; the certificate must still match the name. */
async function ask(target: Target, limits: OpenOptions, signal: AbortSignal): Promise<Reply> {
  signal.throwIfAborted();
  const { url, addresses, clients, proxies } = target;
  const { bytesMax, msMax } = limits;
  const encodedMax = Math.max(bytesMax, SHARED_BYTES_MAX) + ENCODING_BYTES_MAX;
  const place = [url.origin, encodedMax, ...addresses.toSorted()].join(" ");
  // Requests that may change something never reuse a connection: if it broke, we could not know whether the request arrived.
  const kept = limits.send === undefined ? clients.take(place) : null;
  if (kept !== null) {
    try {
      const reply = await askOver(kept, place, target, { limits, signal });
      if (reply.status !== REQUEST_TIMEOUT) return reply;
      reply.drop();
    } catch (error) {
      // The server may just have closed or reset the idle connection.
      if (signal.aborted || !isGone(error)) throw error;
    }
  }
  const timeout = Math.min(CONNECT_MS_MAX, msMax);
  const client = new Client(url.origin, {
    connect: connectorThrough(
      proxies,
      buildConnector({ lookup: answersWith(addresses), timeout, rejectUnauthorized: true, allowH2: false }),
      addresses,
    ),
    allowH2: false,
    maxHeaderSize: HEADER_BYTES_MAX,
    maxResponseSize: encodedMax,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return askOver(client, place, target, { limits, signal });
}

function isGone(error: unknown): boolean {
  if (error instanceof errors.SocketError) return true;
  const { code = "" } = error as NodeJS.ErrnoException;
  return code === "ECONNRESET" || code === "EPIPE";
}

async function askOver(
  client: Client,
  place: string,
  { url, userAgent, clients }: Target,
  { limits, signal }: { readonly limits: OpenOptions; readonly signal: AbortSignal },
): Promise<Reply> {
  // undici heeds a signal on the request only once it is connected.
  const left = () => void client.destroy(signal.reason);
  signal.addEventListener("abort", left, { once: true });
  const said = { accept: "*/*", "accept-encoding": ENCODINGS, "user-agent": userAgent };
  const path = url.pathname + url.search;
  const { send } = limits;
  const { statusCode, headers, body } = await client.request(
    send === undefined
      ? { method: "GET", path, headers: said }
      : { method: send.method ?? "POST", path, headers: { ...said, ...send.headers }, body: send.body },
  );
  // The reader gets this error; an unread body must not crash the process.
  body.on("error", () => {});
  const keep = () => {
    if (send !== undefined) return;
    signal.removeEventListener("abort", left);
    clients.keep(place, client);
  };
  return { status: statusCode, headers, body, drop: () => void client.destroy(), keep };
}

function answersWith(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_, { all: wantsAll }, done) => {
    if (wantsAll === true) done(null, all);
    else done(null, all[0]?.address ?? "", all[0]?.family);
  };
}

function flat(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]));
}
