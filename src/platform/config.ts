// The first step of a start: the environment becomes one frozen Config, or one line that says which setting is wrong.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { nano, nanoFromCents } from "../core/money.ts";
import {
  createProxies,
  type Exempts,
  type Proxies,
  readNoProxy,
  readProxyAddress,
  withoutPassword,
} from "../core/proxies.ts";

/** A setting that does not parse. Its message is one line that names the setting and is fit for the operator. */
export class ConfigError extends Error {}

interface Setting<T> {
  readonly name: string;
  /** As it would stand in the environment; null: no value unless one is set. */
  readonly fallback: string | null;
  readonly meaning: string;
  /** Reads the text of the variable. */
  readonly schema: z.ZodType<T, string>;
  /** Never printed. */
  readonly secret: boolean;
  /** A name that other programs read as well, also in lower case, which then counts. It may hold a password. */
  readonly shared?: true;
}

function setting<T>(name: string, fallback: string, schema: z.ZodType<T, string>, meaning: string): Setting<T> {
  return { name, fallback, meaning, schema, secret: false };
}

function optional<T>(name: string, schema: z.ZodType<T, string>, meaning: string): Setting<T | null> {
  return { name, fallback: null, meaning, schema, secret: false };
}

function secret<T>(row: Setting<T>): Setting<T> {
  return { ...row, secret: true };
}

/** Reads with a function that throws what is wrong. */
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

function shared<T>(row: Setting<T>): Setting<T> {
  return { ...row, shared: true };
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

/** Seconds in the environment, milliseconds in the program. */
function seconds(max: number) {
  return decimal(max).transform((value) => value * 1000);
}

function cents() {
  return whole(0, 900_000_000).transform(nanoFromCents);
}

/** Of the key only is kept that there is one: it goes to the wallet's process (`takeWalletKeys`). */
function walletKey() {
  return z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, "must be 64 hexadecimal digits after 0x")
    .transform(() => true as const);
}

/** `name=value` with commas between them, values percent-encoded, as OpenTelemetry's settings write headers (W3C Baggage). */
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

/** A claim of a person, and what it must be. */
export interface ClaimRule {
  readonly claim: string;
  readonly value: string;
}

/** `claim=value` with commas between, in which a value may be percent-encoded; null: it is not that. */
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

/** An address may have a user and a password before its host. */
function hasPassword(raw: string): boolean {
  return /\/\/[^/]*@/.test(raw);
}

/** Mebibytes in the environment, bytes in the program. At least one body of the largest size must fit. */
function mebibytes() {
  return whole(33, 1_000_000).transform((value) => value * 1_048_576);
}

function webAddress() {
  return z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .transform((value) => value.replace(/(?<!\/)\/+$/, ""));
}

/** What it answers decides who signs in: what lies between must not be able to change that. */
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
const flag = z.enum(["0", "1"], "must be 0 or 1").transform((value) => value === "1");
const secretText = z.string().regex(/^[\x21-\x7e]{16,}$/, "must be at least 16 visible characters");
/** No secret has a comma in it, since those separate several. */
const secretTexts = z
  .string()
  .regex(
    /^[\x21-\x2b\x2d-\x7e]{16,}(,[\x21-\x2b\x2d-\x7e]{16,}){0,7}$/,
    "must be at least 16 visible characters, or several such with commas between them, the newest first",
  );
/** With commas between them. */
const names = z.string().transform((raw) =>
  raw
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean),
);
const redactions = z
  .string()
  .regex(
    /^(?:(?:emails|cards|keys|field:[^,]{1,100})(?:,(?=.)|$))*$/,
    "must be of emails, cards, keys and field:NAME, with commas between them",
  )
  .transform((raw) => raw.split(",").filter(Boolean));
const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** Every setting: the parser, `tollgate config --help` and the table of docs/reference/settings.md are made from this. */
export const SETTINGS = {
  host: setting("HOST", "127.0.0.1", text, "Address of the public listener"),
  port: setting("PORT", "8080", port, "Port of the public listener; 0 takes a free one"),
  adminHost: setting("ADMIN_HOST", "127.0.0.1", text, "Address of the admin listener (metrics, health, accounts)"),
  adminPort: setting("ADMIN_PORT", "8081", port, "Port of the admin listener; 0 takes a free one"),
  adminToken: secret(
    optional(
      "ADMIN_TOKEN",
      secretText,
      "Bearer token of everything under /admin; without it one is made at the first start in DATA_DIR/admin.token",
    ),
  ),
  publicUrl: optional(
    "PUBLIC_URL",
    webAddress().refine((value) => !hasPassword(value), "must have no user and password in it: every link shows it"),
    "Base address in links; without it http://HOST:PORT",
  ),
  dataDir: setting(
    "DATA_DIR",
    "./data",
    text.transform((value) => resolve(value)),
    "Folder of everything kept",
  ),
  diskFreeMibMin: setting(
    "DISK_FREE_MIB_MIN",
    "512",
    whole(1, 1_000_000_000),
    "With less free on the disk of DATA_DIR, in MiB, no paid call is taken on, and /readyz says so",
  ),
  redisUrl: secret(
    optional(
      "REDIS_URL",
      z.string().regex(/^rediss?(\+cluster|\+sentinel)?:\/\/\S+$/, "must be an address such as redis://host:6379"),
      "Redis stores, for many processes: redis://, rediss://, redis+cluster://h1:p1,h2:p2, redis+sentinel://h1:p1/name",
    ),
  ),
  archiveUrl: secret(
    optional(
      "ARCHIVE_URL",
      z
        .string()
        .regex(
          /^(postgres(ql)?:\/\/\S+|file:\/\/\/.+)$/,
          "must look like postgres://user:password@host:port/database, or file:///a/file/of/this/machine",
        ),
      "With REDIS_URL: where transactions are kept for good: PostgreSQL, or a file that all processes of one machine share; without it DATA_DIR/archive.db",
    ),
  ),
  redisUnsafe: setting("REDIS_UNSAFE", "0", flag, "1: start although the Redis server would lose money"),
  redisCommandMs: setting(
    "REDIS_COMMAND_MS",
    "500",
    whole(50, 60_000),
    "How long Redis has for an answer, in milliseconds; a call that it does not answer in time is refused",
  ),
  workers: setting(
    "WORKERS",
    "1",
    whole(1, 64),
    "Processes that share the port, and the ledger: the parent keeps it in its file for them, or all have it in Redis",
  ),
  role: setting(
    "ROLE",
    "both",
    z.enum(["both", "serve", "work", "split"], "must be both, serve, work or split"),
    "What is done here. serve, with REDIS_URL: callers are answered, and what no call asks for is left to other gateways; work, with REDIS_URL: that is done, and callers are answered too, but should not be sent here; split, with WORKERS: the first of them does that, the others answer callers; both: all of it",
  ),
  sandbox: setting("SANDBOX", "1", flag, "0: no sandbox accounts"),
  sandboxUrl: optional("SANDBOX_URL", webAddress(), "A sandbox upstream elsewhere; without it one on loopback"),
  signup: setting(
    "SIGNUP",
    "closed",
    z.enum(["closed", "open"], "must be closed or open"),
    "Who may open accounts: closed, only the operator; open, anybody, by POST /api/v1/signup",
  ),
  signupCreditPerDay: setting(
    "SIGNUP_CREDIT_CENTS_PER_DAY",
    "10000",
    cents(),
    "Most welcome credit given to all signups of a UTC day, in cents",
  ),
  signupsPerAddressPerHour: setting(
    "SIGNUPS_PER_ADDRESS_PER_HOUR",
    "5",
    whole(1, 1_000_000),
    "Signups from one address in an hour",
  ),
  oauth: setting("OAUTH", "0", flag, "1: clients can ask people for a grant by OAuth, who sign in at /sign-in"),
  pages: setting(
    "PAGES",
    "1",
    flag,
    "1: people can sign in at /sign-in with their account's primary key and have its pages at /account and /try, and the operator at /console of the admin listener",
  ),
  oidcIssuer: optional(
    "OIDC_ISSUER",
    webAddress().refine(isSafeIssuer, "must be an https address, or one of this machine"),
    "Your own OpenID provider, by which people sign in beside keys; needs OAUTH and OIDC_CLIENT_ID. Its callback is PUBLIC_URL/sign-in/oidc/callback",
  ),
  oidcClientId: optional("OIDC_CLIENT_ID", text, "What the provider knows this gateway as"),
  oidcClientSecret: secret(
    optional(
      "OIDC_CLIENT_SECRET",
      text,
      "The secret of that, by HTTP Basic; without one the gateway is a public client",
    ),
  ),
  oidcAccounts: setting(
    "OIDC_ACCOUNTS",
    "link",
    z.enum(["link", "open"], "must be link or open"),
    "Whom a first sign-in there leads to: link, the account that has linked it, and else none; open, a new account where it has no link and its e-mail address is verified, within the bounds of SIGNUP_CREDIT_CENTS_PER_DAY and SIGNUPS_PER_ADDRESS_PER_HOUR",
  ),
  oidcOperators: optional(
    "OIDC_OPERATORS",
    z.string().transform((text, context) => {
      const rules = claimRules(text);
      if (rules === null)
        context.addIssue("must be claim=value, with commas between, such as email=ada@acme.example,groups=tollgate");
      return rules ?? [];
    }),
    "Who of the OpenID provider is an operator at /console: claim=value of the person's ID token or userinfo, commas between, such as sub=248289,email=ada@acme.example,groups=tollgate (a list that has the value; an address where it is verified). Without it none is. Its callback is ADMIN_URL/console/sign-in/oidc/callback",
  ),
  adminUrl: optional(
    "ADMIN_URL",
    webAddress(),
    "Where operators' browsers reach the admin listener, through a proxy that speaks TLS; without it http://ADMIN_HOST:ADMIN_PORT",
  ),
  trustProxy: setting(
    "TRUST_PROXY",
    "0",
    whole(0, 10),
    "How many proxies in front to believe for the client's address",
  ),
  signingSecret: secret(
    optional(
      "SIGNING_SECRET",
      secretTexts,
      "Signs links to files and seals thoughts; new,old: by the first, and what any of them made is good; without it one is made in DATA_DIR/signing.secret, which REDIS_URL forbids",
    ),
  ),
  filesS3Endpoint: optional(
    "FILES_S3_ENDPOINT",
    webAddress(),
    "An S3-compatible store for files, with FILES_S3_BUCKET and both keys; without it files lie in DATA_DIR/files",
  ),
  filesS3Bucket: optional("FILES_S3_BUCKET", bucketName, "The bucket in it"),
  filesS3Region: setting("FILES_S3_REGION", "us-east-1", text, "Its region, as far as it has one"),
  filesS3AccessKeyId: secret(optional("FILES_S3_ACCESS_KEY_ID", text, "Key id for it")),
  filesS3SecretAccessKey: secret(optional("FILES_S3_SECRET_ACCESS_KEY", text, "Secret key for it")),
  keptBytesMax: setting(
    "KEPT_ANSWERS_MIB",
    "16",
    whole(0, 65_536).transform((mebibytes) => mebibytes * 1024 * 1024),
    "Most that an account's answers under Idempotency-Keys keep, in MiB; beyond it the oldest are not given again, and not run again",
  ),
  answerCacheBytesMax: setting(
    "ANSWER_CACHE_MIB",
    "128",
    whole(0, 65_536).transform((mebibytes) => mebibytes * 1024 * 1024),
    "Most that answers under x-tollgate-cache keep of all accounts, in MiB, in REDIS_URL where that is set; an account has a sixteenth of it; 0 keeps none",
  ),
  zdrProviders: setting(
    "ZDR_PROVIDERS",
    "",
    names,
    "Providers that by a contract with you keep nothing of what your keys send, by their ids, with commas: beside your own servers they serve calls that ask for that",
  ),
  contact: optional("CONTACT", text, "Name and mail in the User-Agent of public APIs that ask for it"),
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
    "The list of models that `tollgate models update` reads; a gateway itself never reads one",
  ),
  vendorsHttp2: setting(
    "VENDORS_HTTP2",
    "0",
    flag,
    "1: vendors that offer HTTP/2 are spoken to in it, up to 100 calls over one connection, whose end is all of theirs; 0: in HTTP/1.1, a connection for each call at once. Where an adapter says `http2`, that holds for its vendor",
  ),
  httpsProxy: shared(
    optional<URL>(
      "HTTPS_PROXY",
      readBy(readProxyAddress),
      "The proxy through which https addresses are reached, by CONNECT: http://user:password@proxy.example:3128. https_proxy in lower case counts before it, as with the two below",
    ),
  ),
  httpProxy: shared(
    optional<URL>("HTTP_PROXY", readBy(readProxyAddress), "The same for http addresses, by CONNECT as well"),
  ),
  noProxy: shared(
    optional<Exempts>(
      "NO_PROXY",
      readBy(readNoProxy),
      "What is reached without a proxy, with commas between: hosts and domains with all below them, addresses, ranges such as 10.0.0.0/8, each with :PORT where one port is meant, or *. Servers on this machine are not left out by themselves",
    ),
  ),
  directFetch: setting("DIRECT_FETCH", "1", flag, "0: core/onescrape fetches no page itself, and asks vendors alone"),
  robots: setting("ROBOTS", "1", flag, "1: pages that robots.txt forbids are not fetched by us; 0: they are"),
  logLevel: setting("LOG_LEVEL", "info", z.enum(LEVELS, `must be one of ${LEVELS.join(", ")}`), "Least level logged"),
  logFormat: setting(
    "LOG_FORMAT",
    "auto",
    z.enum(["auto", "json", "text"], "must be auto, json or text"),
    "How: json, text for people, or auto: text where standard output is a terminal, else json",
  ),
  otelUrl: optional(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    webAddress(),
    "A collector of OpenTelemetry's that takes OTLP over HTTP: every call, job and attempt becomes a span, sent to /v1/traces below this address",
  ),
  otelHeaders: secret(
    setting(
      "OTEL_EXPORTER_OTLP_HEADERS",
      "",
      z
        .string()
        .regex(/^([^=,\s]+=[^,]*(,|$))*$/, "must be name=value, several with commas between them")
        .transform((raw) => namedValues(raw)),
      "What the collector is shown with each batch, such as authorization=Bearer%20...",
    ),
  ),
  otelDelayMs: setting(
    "OTEL_BSP_SCHEDULE_DELAY",
    "5000",
    whole(1, 60_000),
    "How long spans wait to be sent together, in milliseconds",
  ),
  otelServiceName: setting("OTEL_SERVICE_NAME", "tollgate", text, "What this gateway is called in traces"),
  otelRatio: setting(
    "OTEL_TRACES_SAMPLER_ARG",
    "1",
    decimal(1),
    "The part of the traces that begin here which is sent; one that a caller began is sent where the caller's flags say so",
  ),
  otelCaptureContent: setting(
    "OTEL_CAPTURE_CONTENT",
    "0",
    flag,
    "1: spans say what models were asked and what they answered, without what REQUEST_LOG_REDACT takes out, at most 32 KiB of each",
  ),
  markupPercent: setting("LLM_MARKUP_PERCENT", "0", decimal(1_000), "Added to the list price of every model"),
  ownKeyFeePercent: setting(
    "OWN_KEY_FEE_PERCENT",
    "5",
    decimal(100),
    "What a call by a provider key of the account's own is charged, in percent of the listed price",
  ),
  allowLoss: setting("ALLOW_LOSS", "0", flag, "1: also use routes that cost more than the sale price"),
  inferenceCapNano: setting(
    "INFERENCE_CAP_CENTS",
    "1000",
    cents(),
    "Most a new account may spend on models in a UTC day, in cents",
  ),
  unpaidCostNano: setting(
    "UNPAID_COST_CENTS",
    "200",
    cents(),
    "What an account's calls may cost us in a UTC day above what they were charged (a hundredth of a cent for each fetch of our own), in cents, beside what they paid above our cost that day; 0: no bound",
  ),
  actingCostNano: setting(
    "ACTING_CENTS",
    "25",
    cents(),
    "Most that an answer may cost whose model calls actions, in cents, where its caller does not say max_cost_cents",
  ),
  chromiumPath: optional(
    "CHROMIUM_PATH",
    program,
    "A Chromium that records the pages of demo videos; without it a vendor's browser does. It shows strangers' pages: see docs/guides/composites.md",
  ),
  chromiumMemoryMib: setting(
    "CHROMIUM_MEMORY_MIB",
    "1536",
    whole(128, 1_048_576),
    "The most memory that a Chromium may take with all its processes, in MiB; beyond it the scene ends, and is left out. Two run at once. On Linux alone",
  ),
  ffmpegPath: optional("FFMPEG_PATH", program, "The ffmpeg that makes demo videos; without it none are made"),
  apiKey: secret(optional("TOLLGATE_API_KEY", z.string().min(1), "The key that `tollgate mcp` calls the gateway with")),
  mcpOrigins: setting(
    "MCP_ORIGINS",
    "",
    names,
    "Origins of web pages that may call MCP at /mcp, separated by commas; `*` lets all",
  ),
  guardUrl: optional(
    "GUARD_URL",
    webAddress(),
    "A server that sees every paid request before anything is held, and may refuse or change it",
  ),
  guardModel: optional(
    "GUARD_MODEL",
    z.string().min(1).max(200),
    "A model of the catalog for moderations that judges the texts of every paid request, beside GUARD_URL or in its place",
  ),
  guardAnswers: setting(
    "GUARD_ANSWERS",
    "0",
    flag,
    "1: the guard sees whole answers as well, before they are charged; streams are not shown to it",
  ),
  guardMsMax: setting(
    "GUARD_SECONDS",
    "2",
    seconds(60),
    "How long GUARD_URL or GUARD_MODEL may take for one request or answer",
  ),
  guardOpen: setting(
    "GUARD_OPEN",
    "0",
    flag,
    "1: what the guard is to see passes while it does not answer; else it is refused",
  ),
  requestLogDir: optional(
    "REQUEST_LOG_DIR",
    text,
    "Where bodies and answers lie of accounts that have them kept, sealed by SIGNING_SECRET; without it DATA_DIR/request-log",
  ),
  requestLogS3Endpoint: optional(
    "REQUEST_LOG_S3_ENDPOINT",
    webAddress(),
    "An S3-compatible store in which they lie instead, with REQUEST_LOG_S3_BUCKET and both keys; all processes and machines share it",
  ),
  requestLogS3Bucket: optional("REQUEST_LOG_S3_BUCKET", bucketName, "The bucket in it"),
  requestLogS3Region: setting("REQUEST_LOG_S3_REGION", "us-east-1", text, "Its region, as far as it has one"),
  requestLogS3AccessKeyId: secret(optional("REQUEST_LOG_S3_ACCESS_KEY_ID", text, "Key id for it")),
  requestLogS3SecretAccessKey: secret(optional("REQUEST_LOG_S3_SECRET_ACCESS_KEY", text, "Secret key for it")),
  requestLogOwners: setting(
    "REQUEST_LOG_OWNERS",
    "0",
    flag,
    "1: the owner of an account switches on and off what is kept of its calls, and reads it, by its primary key",
  ),
  requestLogDays: setting("REQUEST_LOG_DAYS", "30", whole(1, 3_650), "For how many days they are kept"),
  requestLogBytesMax: setting(
    "REQUEST_LOG_MIB",
    "1024",
    whole(1, 1_000_000).transform((mebibytes) => mebibytes * 1024 * 1024),
    "How much of the disk they take; beyond it further ones are left out. A bucket is bounded by REQUEST_LOG_DAYS alone",
  ),
  requestLogRedact: setting(
    "REQUEST_LOG_REDACT",
    "",
    redactions,
    "What is taken out of them, and out of spans with OTEL_CAPTURE_CONTENT, with commas: emails, cards, keys, and field:NAME for the value of every member of that name",
  ),
  webhooksPrivate: setting(
    "WEBHOOKS_PRIVATE",
    "0",
    flag,
    "1: webhooks may be sent to private addresses, inner names and any port",
  ),
  x402PayTo: optional(
    "X402_PAY_TO",
    z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be an address of 40 hexadecimal digits after 0x"),
    "The address that callers without a key pay to (x402); without it they need a key",
  ),
  x402Network: setting(
    "X402_NETWORK",
    "base",
    z.enum(["base", "base-sepolia"], "must be base or base-sepolia"),
    "The network of X402_PAY_TO",
  ),
  x402FacilitatorUrl: optional(
    "X402_FACILITATOR_URL",
    webAddress(),
    "Who looks at payments and makes them; with X402_PAY_TO either this is needed or a key for our own",
  ),
  x402FacilitatorKey: secret(
    optional(
      "X402_FACILITATOR_PRIVATE_KEY",
      walletKey(),
      "In the place of X402_FACILITATOR_URL: the key of the wallet by which payments are made here, which pays for gas; a process of its own signs with it; needs X402_RPC_URL",
    ),
  ),
  x402GasWeiMax: setting(
    "X402_GAS_GWEI_MAX",
    "1",
    decimal(100_000).transform((gwei) => BigInt(Math.round(gwei * 1e9))),
    "The most that wallet pays for a unit of gas, in gwei; above it payments wait",
  ),
  x402SettlementNano: setting(
    "X402_SETTLEMENT_CENTS",
    "0",
    decimal(1_000).transform((value) => nano(Math.round(value * 10_000_000))),
    "What making a payment costs us, in cents: the facilitator's fee, or gas; booked with each",
  ),
  // Addresses of nodes often bear a key.
  x402RpcUrl: secret(
    optional(
      "X402_RPC_URL",
      webAddress(),
      "A node of the network, which says whether a payment was made where its facilitator does not",
    ),
  ),
  mppWallet: secret(
    optional(
      "MPP_WALLET_PRIVATE_KEY",
      walletKey(),
      "The key of the wallet on Tempo that merchants are paid from (MPP); a process of its own signs with it",
    ),
  ),
  mppNetwork: setting(
    "MPP_NETWORK",
    "tempo",
    z.enum(["tempo", "tempo-testnet"], "must be tempo or tempo-testnet"),
    "The network of that wallet",
  ),
  mppRpcUrl: secret(
    optional("MPP_RPC_URL", webAddress(), "A node of that network, which says whether a payment was made"),
  ),
  x402Wallet: secret(
    optional(
      "X402_WALLET_PRIVATE_KEY",
      walletKey(),
      "The key of the wallet on X402_NETWORK that merchants are paid from (x402); a process of its own signs with it",
    ),
  ),
  walletNanoPerDay: setting(
    "WALLET_CENTS_PER_DAY",
    "1000",
    cents(),
    "The most that all merchants together are paid in a UTC day, in cents",
  ),
  paidFetch: setting(
    "PAID_FETCH",
    "0",
    flag,
    "1: core/fetch pays the 402 of whatever public address its caller names, from the wallet, and charges it; who calls may be who is paid, so a balance can be turned into coins. 0: such a 402 is an answer",
  ),
  x402Models: setting(
    "X402_MODELS",
    "0",
    flag,
    "1: models are sold without a key as well, where the request bounds its output and is not streamed, at what that could cost",
  ),
  x402Sandbox: setting(
    "X402_SANDBOX",
    "0",
    flag,
    "1: callers without a key may try payments with play money, by the header `x-tollgate-sandbox: 1`; needs SANDBOX",
  ),
  requestsPerMinute: setting("REQUESTS_PER_MINUTE", "600", whole(1, 10_000_000), "Of a new account"),
  inFlightMax: setting("IN_FLIGHT_MAX", "64", whole(1, 1_000_000), "Paid calls at once of a new account"),
  bodiesBytesMax: setting(
    "BODIES_MIB",
    "256",
    mebibytes(),
    "Memory for all long request bodies at once, in MiB; beyond it callers are told 503",
  ),
  accountBodiesBytesMax: setting("ACCOUNT_BODIES_MIB", "64", mebibytes(), "The same of one account, beyond it 429"),
  answersBytesMax: setting("ANSWERS_MIB", "256", mebibytes(), "Memory for all answers that wait to be read, in MiB"),
  accountAnswersBytesMax: setting("ACCOUNT_ANSWERS_MIB", "64", mebibytes(), "Of one account or address, beyond it 503"),
  addressRequestsPerMinute: setting(
    "ADDRESS_REQUESTS_PER_MINUTE",
    "120",
    whole(1, 10_000_000),
    "Requests without a key from one address",
  ),
  firstTokenMsMax: setting(
    "FIRST_TOKEN_SECONDS",
    "12",
    seconds(3_600),
    "Wait for a first token while another route remains; FIRST_TOKEN_SECONDS_<TIER> replaces a tier's own",
  ),
  lastFirstTokenMsMax: setting("LAST_FIRST_TOKEN_SECONDS", "90", seconds(3_600), "The same on the last route"),
  gapMsMax: setting("CHUNK_GAP_SECONDS", "30", seconds(3_600), "Longest silence in a stream after its first token"),
  unaryMsMax: setting(
    "UNARY_SECONDS",
    "30",
    seconds(3_600),
    "Longest wait for an answer that is not streamed, without its tokens",
  ),
  unaryMsPerToken: setting(
    "UNARY_MS_PER_TOKEN",
    "50",
    decimal(10_000),
    "Added to it for each output token allowed, in milliseconds",
  ),
  wholeMsMax: setting("WHOLE_SECONDS", "600", seconds(86_400), "Longest a paid call may take over all routes"),
  drainMs: setting("DRAIN_SECONDS", "30", seconds(3_600), "How long running answers may take at SIGTERM"),
} as const satisfies Record<string, Setting<unknown>>;

type Settings = typeof SETTINGS;

/** The settings that let callers in by another way than a key; those who have signed in must not notice them. */
export const DOORS: readonly (keyof Settings)[] = [
  "signup",
  "oauth",
  "oidcIssuer",
  "mcpOrigins",
  "x402PayTo",
  "x402Models",
  "x402Sandbox",
];

/** What the environment said. Names are those of the table; times in ms, money in nano-USD. */
export type Config = {
  readonly [K in keyof Settings]: Settings[K] extends Setting<infer T> ? T : never;
} & {
  /** `FIRST_TOKEN_SECONDS_<TIER>` by tier id, lower case with `-`, in ms. */
  readonly firstTokenMsMaxByTier: Readonly<Record<string, number>>;
  /** What adapters may ask for, by the name of the variable: keys, base addresses and prices of local servers. */
  readonly vendorEnv: Readonly<Record<string, string>>;
  /** Made of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly proxies: Proxies;
  /** The names of all variables that are set, whichever part reads them, so that a mistyped one can be told. */
  readonly namesSet: readonly string[];
  /** What is in force as people may see it. */
  readonly effective: readonly EffectiveSetting[];
};

export type Environment = Readonly<Record<string, string | undefined>>;

const VENDOR =
  /^(?!ADMIN_|FILES_|OIDC_|X402_)[A-Z0-9][A-Z0-9_]*_(API_KEY|API_TOKEN|API_SECRET|SECRET_KEY|TOKEN(?:_[A-Z]+)?|KEY|USERNAME|PASSWORD|BASE_URL|MODEL|ACCOUNT_ID|ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|TENANT_ID|CLIENT_ID|CLIENT_SECRET|CREDENTIALS|REGION|LOCATION|PROJECT|PROJECT_ID|TEAM_ID|RESOURCE|SCOPE|STORAGE_NAME|API_VERSION|DEPLOYMENTS|PAY_TO|PROMPT_USD_PER_MILLION|COMPLETION_USD_PER_MILLION)$/;
/** Those of them that are no secret. */
const PLAIN =
  /_(USERNAME|BASE_URL|MODEL|ACCOUNT_ID|REGION|LOCATION|PROJECT|PROJECT_ID|TEAM_ID|RESOURCE|SCOPE|STORAGE_NAME|API_VERSION|DEPLOYMENTS|PAY_TO|PROMPT_USD_PER_MILLION|COMPLETION_USD_PER_MILLION)$/;
const TIER_CLOCK = /^FIRST_TOKEN_SECONDS_([A-Z0-9_]+)$/;

const HEADER_BYTES_MAX = "16384";

/**
 * Sets what native modules read from the environment when they load: call it before anything listens. A value that the
 * operator set stays.
 */
export function prepareEnvironment(): void {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ||= HEADER_BYTES_MAX;
}

/** An empty variable is as good as none: that is how compose files leave settings out. */
function present(env: Environment): [name: string, value: string][] {
  return Object.entries(env).flatMap(([name, value]) => (value ? [[name, value] as [string, string]] : []));
}

/** The variable that a setting is read from. */
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

/** Whether this process may do what no call asks for, such as running jobs; else another one over the same store does. */
export function doesWork({ role }: Pick<Config, "role">): boolean {
  return role !== "serve";
}

/**
 * What only a start asks of the settings: tools open the same stores without it. Throws ConfigError where they would make
 * processes that refuse each other's links and seals.
 */
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

/** Reads the environment. Throws ConfigError naming the first setting that does not parse. */
export function readConfig(env: Environment = process.env): Config {
  const values = Object.entries(SETTINGS).map(([key, row]) => [key, parse<unknown>(row, env)]);
  const tiers = present(env).flatMap(([name]) => {
    const tier = TIER_CLOCK.exec(name)?.[1];
    if (tier === undefined) return [];
    const ms = parse(setting(name, "", seconds(3_600), ""), env);
    return [[tier.toLowerCase().replaceAll("_", "-"), ms]];
  });
  const config = Object.fromEntries(values) as Config;
  if (config.oidcIssuer !== null && config.oidcClientId === null)
    throw new ConfigError("OIDC_CLIENT_ID: is needed with OIDC_ISSUER");
  if (config.oidcIssuer !== null && !config.oauth) throw new ConfigError("OAUTH: 1 is needed with OIDC_ISSUER");
  if (config.oidcOperators !== null && config.oidcIssuer === null)
    throw new ConfigError("OIDC_ISSUER: is needed with OIDC_OPERATORS");
  if (config.oidcOperators !== null && !config.pages) throw new ConfigError("PAGES: 1 is needed with OIDC_OPERATORS");
  if (config.x402PayTo !== null) checkFacilitator(config);
  if (config.x402Sandbox && !config.sandbox) throw new ConfigError("SANDBOX: is needed with X402_SANDBOX");
  const buckets = [
    [SETTINGS.filesS3Endpoint, SETTINGS.filesS3Bucket, SETTINGS.filesS3AccessKeyId, SETTINGS.filesS3SecretAccessKey],
    [
      SETTINGS.requestLogS3Endpoint,
      SETTINGS.requestLogS3Bucket,
      SETTINGS.requestLogS3AccessKeyId,
      SETTINGS.requestLogS3SecretAccessKey,
    ],
  ] as const;
  for (const [endpoint, ...rest] of buckets) {
    const missing = env[endpoint.name] ? rest.find(({ name }) => !env[name]) : undefined;
    if (missing !== undefined) throw new ConfigError(`${missing.name}: is needed with ${endpoint.name}`);
  }
  return Object.freeze({
    ...config,
    proxies: createProxies(config.httpsProxy, config.httpProxy, config.noProxy),
    firstTokenMsMaxByTier: Object.freeze(Object.fromEntries(tiers)),
    vendorEnv: Object.freeze(Object.fromEntries(present(env).filter(([name]) => VENDOR.test(name)))),
    namesSet: Object.freeze(present(env).flatMap(([name]) => (TIER_CLOCK.test(name) ? [] : [name]))),
    effective: Object.freeze(effectiveSettings(env)),
  });
}

/** The wallets' private keys, taken out of the environment, which processes that are started later would get a copy of. */
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

function checkFacilitator({ x402FacilitatorUrl: url, x402FacilitatorKey: key, x402RpcUrl: node }: Config): void {
  if (url === null && key === null)
    throw new ConfigError("X402_FACILITATOR_URL: it or X402_FACILITATOR_PRIVATE_KEY is needed with X402_PAY_TO");
  if (url !== null && key !== null)
    throw new ConfigError("X402_FACILITATOR_PRIVATE_KEY: is in the place of X402_FACILITATOR_URL, not beside it");
  if (key !== null && node === null) throw new ConfigError("X402_RPC_URL: is needed with X402_FACILITATOR_PRIVATE_KEY");
}

export interface SettingDoc {
  readonly name: string;
  readonly default: string;
  readonly meaning: string;
}

/** The table of settings, for people. */
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
  /** Secrets are only said to be set. */
  readonly value: string;
  readonly from: "environment" | "default";
}

/** What is in force, for people; secrets are masked. Does not check. */
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
