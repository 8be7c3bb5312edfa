// The first rung: our own fetch of a page, with no vendor. Polite to every host, and obedient to what its robots.txt says.
import type { InnerCalls } from "../../../catalog/local-action.ts";
import type { Clock } from "../../../core/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { FailureKind } from "../../../core/failures.ts";
import type { PublicAnswer } from "../../../upstream/public-fetch.ts";
import { PAGE_BYTES_MAX, type PageReading } from "./extractor.ts";
import type { HostPace } from "./host-pace.ts";
import type { PageBytes } from "./page-tasks.ts";
import { type Robots, robotsAsker } from "./robots.ts";

export const DIRECT_MS_MAX = 8_000;
const TURN_MS_MAX = 10_000;
/** RFC 9309, 2.5: at least 500 KiB are read. */
const ROBOTS_BYTES_MAX = 524_288;
const ROBOTS_MS_MAX = 4_000;
/** As long as a page's rung may take: on a busy machine a thread that reads it needs most of that to start. */
const ROBOTS_READ_MS_MAX = 20_000;
const ROBOTS_KEPT_MS = 3_600_000;
/** One that could not be had is asked for again. */
const NO_ROBOTS_KEPT_MS = 60_000;
const ROBOTS_KEPT_MAX = 2_000;
/** Characters of the rules of all that are kept together: anybody may have as many hosts as they like. */
const ROBOTS_KEPT_CHARS_MAX = 8 * 1_048_576;
/** What a rule takes beside its characters, as if it were some more of them. */
const RULE_CHARS = 100;
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
      readonly page: PageBytes;
    }
  /** `off` and `time` are what addresses of the sandbox show; elsewhere our fetch is not asked then. */
  | { readonly kind: "skipped"; readonly why: "robots" | "busy" | "off" | "time" }
  /** It cannot be read so: it leads inside, breaks off, is too large or too slow. */
  | { readonly kind: "failed"; readonly why: string };

export interface Direct {
  /** `reading`: the threads that read what the host's robots.txt says, for the account that asks. */
  fetch(url: string, reading: PageReading, signal: AbortSignal): Promise<DirectAnswer>;
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
 * Whatever a page's own server does is no fault of a provider's: another rung may read it. For a page that robots.txt forbids a request
 * was asked as well.
 */
function outcomeOf(answer: DirectAnswer): "answered" | "not_made" | FailureKind {
  if (answer.kind === "answer") return "answered";
  return answer.kind === "skipped" && answer.why !== "robots" ? "not_made" : "caller_unsupported";
}

export function directLeg(direct: Direct, reading: PageReading, calls: Pick<InnerCalls, "own">): DirectLeg {
  return {
    async fetch(url, signal) {
      const run = () => direct.fetch(url, reading, signal);
      const { id, done } = await calls.own({ name: LEG, run, outcome: outcomeOf });
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

interface Rules {
  /** On `clock.elapsedMs()`. */
  untilMs: number;
  /** Of its rules; 0 until they have been read. */
  chars: number;
  /** Null: the account that asked first had no room in the threads, which says nothing of the host. */
  readonly allows: Promise<Allows | null>;
}

/** All bytes, in memory of their own, so that they can be handed to a thread. */
async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    parts.push(part);
    size += part.length;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

type Allows = (url: string) => boolean;

/** What a robots.txt says, and how long its rules are. */
interface ReadRules {
  readonly allows: Allows;
  readonly chars: number;
}

const EVERYTHING: ReadRules = { allows: () => true, chars: 0 };
const NOTHING: ReadRules = { allows: () => false, chars: 0 };

function charsOf(robots: Robots): number {
  return robots === "nothing" ? 0 : robots.rules.reduce((sum, { pattern }) => sum + pattern.length + RULE_CHARS, 0);
}

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
  async function readRules(origin: string, reading: PageReading): Promise<ReadRules | "busy"> {
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
      const patience = AbortSignal.timeout(ROBOTS_READ_MS_MAX);
      const robots = await reading.robots(bytes, ROBOT_NAME, patience);
      if (robots === "busy" || (robots === null && patience.aborted)) return "busy";
      if (robots === null) return NOTHING;
      return { allows: robotsAsker(robots), chars: charsOf(robots) };
    } catch {
      return NOTHING;
    }
  }

  /** Null: there is no room to read it just now. */
  async function rulesOf(origin: string, reading: PageReading): Promise<Allows | null> {
    for (;;) {
      const rules = known.get(origin);
      if (rules === undefined || rules.untilMs <= clock.elapsedMs()) return freshRules(origin, reading);
      const allows = await rules.allows;
      if (allows !== null) return allows;
      // The account that asked first had no room of its own: that is not kept, and this account may have some.
    }
  }

  function freshRules(origin: string, reading: PageReading): Promise<Allows | null> {
    const nowMs = clock.elapsedMs();
    forget(origin);
    if (known.size >= ROBOTS_KEPT_MAX) forgetOldest();
    const allows = readRules(origin, reading).then((read) => {
      const isKept = known.get(origin) === fresh;
      if (read === "busy") {
        if (isKept) forget(origin);
        return null;
      }
      if (read === NOTHING) fresh.untilMs = nowMs + NO_ROBOTS_KEPT_MS;
      if (isKept) {
        fresh.chars = read.chars;
        keptChars += read.chars;
        while (keptChars > ROBOTS_KEPT_CHARS_MAX) forgetOldest();
      }
      return read.allows;
    });
    const fresh: Rules = { untilMs: nowMs + ROBOTS_KEPT_MS, chars: 0, allows };
    known.set(origin, fresh);
    return allows;
  }

  return {
    async fetch(url, reading, signal) {
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
        if (why !== null || !obeysRobots) return why === null;
        const allows = await rulesOf(target.origin, reading);
        if (allows === null) why = "busy";
        else if (!allows(target.href)) why = "robots";
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
        const page = { bytes: await bytesOf(answer.body), contentType };
        return { kind: "answer", status, finalUrl, page };
      } catch (error) {
        return { kind: "failed", why: error instanceof Error ? error.message : String(error) };
      } finally {
        for (const release of releases) release();
      }
    },
  };
}
