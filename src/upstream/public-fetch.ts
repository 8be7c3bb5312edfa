// Outgoing safety: fetches an address that a caller supplied, and connects to nothing but public addresses, at every hop.
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
import { badUrl, serverTrouble, tooLarge, troubleOf } from "./public-trouble.ts";
import { NOT_PUBLIC, readLocation, readPublicUrl } from "./public-url.ts";
import { connectorThrough } from "./tunnel.ts";

const REDIRECTS_MAX = 5;
const HEADER_BYTES_MAX = 16_384;
const CONNECT_MS_MAX = 10_000;
/** A body that cannot be made smaller grows a little by being encoded. */
const ENCODING_BYTES_MAX = 65_536;
/** Encoded, a short body may have as many bytes as a long one, so that what is read of an origin shares its connections: its robots.txt, then its pages. */
const SHARED_BYTES_MAX = 8 * 1_048_576;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** A server waits no longer on a connection: what it has not read may be sent again (RFC 9110, section 15.5.9). */
const REQUEST_TIMEOUT = 408;
/** An AbortController without a reason makes an error with a stack each time it ends a call that went well. */
const ENDED = new Error("the call has ended");

export interface PublicFetchOptions extends PublicAddressesOptions {
  /** How we name ourselves. */
  readonly userAgent?: string;
  /** The most that any fetch takes, in milliseconds, for tests alone. */
  readonly msMaxForTests?: number;
}

export interface OpenOptions {
  /** Of the decoded body. */
  readonly bytesMax: number;
  /** For all of it: names, redirects, and the body to its last byte. */
  readonly msMax: number;
  /** Default 5. */
  readonly redirectsMax?: number;
  /** A redirect beyond those is an answer like any other. Default: it is the server's fault. */
  readonly answersRedirects?: true;
  /** Asked before the first address and that of each redirect are connected to, once they are known to be fit; an error ends it there. */
  readonly onHop?: (url: URL) => Promise<GatewayError | null>;
  readonly signal?: AbortSignal;
  /** Left out: GET. */
  readonly send?: Sent;
}

/** What is sent beside the address. */
export interface Sent {
  /** Default POST. */
  readonly method?: string;
  /** By lower-case name. They are meant for the server that was named: a redirect to another origin goes without them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: none, and no redirect makes one. */
  readonly body: string | null;
}

export interface PublicAnswer {
  /** Any status but that of a redirect which was followed. */
  readonly status: number;
  /** By lower-case name; without `content-encoding`, and without the length where it was that of the encoded body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly finalUrl: string;
  /** Decoded. Throws a GatewayError. Read it or leave its loop: until then the connection stays, for `msMax` at the most. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface PublicFetch {
  /** Refusals are `bad_url`; what the server does wrong is `upstream_error`. */
  open(url: string, options: OpenOptions): Promise<PublicAnswer | GatewayError>;
  /** Ends what is running; nothing can be opened afterwards. */
  close(): void;
}

/** An answer's head, and its body still to be read. */
interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  drop(): void;
  /** It has been read whole: its connection may serve the next. */
  keep(): void;
}

function answerOf(reply: Reply, url: URL, limits: OpenOptions, call: AbortController): PublicAnswer | GatewayError {
  const { bytesMax, send } = limits;
  const { "content-encoding": coding, ...headers } = flat(reply.headers);
  const encoding = encodingOf(coding);
  if (encoding === null) return serverTrouble("sends a body in an encoding that is not understood here");
  if (encoding !== "identity") delete headers["content-length"];
  // To HEAD the length is told of a body that does not come.
  const comes = send?.method === "HEAD" ? 0 : Number(headers["content-length"] ?? 0);
  if (comes > bytesMax) return tooLarge(bytesMax);
  const ended = (isWhole: boolean) => {
    if (isWhole) reply.keep();
    call.abort(ENDED);
  };
  const body = readBody(reply.body, { encoding, bytesMax, ended });
  return { status: reply.status, headers, finalUrl: url.href, body };
}

/**
 * Opens no connection before the first call. One that has answered whole is kept for seconds, and serves none but a page of the same
 * origin whose name has been looked up again and has the very same addresses: which addresses were checked is certain for each page.
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

/** Aborted by the first of: time, the caller, the gateway's end, and its own end, which stops the timer. */
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

/** One request, to one of these addresses and to no other; the certificate is checked against the name all the same. */
async function ask(target: Target, limits: OpenOptions, signal: AbortSignal): Promise<Reply> {
  signal.throwIfAborted();
  const { url, addresses, clients, proxies } = target;
  const { bytesMax, msMax } = limits;
  const encodedMax = Math.max(bytesMax, SHARED_BYTES_MAX) + ENCODING_BYTES_MAX;
  const place = [url.origin, encodedMax, ...addresses.toSorted()].join(" ");
  // What may change something is sent over a connection of its own: of a kept one that breaks it is not known whether it was heard.
  const kept = limits.send === undefined ? clients.take(place) : null;
  if (kept !== null) {
    try {
      const reply = await askOver(kept, place, target, { limits, signal });
      if (reply.status !== REQUEST_TIMEOUT) return reply;
      reply.drop();
    } catch (error) {
      // Servers close or reset connections that have been idle, and may just have done so.
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
  // A signal given to the request alone would be heard only once it is connected.
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
  // Its reader hears of its end; one that is not read must not end the process.
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
