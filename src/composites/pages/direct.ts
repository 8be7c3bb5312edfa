// The first rung: our own fetch of a page, with no vendor. Polite to every host, and obedient to what its robots.txt says.
import robotsParser from "robots-parser";
import type { InnerCalls } from "../../catalog/local-action.ts";
import type { Clock } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import type { FailureKind } from "../../failures.ts";
import type { PublicAnswer } from "../../upstream/public-fetch.ts";
import type { HostPace } from "./host-pace.ts";

const PAGE_BYTES_MAX = 5 * 1_048_576;
export const DIRECT_MS_MAX = 8_000;
const TURN_MS_MAX = 10_000;
/** RFC 9309, 2.5: at least 500 KiB are read. */
const ROBOTS_BYTES_MAX = 524_288;
const ROBOTS_MS_MAX = 4_000;
const ROBOTS_KEPT_MS = 3_600_000;
/** One that could not be had is asked for again. */
const NO_ROBOTS_KEPT_MS = 60_000;
const ROBOTS_KEPT_MAX = 2_000;
/** Of all that are kept together: read, they take some ten times as much, and anybody has as many hosts as he likes. */
const ROBOTS_KEPT_CHARS_MAX = 8 * 1_048_576;
/**
 * A pattern with a star is tried from every character of an address, on the event loop: so many characters of such lines times
 * those of an address take some 50 ms. A file with more of them was made to stop us.
 */
const ROBOTS_STEPS_MAX = 10_000_000;
/** What robots.txt files may call us. */
export const ROBOT_NAME = "Tollgate";

export interface DirectBounds {
  readonly bytesMax: number;
  readonly msMax: number;
  readonly signal: AbortSignal;
  /** Asked for the first address and for that of each redirect; an error ends the fetch there. */
  readonly onHop: (url: URL) => Promise<GatewayError | null>;
}

/** Fetches a public address, or says why not. */
export type OpenPage = (url: string, bounds: DirectBounds) => Promise<PublicAnswer | GatewayError>;

export type DirectAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly finalUrl: string;
      readonly contentType: string;
      readonly body: string;
    }
  | { readonly kind: "skipped"; readonly why: "robots" | "busy" }
  /** It cannot be read so: it leads inside, breaks off, is too large or too slow. */
  | { readonly kind: "failed"; readonly why: string };

export interface Direct {
  fetch(url: string, signal: AbortSignal): Promise<DirectAnswer>;
}

/** The fetch as a call that it is made for has it: a leg that costs nothing, whose id can be cited. */
export interface DirectLeg {
  fetch(url: string, signal: AbortSignal): Promise<{ readonly answer: DirectAnswer; readonly id: string | null }>;
}

/** What our own fetch is called where others name their action. */
export const OWN_FETCH = "fetch";
/** Its name among the legs. */
const LEG = `direct/${OWN_FETCH}`;

/**
 * Whatever a page's own server does is no fault of a provider's: another rung may read it. For a page that robots.txt forbids somebody
 * was asked as well.
 */
function outcomeOf(answer: DirectAnswer): "answered" | "not_made" | FailureKind {
  if (answer.kind === "answer") return "answered";
  return answer.kind === "skipped" && answer.why === "busy" ? "not_made" : "caller_unsupported";
}

export function directLeg(direct: Direct, calls: Pick<InnerCalls, "own">): DirectLeg {
  return {
    async fetch(url, signal) {
      const { id, done } = await calls.own({ name: LEG, run: () => direct.fetch(url, signal), outcome: outcomeOf });
      return { id, answer: done };
    },
  };
}

export interface DirectOptions {
  readonly open: OpenPage;
  readonly pace: HostPace;
  readonly clock: Clock;
  readonly obeysRobots: boolean;
}

/** The package's types say that it has a default export; it is one. */
const readRobots = robotsParser as unknown as (
  url: string,
  text: string,
) => { isAllowed(url: string, name: string): boolean | undefined };

interface Rules {
  /** On `clock.elapsedMs()`. */
  untilMs: number;
  /** Of the file; 0 until it has come. */
  chars: number;
  readonly allows: Promise<(url: string) => boolean>;
}

/** By the header, else by what the first bytes say of themselves. */
function charsetOf(contentType: string, bytes: Buffer): string {
  const named = /charset\s*=\s*["']?([\w.:-]+)/i;
  const inHead = named.exec(contentType) ?? named.exec(bytes.subarray(0, 2_048).toString("latin1"));
  return inHead?.[1] ?? "utf-8";
}

function decode(bytes: Buffer, contentType: string): string {
  try {
    return new TextDecoder(charsetOf(contentType, bytes)).decode(bytes);
  } catch {
    // A name that nobody knows.
    return new TextDecoder().decode(bytes);
  }
}

async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

/** The characters of all lines of a robots.txt that have a star in their pattern. */
function starredChars(text: string): number {
  let chars = 0;
  for (const line of text.split(/[\r\n]+/)) if (/^\s*(?:dis)?allow\s*:.*\*/i.test(line)) chars += line.length;
  return chars;
}

/** What a robots.txt says, and how long it is. */
interface ReadRules {
  readonly allows: (url: string) => boolean;
  readonly chars: number;
}

const EVERYTHING: ReadRules = { allows: () => true, chars: 0 };
const NOTHING: ReadRules = { allows: () => false, chars: 0 };

export function createDirect({ open, pace, clock, obeysRobots }: DirectOptions): Direct {
  const known = new Map<string, Rules>();
  let keptChars = 0;

  function forget(origin: string): void {
    keptChars -= known.get(origin)?.chars ?? 0;
    known.delete(origin);
  }

  function forgetOldest(): void {
    const [oldest] = known.keys();
    if (oldest !== undefined) forget(oldest);
  }

  /** RFC 9309, 2.3.1: no such file allows everything, and one that cannot be had now forbids it. */
  async function readRules(origin: string): Promise<ReadRules> {
    const address = `${origin}/robots.txt`;
    const signal = AbortSignal.timeout(ROBOTS_MS_MAX);
    const bounds = { bytesMax: ROBOTS_BYTES_MAX, msMax: ROBOTS_MS_MAX, signal, onHop: async () => null };
    const answer = await open(address, bounds);
    // Where it leads nowhere public, the page does not either, and that is what is told.
    if (answer instanceof GatewayError) return answer.code === "bad_url" ? EVERYTHING : NOTHING;
    try {
      const bytes = await bytesOf(answer.body);
      if (answer.status >= 500) return NOTHING;
      if (answer.status >= 400) return EVERYTHING;
      const text = bytes.toString("utf8");
      const starred = starredChars(text);
      const robots = readRobots(address, text);
      const allows = (url: string) =>
        starred * url.length <= ROBOTS_STEPS_MAX && robots.isAllowed(url, ROBOT_NAME) !== false;
      return { allows, chars: text.length };
    } catch {
      return NOTHING;
    }
  }

  function rulesOf(origin: string): Promise<(url: string) => boolean> {
    const nowMs = clock.elapsedMs();
    const rules = known.get(origin);
    if (rules !== undefined && rules.untilMs > nowMs) return rules.allows;
    forget(origin);
    if (known.size >= ROBOTS_KEPT_MAX) forgetOldest();
    const reading = readRules(origin);
    const fresh: Rules = { untilMs: nowMs + ROBOTS_KEPT_MS, chars: 0, allows: reading.then(({ allows }) => allows) };
    known.set(origin, fresh);
    void reading.then((read) => {
      if (read === NOTHING) fresh.untilMs = nowMs + NO_ROBOTS_KEPT_MS;
      if (known.get(origin) !== fresh) return;
      fresh.chars = read.chars;
      keptChars += read.chars;
      while (keptChars > ROBOTS_KEPT_CHARS_MAX) forgetOldest();
    });
    return fresh.allows;
  }

  return {
    async fetch(url, signal) {
      const releases: (() => void)[] = [];
      const hosts = new Set<string>();
      let why: "robots" | "busy" | null = null;
      const enter = async (target: URL): Promise<boolean> => {
        if (!hosts.has(target.host)) {
          const release = await pace.enter(target.host, { msMax: TURN_MS_MAX, signal });
          if (release === null) why = "busy";
          else releases.push(release);
          hosts.add(target.host);
        }
        if (why === null && obeysRobots && !(await rulesOf(target.origin))(target.href)) why = "robots";
        return why === null;
      };
      // Wherever it is sent on to is asked as politely.
      const onHop = async (target: URL) => ((await enter(target)) ? null : new GatewayError("upstream_error"));
      try {
        // Waiting for its turn is no part of the time that a page may take.
        if (!(await enter(new URL(url)))) return { kind: "skipped", why: why ?? "busy" };
        const answer = await open(url, { bytesMax: PAGE_BYTES_MAX, msMax: DIRECT_MS_MAX, signal, onHop });
        if (why !== null) return { kind: "skipped", why };
        if (answer instanceof GatewayError) return { kind: "failed", why: answer.message };
        const contentType = answer.headers["content-type"] ?? "";
        const { status, finalUrl } = answer;
        const body = decode(await bytesOf(answer.body), contentType);
        return { kind: "answer", status, finalUrl, contentType, body };
      } catch (error) {
        return { kind: "failed", why: error instanceof Error ? error.message : String(error) };
      } finally {
        for (const release of releases) release();
      }
    },
  };
}
