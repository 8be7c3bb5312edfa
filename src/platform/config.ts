// The first step of a start: parses the environment into one frozen Config, or fails with one line that names the wrong setting.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { nano, nanoFromCents } from "../core/money.ts";
import { createProxies, type Proxies, readNoProxy, readProxyAddress, withoutPassword } from "../core/proxies.ts";

/** An invalid setting. Its message is one line for the operator that names the setting. */
export class ConfigError extends Error {}

interface Setting<T> {
  readonly name: string;
  /** The default, in the form of an environment variable; null: none. */
  readonly fallback: string | null;
  readonly meaning: string;
  /** Parses the variable's text. */
  readonly schema: z.ZodType<T, string>;
  /** Never printed. */
  readonly secret: boolean;
  /** A variable that other programs also read; its lower-case form takes precedence. Its value may contain a password. */
  readonly shared?: true;
}

/** `assignment`: the name and the default, as in an environment file. */
function setting<T>(assignment: `${string}=${string}`, schema: z.ZodType<T, string>, meaning: string): Setting<T> {
  const [name = "", fallback = ""] = assignment.split("=", 2);
  return { name, fallback, meaning, schema, secret: false };
}

function flag(assignment: `${string}=${0 | 1}`, meaning: string): Setting<boolean> {
  const schema = z.enum(["0", "1"], "must be 0 or 1").transform((value) => value === "1");
  return setting(assignment, schema, meaning);
}

function choice<const T extends string>(
  assignment: `${string}=${T}`,
  values: readonly T[],
  meaning: string,
): Setting<T> {
  const says = `must be ${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
  return setting(assignment, z.enum(values, says), meaning);
}

function optional<T>(name: string, schema: z.ZodType<T, string>, meaning: string): Setting<T | null> {
  return { name, fallback: null, meaning, schema, secret: false };
}

function secret<T>(name: string, schema: z.ZodType<T, string>, meaning: string): Setting<T | null> {
  return { ...optional(name, schema, meaning), secret: true };
}

function shared<T>(name: string, schema: z.ZodType<T, string>, meaning: string): Setting<T | null> {
  return { ...optional(name, schema, meaning), shared: true };
}

/** Parses with a function that throws on invalid text. */
function readBy<T>(read: (text: string) => T) {
  return z.string().transform((text, context): T => {
    try {
      return read(text);
    } catch (error) {
      context.addIssue((error as Error).message);
      return z.NEVER;
    }
  });
}

function whole(min: number, max: number) {
  const says = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,12}$/, says)
    .transform(Number)
    .refine((value) => value >= min && value <= max, says);
}

function decimal(max: number) {
  const says = `must be a number from 0 to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}(\.\d{1,9})?$/, says)
    .transform(Number)
    .refine((value) => value <= max, says);
}

/** Seconds in the environment, milliseconds in the config. */
function seconds(max: number) {
  return decimal(max).transform((value) => value * 1000);
}

function cents() {
  return whole(0, 900_000_000).transform(nanoFromCents);
}

/** Records only that a key is set: the key itself goes to the wallet process (`takeWalletKeys`). */
function walletKey() {
  return z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, "must be 64 hexadecimal digits after 0x")
    .transform(() => true as const);
}

/** Comma-separated `name=value` pairs with percent-encoded values, as OpenTelemetry's settings write headers (W3C Baggage). */
function namedValues(raw: string): Readonly<Record<string, string>> {
  const pairs = raw.split(",").filter(Boolean);
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      const value = pair.slice(at + 1);
      return [pair.slice(0, at).toLowerCase(), /%[0-9a-f]{2}/i.test(value) ? decoded(value) : value];
    }),
  );
}

/** An identity claim and its required value. */
export interface ClaimRule {
  readonly claim: string;
  readonly value: string;
}

/** Comma-separated `claim=value` pairs, whose values may be percent-encoded; null if malformed. */
function claimRules(raw: string): readonly ClaimRule[] | null {
  const pairs = raw.split(",").map((pair) => pair.trim());
  const rules = pairs.map((pair) => {
    const at = pair.indexOf("=");
    return { claim: pair.slice(0, Math.max(0, at)), value: decoded(pair.slice(at + 1)) };
  });
  return rules.every(({ claim, value }) => claim !== "" && value !== "") ? rules : null;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** True if a URL contains a user and password. */
function hasPassword(raw: string): boolean {
  return /\/\/[^/]*@/.test(raw);
}

/** Mebibytes in the environment, bytes in the config. */
function mebibytes(min: number, max: number) {
  return whole(min, max).transform((value) => value * 1_048_576);
}

function webAddress() {
  return z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .transform((value) => value.replace(/(?<!\/)\/+$/, ""));
}

/** The issuer decides who may sign in, so its answers must not be open to tampering on the way. */
function isSafeIssuer(value: string): boolean {
  const { protocol, hostname } = new URL(value);
  return protocol === "https:" || ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
}

const port = whole(0, 65_535);
const text = z.string().min(1);
const bucketName = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be the name of a bucket");
const program = z
  .string()
  .regex(/^\/.+/, "must be the whole path of a program")
  .refine((path) => existsSync(path), "names a program that is not there");
const secretText = z.string().regex(/^[\x21-\x7e]{16,}$/, "must be at least 16 visible characters");
/** Secrets contain no comma, because commas separate them. */
const secretTexts = z
  .string()
  .regex(
    /^[\x21-\x2b\x2d-\x7e]{16,}(,[\x21-\x2b\x2d-\x7e]{16,}){0,7}$/,
    "must be at least 16 visible characters, or several such with commas between them, the newest first",
  );
const names = z.string().transform((raw) => {
  const all = raw.split(",").map((one) => one.trim());
  return all.filter(Boolean);
});
/** The memory for bodies and answers. One body of the maximum size must fit. */
const bodyMemory = mebibytes(33, 1_000_000);
const redactions = z
  .string()
  .regex(
    /^(?:(?:emails|cards|keys|field:[^,]{1,100})(?:,(?=.)|$))*$/,
    "must be of emails, cards, keys and field:NAME, with commas between them",
  )
  .transform((raw) => raw.split(",").filter(Boolean));
const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** All settings: the source for the parser, `tollgate config --help` and the table in docs/reference/settings.md. */
export const SETTINGS = {
  host: setting("HOST=127.0.0.1", text, "Address of the public listener"),
  port: setting("PORT=8080", port, "Port of the public listener; 0 takes a free one"),
  httpEngine: choice(
    "HTTP_ENGINE=uws",
    ["uws", "node"],
    "The HTTP server: uws (uWebSockets.js, least CPU) or node (node:http, a strict parser). Without a uWebSockets.js binary for this Node.js, uws means node",
  ),
  tlsCert: optional(
    "TLS_CERT",
    text,
    "File of the certificate (PEM, with its chain) by which the public listener speaks TLS; read again on SIGHUP. HTTP/2 with HTTP_ENGINE=node, HTTP/1.1 with either engine",
  ),
  tlsKey: optional("TLS_KEY", text, "File of its private key (PEM)"),
  connectionsPerAddress: setting(
    "CONNECTIONS_PER_ADDRESS=1000",
    whole(0, 1_000_000),
    "Connections that one address may have open at the public listener; 0 is no bound. Only with HTTP_ENGINE=node and TRUST_PROXY=0: behind a proxy it bounds them",
  ),
  requestsPerConnection: setting(
    "REQUESTS_PER_CONNECTION=10000",
    whole(0, 1_000_000_000),
    "Requests of one connection before it is closed; 0 is no bound. Only with HTTP_ENGINE=node",
  ),
  headerMsMax: setting(
    "HEADER_SECONDS=10",
    seconds(3_600),
    "How long the headers of a request may take. With HTTP_ENGINE=uws it is always 10",
  ),
  idleMsMax: setting(
    "IDLE_SECONDS=65",
    seconds(3_600),
    "Keep-alive: how long a connection may be idle between two requests; announced in Keep-Alive. Longer than the 60 s of common proxies' pools. HTTP_ENGINE=uws fixes it at 8 to 12",
  ),
  adminHost: setting("ADMIN_HOST=127.0.0.1", text, "Address of the admin listener (metrics, health, accounts)"),
  adminPort: setting("ADMIN_PORT=8081", port, "Port of the admin listener; 0 takes a free one"),
  adminToken: secret(
    "ADMIN_TOKEN",
    secretText,
    "Bearer token for everything under /admin; without it one is made at the first start in DATA_DIR/admin.token",
  ),
  publicUrl: optional(
    "PUBLIC_URL",
    webAddress().refine((value) => !hasPassword(value), "must have no user and password in it: every link shows it"),
    "Base address in links; without it http://HOST:PORT, with TLS_CERT https",
  ),
  dataDir: setting(
    "DATA_DIR=./data",
    text.transform((value) => resolve(value)),
    "Folder for all data",
  ),
  diskFreeMibMin: setting(
    "DISK_FREE_MIB_MIN=512",
    whole(1, 1_000_000_000),
    "With less free MiB on the disk of DATA_DIR, paid calls are refused, and /readyz says so",
  ),
  redisUrl: secret(
    "REDIS_URL",
    z.string().regex(/^rediss?(\+cluster|\+sentinel)?:\/\/\S+$/, "must be an address such as redis://host:6379"),
    "Redis stores, for many processes: redis://, rediss://, redis+cluster://h1:p1,h2:p2, redis+sentinel://h1:p1/name",
  ),
  archiveUrl: secret(
    "ARCHIVE_URL",
    z
      .string()
      .regex(
        /^(postgres(ql)?:\/\/\S+|file:\/\/\/.+)$/,
        "must look like postgres://user:password@host:port/database, or file:///a/file/of/this/machine",
      ),
    "With REDIS_URL: the permanent store of transactions, PostgreSQL or a file that all processes of one machine share; without it DATA_DIR/archive.db",
  ),
  redisUnsafe: flag("REDIS_UNSAFE=0", "1: start although the Redis server could lose money"),
  redisCommandMs: setting(
    "REDIS_COMMAND_MS=500",
    whole(50, 60_000),
    "Timeout of a Redis command, in milliseconds; a call without an answer in time is refused",
  ),
  workers: setting(
    "WORKERS=1",
    whole(1, 64),
    "Processes that share the port and the ledger: the parent's file, or Redis",
  ),
  role: choice(
    "ROLE=both",
    ["both", "serve", "work", "split"],
    "serve, with REDIS_URL: answer callers and leave background work to other gateways; work, with REDIS_URL: do background work (callers are answered, but should go elsewhere); split, with WORKERS: the first process works, the others serve; both: everything",
  ),
  sandbox: flag("SANDBOX=1", "0: no sandbox accounts"),
  sandboxUrl: optional("SANDBOX_URL", webAddress(), "A sandbox upstream elsewhere; without it one on loopback"),
  signup: choice(
    "SIGNUP=closed",
    ["closed", "open"],
    "closed: only the operator opens accounts; open: anyone can, with POST /api/v1/signup",
  ),
  signupCreditPerDay: setting(
    "SIGNUP_CREDIT_CENTS_PER_DAY=10000",
    cents(),
    "Welcome credit for all signups of a UTC day, at most, in cents",
  ),
  signupsPerAddressPerHour: setting(
    "SIGNUPS_PER_ADDRESS_PER_HOUR=5",
    whole(1, 1_000_000),
    "Signups from one address in an hour",
  ),
  oauth: flag("OAUTH=0", "1: clients can request grants by OAuth from people who sign in at /sign-in"),
  pages: flag(
    "PAGES=1",
    "1: people sign in at /sign-in with their primary key to use /account and /try, and the operator at /console of the admin listener",
  ),
  oidcIssuer: optional(
    "OIDC_ISSUER",
    webAddress().refine(isSafeIssuer, "must be an https address, or one of this machine"),
    "Your OpenID provider, as a sign-in beside keys; needs OAUTH and OIDC_CLIENT_ID. Its callback is PUBLIC_URL/sign-in/oidc/callback",
  ),
  oidcClientId: optional("OIDC_CLIENT_ID", text, "This gateway's client id at the provider"),
  oidcClientSecret: secret(
    "OIDC_CLIENT_SECRET",
    text,
    "Its client secret, by HTTP Basic; without one the gateway is a public client",
  ),
  oidcAccounts: choice(
    "OIDC_ACCOUNTS=link",
    ["link", "open"],
    "link: a first sign-in needs an account that linked it; open: it opens a new account if its email address is verified, within SIGNUP_CREDIT_CENTS_PER_DAY and SIGNUPS_PER_ADDRESS_PER_HOUR",
  ),
  oidcOperators: optional(
    "OIDC_OPERATORS",
    z.string().transform((text, context) => {
      const rules = claimRules(text);
      if (rules === null)
        context.addIssue("must be claim=value, with commas between, such as email=ada@acme.example,groups=tollgate");
      return rules ?? [];
    }),
    "People of the OpenID provider who are operators at /console: claim=value of the ID token or userinfo, with commas between, such as sub=248289,email=ada@acme.example,groups=tollgate. A list claim must contain the value, an email address must be verified. Its callback is ADMIN_URL/console/sign-in/oidc/callback",
  ),
  adminUrl: optional(
    "ADMIN_URL",
    webAddress(),
    "Where operators' browsers reach the admin listener, through a proxy that speaks TLS; without it http://ADMIN_HOST:ADMIN_PORT",
  ),
  trustProxy: setting("TRUST_PROXY=0", whole(0, 10), "Number of proxies in front whose client address is trusted"),
  signingSecret: secret(
    "SIGNING_SECRET",
    secretTexts,
    "Signs links to files and encrypts reasoning. new,old: the first signs, both are accepted. Without it one is made in DATA_DIR/signing.secret, which REDIS_URL forbids",
  ),
  filesS3Endpoint: optional(
    "FILES_S3_ENDPOINT",
    webAddress(),
    "An S3-compatible store for files, with FILES_S3_BUCKET and both keys; without it files are in DATA_DIR/files",
  ),
  filesS3Bucket: optional("FILES_S3_BUCKET", bucketName, "Its bucket"),
  filesS3Region: setting("FILES_S3_REGION=us-east-1", text, "Its region, if any"),
  filesS3AccessKeyId: secret("FILES_S3_ACCESS_KEY_ID", text, "Its key id"),
  filesS3SecretAccessKey: secret("FILES_S3_SECRET_ACCESS_KEY", text, "Its secret key"),
  keptBytesMax: setting(
    "KEPT_ANSWERS_MIB=16",
    mebibytes(0, 65_536),
    "Limit for an account's answers under Idempotency-Keys, in MiB; the oldest are dropped, and not run again",
  ),
  answerCacheBytesMax: setting(
    "ANSWER_CACHE_MIB=128",
    mebibytes(0, 65_536),
    "Limit for cached answers (x-tollgate-cache) of all accounts, in MiB, in REDIS_URL if set; a sixteenth of it for an account; 0: no cache",
  ),
  zdrProviders: setting(
    "ZDR_PROVIDERS=",
    names,
    "Ids of providers, with commas, that keep nothing of your calls under a contract; with your own servers they serve calls that require it",
  ),
  contact: optional("CONTACT", text, "Name and email in the User-Agent for public APIs that require it"),
  overlayDir: optional(
    "OVERLAY_DIR",
    text.transform((value) => resolve(value)),
    "A folder with tiers/ and adapters/ that add to or replace the shipped ones",
  ),
  modelsSource: optional(
    "MODELS_SOURCE",
    z
      .string()
      .regex(
        /^(https?:\/\/\S+|\/.+|[a-z0-9]+(-[a-z0-9]+)*)$/,
        "must be an http or https address, a file's whole path, or a provider's id",
      ),
    "The model list that `tollgate models update` reads; gateways never read one",
  ),
  vendorsHttp2: flag(
    "VENDORS_HTTP2=0",
    "1: use HTTP/2 with vendors that offer it, up to 100 calls per connection; a broken connection ends all of them. 0: HTTP/1.1, one call per connection. An adapter's `http2` takes precedence",
  ),
  httpsProxy: shared(
    "HTTPS_PROXY",
    readBy(readProxyAddress),
    "Forward proxy for https addresses, by CONNECT: http://user:password@proxy.example:3128. Lower-case https_proxy takes precedence, as for the next two",
  ),
  httpProxy: shared("HTTP_PROXY", readBy(readProxyAddress), "The same for http addresses, also by CONNECT"),
  noProxy: shared(
    "NO_PROXY",
    readBy(readNoProxy),
    "Reached without a proxy, with commas between: hosts, domains with their subdomains, addresses, ranges such as 10.0.0.0/8, each with an optional :PORT, or *. List local servers too",
  ),
  directFetch: flag("DIRECT_FETCH=1", "0: core/onescrape fetches no page itself, only vendors do"),
  robots: flag("ROBOTS=1", "1: obey robots.txt; 0: ignore it"),
  logLevel: choice("LOG_LEVEL=info", LEVELS, "Lowest level to log"),
  logFormat: choice("LOG_FORMAT=auto", ["auto", "json", "text"], "json, text, or auto: text in a terminal, else json"),
  otelUrl: optional(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    webAddress(),
    "An OTLP/HTTP collector: calls, jobs and attempts become spans, sent to /v1/traces below this address",
  ),
  otelHeaders: {
    ...setting(
      "OTEL_EXPORTER_OTLP_HEADERS=",
      z
        .string()
        .regex(/^([^=,\s]+=[^,]*(,|$))*$/, "must be name=value, several with commas between them")
        .transform((raw) => namedValues(raw)),
      "Headers for the collector, such as authorization=Bearer%20...",
    ),
    secret: true,
  },
  otelDelayMs: setting(
    "OTEL_BSP_SCHEDULE_DELAY=5000",
    whole(1, 60_000),
    "Time to collect spans before sending them, in milliseconds",
  ),
  otelServiceName: setting("OTEL_SERVICE_NAME=tollgate", text, "Service name in traces"),
  otelRatio: setting(
    "OTEL_TRACES_SAMPLER_ARG=1",
    decimal(1),
    "Share of traces to send, for traces that start here; a caller's trace follows its own flag",
  ),
  otelCaptureContent: flag(
    "OTEL_CAPTURE_CONTENT=0",
    "1: spans contain prompts and answers, without what REQUEST_LOG_REDACT removes, at most 32 KiB each",
  ),
  markupPercent: setting("LLM_MARKUP_PERCENT=0", decimal(1_000), "Added to the list price of every model"),
  ownKeyFeePercent: setting(
    "OWN_KEY_FEE_PERCENT=5",
    decimal(100),
    "Fee for calls with an account's own provider key, in percent of the listed price",
  ),
  allowLoss: flag("ALLOW_LOSS=0", "1: also use routes that cost more than the sale price"),
  inferenceCapNano: setting(
    "INFERENCE_CAP_CENTS=1000",
    cents(),
    "Model spend of a new account per UTC day, at most, in cents",
  ),
  unpaidCostNano: setting(
    "UNPAID_COST_CENTS=200",
    cents(),
    "What an account's calls may cost us per UTC day above their charges and that day's margin, in cents; each fetch of our own counts a hundredth of a cent; 0: no limit",
  ),
  actingCostNano: setting(
    "ACTING_CENTS=25",
    cents(),
    "Limit for an answer whose model calls actions, in cents, if the caller sets no max_cost_cents",
  ),
  chromiumPath: optional(
    "CHROMIUM_PATH",
    program,
    "A Chromium that records demo videos; without it a vendor's browser does. It shows untrusted pages: see docs/guides/composites.md",
  ),
  chromiumMemoryMib: setting(
    "CHROMIUM_MEMORY_MIB=1536",
    whole(128, 1_048_576),
    "Memory limit of a Chromium with all its processes, in MiB; above it the scene is left out. Two run at once. Linux only",
  ),
  ffmpegPath: optional("FFMPEG_PATH", program, "The ffmpeg that makes demo videos; required for them"),
  apiKey: secret("TOLLGATE_API_KEY", z.string().min(1), "The key that `tollgate run` and `tollgate mcp` use"),
  url: optional(
    "TOLLGATE_URL",
    webAddress(),
    "The gateway's address for `tollgate run` and `tollgate mcp`; default: PUBLIC_URL, or HOST and PORT",
  ),
  mcpOrigins: setting("MCP_ORIGINS=", names, "Web origins that may call /mcp, with commas; `*` allows all"),
  guardUrl: optional(
    "GUARD_URL",
    webAddress(),
    "Your server that sees every paid request before anything is held, and may refuse or edit it",
  ),
  guardModel: optional(
    "GUARD_MODEL",
    z.string().min(1).max(200),
    "A moderation model of the catalog that checks the texts of every paid request, with or without GUARD_URL",
  ),
  guardAnswers: flag("GUARD_ANSWERS=0", "1: the guard also sees whole answers before they are charged; not streams"),
  guardMsMax: setting("GUARD_SECONDS=2", seconds(60), "Timeout of GUARD_URL or GUARD_MODEL for one request or answer"),
  guardOpen: flag("GUARD_OPEN=0", "1: requests pass while the guard is unavailable; 0: they are refused"),
  requestLogDir: optional(
    "REQUEST_LOG_DIR",
    text,
    "Folder of the request log, encrypted with SIGNING_SECRET; without it DATA_DIR/request-log",
  ),
  requestLogS3Endpoint: optional(
    "REQUEST_LOG_S3_ENDPOINT",
    webAddress(),
    "An S3-compatible store for the request log instead, with REQUEST_LOG_S3_BUCKET and both keys; shared by all machines",
  ),
  requestLogS3Bucket: optional("REQUEST_LOG_S3_BUCKET", bucketName, "Its bucket"),
  requestLogS3Region: setting("REQUEST_LOG_S3_REGION=us-east-1", text, "Its region, if any"),
  requestLogS3AccessKeyId: secret("REQUEST_LOG_S3_ACCESS_KEY_ID", text, "Its key id"),
  requestLogS3SecretAccessKey: secret("REQUEST_LOG_S3_SECRET_ACCESS_KEY", text, "Its secret key"),
  requestLogOwners: flag(
    "REQUEST_LOG_OWNERS=0",
    "1: the primary key of an account turns its request log on and off, and reads it",
  ),
  requestLogDays: setting("REQUEST_LOG_DAYS=30", whole(1, 3_650), "Days to keep the request log"),
  requestLogBytesMax: setting(
    "REQUEST_LOG_MIB=1024",
    mebibytes(1, 1_000_000),
    "Disk limit of the request log; further calls are left out. A bucket is limited only by REQUEST_LOG_DAYS",
  ),
  requestLogRedact: setting(
    "REQUEST_LOG_REDACT=",
    redactions,
    "Removed from the request log and from spans with OTEL_CAPTURE_CONTENT, with commas: emails, cards, keys, and field:NAME for every member of that name",
  ),
  webhooksPrivate: flag("WEBHOOKS_PRIVATE=0", "1: webhooks may use private addresses, internal names and any port"),
  x402PayTo: optional(
    "X402_PAY_TO",
    z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be an address of 40 hexadecimal digits after 0x"),
    "The address that callers without a key pay (x402); without it they need a key",
  ),
  x402Network: choice("X402_NETWORK=base", ["base", "base-sepolia"], "The network of X402_PAY_TO"),
  x402FacilitatorUrl: optional(
    "X402_FACILITATOR_URL",
    webAddress(),
    "Verifies and settles payments; with X402_PAY_TO set this or X402_FACILITATOR_PRIVATE_KEY",
  ),
  x402FacilitatorKey: secret(
    "X402_FACILITATOR_PRIVATE_KEY",
    walletKey(),
    "Instead of X402_FACILITATOR_URL: the key of the wallet that settles payments here and pays gas; a separate process signs with it; needs X402_RPC_URL",
  ),
  x402GasWeiMax: setting(
    "X402_GAS_GWEI_MAX=1",
    decimal(100_000).transform((gwei) => BigInt(Math.round(gwei * 1e9))),
    "Highest gas price that wallet pays, in gwei; above it payments wait",
  ),
  x402SettlementNano: setting(
    "X402_SETTLEMENT_CENTS=0",
    decimal(1_000).transform((value) => nano(Math.round(value * 10_000_000))),
    "Cost of a settlement, in cents (facilitator's fee or gas); booked with each",
  ),
  // URLs of nodes often contain a key.
  x402RpcUrl: secret(
    "X402_RPC_URL",
    webAddress(),
    "A node of the network, to check payments that the facilitator does not confirm",
  ),
  mppWallet: secret(
    "MPP_WALLET_PRIVATE_KEY",
    walletKey(),
    "The key of the wallet on Tempo that pays merchants (MPP); a separate process signs with it",
  ),
  mppNetwork: choice("MPP_NETWORK=tempo", ["tempo", "tempo-testnet"], "The network of that wallet"),
  mppRpcUrl: secret("MPP_RPC_URL", webAddress(), "A node of that network, to check payments"),
  x402Wallet: secret(
    "X402_WALLET_PRIVATE_KEY",
    walletKey(),
    "The key of the wallet on X402_NETWORK that pays merchants (x402); a separate process signs with it",
  ),
  walletNanoPerDay: setting(
    "WALLET_CENTS_PER_DAY=1000",
    cents(),
    "Payments to all merchants per UTC day, at most, in cents",
  ),
  paidFetch: flag(
    "PAID_FETCH=0",
    "1: core/fetch pays the 402 of any public address from the wallet and charges it; a caller may own that address, so a balance can be turned into coins. 0: such a 402 is a plain answer",
  ),
  x402Models: flag(
    "X402_MODELS=0",
    "1: also sell models without a key, if the request limits its output and is not streamed, at the most it could cost",
  ),
  x402Sandbox: flag(
    "X402_SANDBOX=0",
    "1: callers without a key may try payments with play money, with the header `x-tollgate-sandbox: 1`; needs SANDBOX",
  ),
  requestsPerMinute: setting("REQUESTS_PER_MINUTE=600", whole(1, 10_000_000), "Requests per minute of a new account"),
  inFlightMax: setting("IN_FLIGHT_MAX=64", whole(1, 1_000_000), "Paid calls in flight of a new account"),
  bodiesBytesMax: setting("BODIES_MIB=256", bodyMemory, "Memory for all long request bodies, in MiB; above it 503"),
  accountBodiesBytesMax: setting("ACCOUNT_BODIES_MIB=64", bodyMemory, "The same for one account; above it 429"),
  answersBytesMax: setting("ANSWERS_MIB=256", bodyMemory, "Memory for all unread answers, in MiB"),
  accountAnswersBytesMax: setting(
    "ACCOUNT_ANSWERS_MIB=64",
    bodyMemory,
    "The same for one account or address; above it 503",
  ),
  addressRequestsPerMinute: setting(
    "ADDRESS_REQUESTS_PER_MINUTE=120",
    whole(1, 10_000_000),
    "Requests without a key per minute and address",
  ),
  firstTokenMsMax: setting(
    "FIRST_TOKEN_SECONDS=12",
    seconds(3_600),
    "Timeout for a first token while another route remains; FIRST_TOKEN_SECONDS_<TIER> replaces a tier's",
  ),
  lastFirstTokenMsMax: setting("LAST_FIRST_TOKEN_SECONDS=90", seconds(3_600), "The same for the last route"),
  gapMsMax: setting("CHUNK_GAP_SECONDS=30", seconds(3_600), "Longest silence in a stream after its first token"),
  unaryMsMax: setting(
    "UNARY_SECONDS=30",
    seconds(3_600),
    "Timeout for an answer that is not streamed, without its tokens",
  ),
  unaryMsPerToken: setting(
    "UNARY_MS_PER_TOKEN=50",
    decimal(10_000),
    "Added to it per allowed output token, in milliseconds",
  ),
  wholeMsMax: setting("WHOLE_SECONDS=600", seconds(86_400), "Timeout of a paid call over all routes"),
  realtimeMsMax: setting("REALTIME_SECONDS=3600", seconds(86_400), "How long a realtime session may be open"),
  realtimeIdleMsMax: setting(
    "REALTIME_IDLE_SECONDS=300",
    seconds(86_400),
    "How long both sides of a realtime session may be silent",
  ),
  batchPollMs: setting(
    "BATCH_POLL_SECONDS=10",
    seconds(3_600),
    "How often to look at a batch that a provider runs; up to six times rarer the longer it runs",
  ),
  drainMs: setting("DRAIN_SECONDS=30", seconds(3_600), "Time for running answers at SIGTERM"),
} as const satisfies Record<string, Setting<unknown>>;

type Settings = typeof SETTINGS;

/** Settings of earlier versions, with what replaces each. */
export const REMOVED_SETTINGS: Readonly<Record<string, string>> = {
  MODELS_UPDATE: "Run `tollgate models update` from a timer.",
};

/** The parsed environment. Names are those of the table; times in ms, money in nano-USD. */
export type Config = {
  readonly [K in keyof Settings]: Settings[K] extends Setting<infer T> ? T : never;
} & {
  /** `FIRST_TOKEN_SECONDS_<TIER>` by tier id, lower case with `-`, in ms. */
  readonly firstTokenMsMaxByTier: Readonly<Record<string, number>>;
  /** Variables for adapters, by name: keys, base URLs and prices of local servers. */
  readonly vendorEnv: Readonly<Record<string, string>>;
  /** From HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly proxies: Proxies;
  /** The names of all set variables, whichever part reads them, to detect typos. */
  readonly namesSet: readonly string[];
  /** The settings in force, without secrets. */
  readonly effective: readonly EffectiveSetting[];
};

export type Environment = Readonly<Record<string, string | undefined>>;

const VENDOR =
  /^(?!ADMIN_|FILES_|OIDC_|X402_)[A-Z0-9][A-Z0-9_]*_(API_KEY|API_TOKEN|API_SECRET|SECRET_KEY|TOKEN(?:_[A-Z]+)?|KEY|USERNAME|PASSWORD|BASE_URL|MODEL|ACCOUNT_ID|ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|TENANT_ID|CLIENT_ID|CLIENT_SECRET|CREDENTIALS|REGION|LOCATION|PROJECT|PROJECT_ID|TEAM_ID|RESOURCE|SCOPE|STORAGE_NAME|API_VERSION|DEPLOYMENTS|PAY_TO|PROMPT_USD_PER_MILLION|COMPLETION_USD_PER_MILLION)$/;
/** The ones that are not secret. */
const PLAIN =
  /_(USERNAME|BASE_URL|MODEL|ACCOUNT_ID|REGION|LOCATION|PROJECT|PROJECT_ID|TEAM_ID|RESOURCE|SCOPE|STORAGE_NAME|API_VERSION|DEPLOYMENTS|PAY_TO|PROMPT_USD_PER_MILLION|COMPLETION_USD_PER_MILLION)$/;
const TIER_CLOCK = /^FIRST_TOKEN_SECONDS_([A-Z0-9_]+)$/;

const HEADER_BYTES_MAX = "16384";

/** Sets variables that native modules read when they load: call before anything listens. Keeps values that the operator set. */
export function prepareEnvironment(): void {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ||= HEADER_BYTES_MAX;
}

/** The environment of a program that we start: `env` with variables changed, or removed where undefined. */
export function environmentWith(changed: Environment, env: Environment = process.env): Environment {
  return { ...env, ...changed };
}

/** Treats an empty variable as unset, because compose files leave settings out that way. */
function present(env: Environment): [name: string, value: string][] {
  return Object.entries(env).flatMap(([name, value]) => (value ? [[name, value] as [string, string]] : []));
}

function variableOf({ name, shared }: Setting<unknown>, env: Environment): string {
  return shared === true && env[name.toLowerCase()] ? name.toLowerCase() : name;
}

function parse<T>(row: Setting<T>, env: Environment): T | null {
  const name = variableOf(row, env);
  const raw = env[name] || row.fallback;
  if (raw === null) return null;
  const result = row.schema.safeParse(raw);
  if (result.success) return result.data;
  const shown = row.secret || row.shared || hasPassword(raw) ? name : `${name}=${JSON.stringify(raw)}`;
  throw new ConfigError(`${shown}: ${result.error.issues[0]?.message ?? "cannot be read"}`);
}

/** True if this process does background work, such as running jobs; otherwise another process over the same store does it. */
export function doesWork({ role }: Pick<Config, "role">): boolean {
  return role !== "serve";
}

/** For a start only; tools open the same stores without. Throws where processes would reject each other's links and seals. */
export function checkStart({ redisUrl, signingSecret, role, workers }: Config): void {
  if (role === "split" && workers === 1)
    throw new ConfigError(
      "ROLE=split: needs WORKERS above 1: one of them does what no call asks for, the others answer callers",
    );
  if (redisUrl === null && (role === "serve" || role === "work"))
    throw new ConfigError(`ROLE=${role}: needs REDIS_URL: over a file no other gateway does the rest`);
  if (redisUrl === null || signingSecret !== null) return;
  throw new ConfigError(
    "SIGNING_SECRET: is needed with REDIS_URL: one process must open what another has signed or sealed",
  );
}

/** Settings that work only with another, which stands first. */
const NEEDED: readonly (readonly [needed: keyof Settings, by: keyof Settings])[] = [
  ["oidcClientId", "oidcIssuer"],
  ["oauth", "oidcIssuer"],
  ["oidcIssuer", "oidcOperators"],
  ["pages", "oidcOperators"],
  ["sandbox", "x402Sandbox"],
  ["filesS3Bucket", "filesS3Endpoint"],
  ["filesS3AccessKeyId", "filesS3Endpoint"],
  ["filesS3SecretAccessKey", "filesS3Endpoint"],
  ["requestLogS3Bucket", "requestLogS3Endpoint"],
  ["requestLogS3AccessKeyId", "requestLogS3Endpoint"],
  ["requestLogS3SecretAccessKey", "requestLogS3Endpoint"],
];

/** Throws where settings do not fit together. */
function checkTogether(config: Config): void {
  for (const [needed, by] of NEEDED) {
    if (!config[by] || config[needed]) continue;
    const what = config[needed] === false ? "1 is needed" : "is needed";
    throw new ConfigError(`${SETTINGS[needed].name}: ${what} with ${SETTINGS[by].name}`);
  }
  if ((config.tlsCert === null) !== (config.tlsKey === null))
    throw new ConfigError("TLS_CERT and TLS_KEY: one is needed with the other");
  const { x402FacilitatorUrl: url, x402FacilitatorKey: key } = config;
  if (config.x402PayTo === null) return;
  if (url === null && key === null)
    throw new ConfigError("X402_FACILITATOR_URL: it or X402_FACILITATOR_PRIVATE_KEY is needed with X402_PAY_TO");
  if (url !== null && key !== null)
    throw new ConfigError("X402_FACILITATOR_PRIVATE_KEY: is in the place of X402_FACILITATOR_URL, not beside it");
  if (key !== null && config.x402RpcUrl === null)
    throw new ConfigError("X402_RPC_URL: is needed with X402_FACILITATOR_PRIVATE_KEY");
}

/** Parses the environment. Throws ConfigError for the first invalid setting. */
export function readConfig(env: Environment = process.env): Config {
  const values = Object.entries(SETTINGS).map(([key, row]) => [key, parse<unknown>(row, env)]);
  const tiers = present(env).flatMap(([name]) => {
    const tier = TIER_CLOCK.exec(name)?.[1];
    if (tier === undefined) return [];
    const ms = parse(setting(`${name}=`, seconds(3_600), ""), env);
    return [[tier.toLowerCase().replaceAll("_", "-"), ms]];
  });
  const config = Object.fromEntries(values) as Config;
  checkTogether(config);
  return Object.freeze({
    ...config,
    proxies: createProxies(config.httpsProxy, config.httpProxy, config.noProxy),
    firstTokenMsMaxByTier: Object.freeze(Object.fromEntries(tiers)),
    vendorEnv: Object.freeze(Object.fromEntries(present(env).filter(([name]) => VENDOR.test(name)))),
    namesSet: Object.freeze(present(env).flatMap(([name]) => (TIER_CLOCK.test(name) ? [] : [name]))),
    effective: Object.freeze(effectiveSettings(env)),
  });
}

/** Removes the wallets' private keys from the environment, which child processes would inherit, and returns them. */
export function takeWalletKeys(env: Record<string, string | undefined> = process.env): {
  readonly mpp: `0x${string}` | null;
  readonly x402: `0x${string}` | null;
  readonly gas: `0x${string}` | null;
} {
  const take = ({ name }: Setting<unknown>) => {
    const key = env[name] || null;
    delete env[name];
    return key as `0x${string}` | null;
  };
  return { mpp: take(SETTINGS.mppWallet), x402: take(SETTINGS.x402Wallet), gas: take(SETTINGS.x402FacilitatorKey) };
}

export interface SettingDoc {
  readonly name: string;
  readonly default: string;
  readonly meaning: string;
}

export function describeSettings(): SettingDoc[] {
  const rows: SettingDoc[] = Object.values(SETTINGS).map((row) => ({
    name: row.name,
    default: row.fallback ?? "none",
    meaning: row.meaning,
  }));
  return [
    ...rows,
    { name: "<VENDOR>_API_KEY", default: "none", meaning: "A provider's key; several, comma-separated, are rotated" },
    { name: "<VENDOR>_BASE_URL", default: "the vendor's", meaning: "Another server, with its version path" },
    { name: "<VENDOR>_MODEL", default: "none", meaning: "The model that a local server serves" },
    { name: "<VENDOR>_PROMPT_USD_PER_MILLION", default: "0", meaning: "Price of a local server's models" },
    { name: "<VENDOR>_COMPLETION_USD_PER_MILLION", default: "0", meaning: "The same for what they answer" },
  ];
}

export interface EffectiveSetting {
  readonly name: string;
  /** For secrets, only that they are set. */
  readonly value: string;
  readonly from: "environment" | "default";
}

/** The settings in force, for display; masks secrets. Does not validate. */
export function effectiveSettings(env: Environment): EffectiveSetting[] {
  const rows: EffectiveSetting[] = Object.values(SETTINGS).map((row) => {
    const raw = env[variableOf(row, env)];
    if (raw && row.shared) return { name: row.name, value: withoutPassword(raw), from: "environment" };
    if (!raw) return { name: row.name, value: row.fallback ?? "none", from: "default" };
    return { name: row.name, value: row.secret || hasPassword(raw) ? "(set)" : raw, from: "environment" };
  });
  const others = present(env).filter(([name]) => VENDOR.test(name) || TIER_CLOCK.test(name));
  for (const [name, raw] of others) {
    const masked = !(PLAIN.test(name) || TIER_CLOCK.test(name)) || hasPassword(raw);
    rows.push({ name, value: masked ? "(set)" : raw, from: "environment" });
  }
  return rows;
}
