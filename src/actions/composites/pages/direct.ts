// The first rung: our own fetch of a page. It is polite to every host and obeys its robots.txt.
import type { InnerCalls } from "../../../catalog/local-action.ts";
import { wholeOf } from "../../../core/chunk-list.ts";
import type { Clock } from "../../../core/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { FailureKind } from "../../../core/failures.ts";
import type { PublicAnswer } from "../../../upstream/public-fetch.ts";
import { TooLarge } from "../../../upstream/public-trouble.ts";
import { PAGE_BYTES_MAX, type PageReading } from "./extractor.ts";
import type { HostPace } from "./host-pace.ts";
import type { PageBytes } from "./page-tasks.ts";
import { type Robots, robotsAsker } from "./robots.ts";

export const DIRECT_MS_MAX = 8_000;
const TURN_MS_MAX = 10_000;
/** RFC 9309, 2.5: at least 500 KiB are read. */
const ROBOTS_BYTES_MAX = 524_288;
const ROBOTS_MS_MAX = 4_000;
/** As long as for a page: on a busy machine, starting the reading thread takes most of it. */
const ROBOTS_READ_MS_MAX = 20_000;
const ROBOTS_KEPT_MS = 3_600_000;
/** A robots.txt that could not be fetched is tried again after this long. */
const NO_ROBOTS_KEPT_MS = 60_000;
const ROBOTS_KEPT_MAX = 2_000;
/** A bound on all kept rules together, because one person may own any number of hosts. */
const ROBOTS_KEPT_CHARS_MAX = 8 * 1_048_576;
/** The overhead of a rule, in characters. */
const RULE_CHARS = 100;
export const ROBOT_NAME = "Tollgate";

export interface DirectBounds {
  readonly bytesMax: number;
  readonly msMax: number;
  readonly signal: AbortSignal;
  /** Called for the first address and each redirect; an error ends the fetch. */
  readonly onHop: (url: URL) => Promise<GatewayError | null>;
}

/** Fetches a public address, or returns why not. */
export type OpenPage = (url: string, bounds: DirectBounds) => Promise<PublicAnswer | GatewayError>;

export type DirectAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly finalUrl: string; readonly page: PageBytes }
  /** `off` and `time` come only from the sandbox's addresses. */
  | { readonly kind: "skipped"; readonly why: "robots" | "busy" | "off" | "time" }
  /** It is not public, breaks off, or is too large or too slow. */
  | { readonly kind: "failed"; readonly why: string };

export interface Direct {
  /** `reading`: the threads that read what the host's robots.txt says, for the account that asks. */
  fetch(url: string, reading: PageReading, signal: AbortSignal): Promise<DirectAnswer>;
}

/** The fetch as a free leg of a call, whose id can be cited. */
export interface DirectLeg {
  fetch(url: string, signal: AbortSignal): Promise<{ readonly answer: DirectAnswer; readonly id: string | null }>;
}

export const OWN_FETCH = "fetch";
const LEG = `direct/${OWN_FETCH}`;

/** A page's server is not a provider: another rung may read it. A page that robots.txt forbids has cost a request too. */
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
  /** The size of its rules; 0 until they are read. */
  chars: number;
  /** Null: the account that asked first had no room in the reading threads. */
  readonly allows: Promise<Allows | null>;
}

/** All bytes in a buffer of their own, which can be transferred to a thread. */
const bytesOf = async (body: AsyncIterable<Uint8Array>) => new Uint8Array(await wholeOf(body));

type Allows = (url: string) => boolean;

interface ReadRules {
  readonly allows: Allows;
  readonly chars: number;
}

const EVERYTHING: ReadRules = { allows: () => true, chars: 0 };
const NOTHING: ReadRules = { allows: () => false, chars: 0 };

function charsOf(robots: Robots): number {
  return robots === "nothing" ? 0 : robots.rules.reduce((sum, { pattern }) => sum + pattern.length + RULE_CHARS, 0);
}

/** The robots.txt rules of hosts, kept for an hour and bounded in number and size. */
class RobotsRules {
  readonly #open: OpenPage;
  readonly #clock: Clock;
  readonly #known = new Map<string, Rules>();
  #keptChars = 0;

  constructor({ open, clock }: Pick<DirectOptions, "open" | "clock">) {
    this.#open = open;
    this.#clock = clock;
  }

  /** Null: there is no room to read them just now. */
  async of(origin: string, reading: PageReading): Promise<Allows | null> {
    for (;;) {
      const rules = this.#known.get(origin);
      if (rules === undefined || rules.untilMs <= this.#clock.elapsedMs()) return this.#fresh(origin, reading);
      const allows = await rules.allows;
      if (allows !== null) return allows;
      // The first account had no room. That result is not kept, and this account may have room.
    }
  }

  #forget(origin: string): void {
    this.#keptChars -= this.#known.get(origin)?.chars ?? 0;
    this.#known.delete(origin);
  }

  #forgetOldest(): void {
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#forget(oldest);
  }

  /** RFC 9309, 2.3.1: a missing file allows everything, and an unreachable one forbids it. */
  async #read(origin: string, reading: PageReading): Promise<ReadRules | "busy"> {
    const signal = AbortSignal.timeout(ROBOTS_MS_MAX);
    const bounds = { bytesMax: ROBOTS_BYTES_MAX, msMax: ROBOTS_MS_MAX, signal, onHop: async () => null };
    const answer = await this.#open(`${origin}/robots.txt`, bounds);
    // If the host is not public, fetching the page fails too, and the caller gets that error.
    if (answer instanceof GatewayError)
      return answer.code === "bad_url" && !(answer instanceof TooLarge) ? EVERYTHING : NOTHING;
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

  #fresh(origin: string, reading: PageReading): Promise<Allows | null> {
    const nowMs = this.#clock.elapsedMs();
    this.#forget(origin);
    if (this.#known.size >= ROBOTS_KEPT_MAX) this.#forgetOldest();
    const allows = this.#read(origin, reading).then((read) => {
      const isKept = this.#known.get(origin) === fresh;
      if (read === "busy") {
        if (isKept) this.#forget(origin);
        return null;
      }
      if (read === NOTHING) fresh.untilMs = nowMs + NO_ROBOTS_KEPT_MS;
      if (isKept) {
        fresh.chars = read.chars;
        this.#keptChars += read.chars;
        while (this.#keptChars > ROBOTS_KEPT_CHARS_MAX) this.#forgetOldest();
      }
      return read.allows;
    });
    const fresh: Rules = { untilMs: nowMs + ROBOTS_KEPT_MS, chars: 0, allows };
    this.#known.set(origin, fresh);
    return allows;
  }
}

export function createDirect({ open, pace, clock, obeysRobots }: DirectOptions): Direct {
  const rules = new RobotsRules({ open, clock });
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
        const allows = await rules.of(target.origin, reading);
        if (allows === null) why = "busy";
        else if (!allows(target.href)) why = "robots";
        return why === null;
      };
      // Apply the same rules to redirects.
      const onHop = async (target: URL) => ((await enter(target)) ? null : new GatewayError("upstream_error"));
      try {
        // Waiting for a turn does not count as the page's time.
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
