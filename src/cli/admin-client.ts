// Calls a running gateway: its admin listener, with the token from its data folder; or its API, with a key.

import { adminTokenPath, readAdminToken } from "../money/accounts/admin-token.ts";
import type { Config } from "../platform/config.ts";
import { CommandError } from "./command.ts";

export const PAGE = 1_000;
/** Backing up a large ledger takes a while. */
const ANSWER_MS_MAX = 600_000;

/** There is no gateway: nothing listens at its address, or none was ever started here. */
export class NoGateway extends CommandError {}

export interface AdminClient {
  /** The parsed body of a successful answer. Throws CommandError with the gateway's message, NoGateway where none answers. */
  call<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T>;
}

/** A gateway that listens on all addresses is reached on loopback. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

function tokenOf(config: Config): string {
  const token = config.adminToken ?? readAdminToken(config.dataDir);
  if (token !== null) return token;
  throw new NoGateway(
    `There is no ${adminTokenPath(config.dataDir)}; run this where the gateway runs, or set DATA_DIR or ADMIN_TOKEN.`,
  );
}

function keyOf({ apiKey }: Config): string {
  if (apiKey !== null) return apiKey;
  throw new CommandError("TOLLGATE_API_KEY is not set: it is the key to use.");
}

function refusal(status: number, text: string): CommandError {
  try {
    const { error, message, data } = JSON.parse(text) as {
      readonly error?: unknown;
      readonly message?: unknown;
      readonly data?: { readonly reason?: unknown };
    };
    const reason = typeof data?.reason === "string" ? ` ${data.reason}` : "";
    if (typeof message === "string" && typeof error === "string") return new CommandError(`${message}${reason}`, error);
  } catch {
    // Not our own error format: shown below as it is.
  }
  return new CommandError(`The gateway answered ${status}: ${text.slice(0, 200)}`);
}

/** `settings`: those that determine its address. */
function createClient(origin: string, token: () => string, settings: string): AdminClient {
  async function send(method: string, path: string, body: unknown): Promise<Response> {
    const headers = { authorization: `Bearer ${token()}`, "content-type": "application/json" };
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const payload = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      return await fetch(`${origin}${path}`, { method, headers, signal, ...payload });
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new NoGateway(
        `No gateway answers at ${origin} (${cause}). Start one with \`npm start\`, or set ${settings}.`,
      );
    }
  }

  return {
    async call<T>(method: string, path: string, body?: unknown): Promise<T> {
      const response = await send(method, path, body);
      const text = await response.text();
      if (!response.ok) throw refusal(response.status, text);
      return JSON.parse(text) as T;
    },
  };
}

export function createAdminClient(config: Config): AdminClient {
  const origin = `http://${reachable(config.adminHost)}:${config.adminPort}`;
  return createClient(origin, () => tokenOf(config), "ADMIN_HOST and ADMIN_PORT");
}

/** The gateway's address for callers, without a trailing slash. */
export function ownOrigin({ url, publicUrl, host, port }: Config): string {
  return (url ?? publicUrl)?.replace(/\/$/, "") ?? `http://${reachable(host)}:${port}`;
}

/** A client with the key in TOLLGATE_API_KEY. */
export function createOwnClient(config: Config): AdminClient {
  return createClient(ownOrigin(config), () => keyOf(config), "TOLLGATE_URL, PUBLIC_URL, or HOST and PORT");
}

/** The rows of all pages of a list, up to `most`. A gateway of a release without pages names no next one. */
export async function allOf<Row>(
  admin: AdminClient,
  path: string,
  name: string,
  { query = {}, most = Number.POSITIVE_INFINITY }: { query?: Readonly<Record<string, string>>; most?: number } = {},
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let cursor: unknown = ""; typeof cursor === "string" && rows.length < most; ) {
    const limit = Number.isFinite(most) ? { limit: String(Math.min(PAGE, most - rows.length)) } : {};
    const asked = new URLSearchParams({ ...query, ...limit, ...(cursor === "" ? {} : { cursor }) });
    const page: Record<string, unknown> = await admin.call("GET", asked.size === 0 ? path : `${path}?${asked}`);
    rows.push(...(page[name] as Row[]));
    cursor = page.next_cursor;
  }
  return rows;
}

interface Asked<T> {
  readonly from: "gateway" | "environment";
  readonly answer: T;
  /** Text for people; notes where no gateway was called. */
  told(text: string): string;
}

/** Calls the gateway, and `otherwise` only where none runs. A refusal by the gateway is final. */
export async function askedOr<T>(ask: () => Promise<T>, otherwise: () => Promise<T>): Promise<Asked<T>> {
  try {
    return { from: "gateway", answer: await ask(), told: (text) => text };
  } catch (error) {
    if (!(error instanceof NoGateway)) throw error;
    const [why] = error.message.split(/[;(]/);
    const word = `${why?.trim()}: this is read from the variables of this shell.`;
    return { from: "environment", answer: await otherwise(), told: (text) => `${word}\n\n${text}` };
  }
}

export async function providersOn(admin: AdminClient): Promise<readonly string[]> {
  const { providers } = await admin.call<{ providers: { id: string; on: boolean }[] }>("GET", "/admin/v1/providers");
  return providers.flatMap(({ id, on }) => (on ? [id] : []));
}
