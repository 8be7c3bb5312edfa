// Limits our own requests to one host to two at once and five a second, for all callers and processes together.
import { type Clock, pause } from "../../../core/clock.ts";
import { getOrMake } from "../../../core/maps.ts";
import { Places } from "../../../core/places.ts";
import type { Records } from "../../../platform/records/records.ts";

const AT_ONCE = 2;
const APART_MS = 200;
/** Beyond this many, idle hosts are forgotten. */
const HOSTS_MAX = 10_000;

interface Host {
  readonly places: Places;
  /** On `clock.elapsedMs()`. */
  nextMs: number;
}

export interface HostPace {
  /** Waits for a turn at this host; call `release` once. Null where no turn came before the signal or `msMax`. */
  enter(host: string, bounds: { readonly msMax: number; readonly signal: AbortSignal }): Promise<(() => void) | null>;
}

export function createHostPace(clock: Clock): HostPace {
  const hosts = new Map<string, Host>();

  function forget(): void {
    const nowMs = clock.elapsedMs();
    for (const [name, { places, nextMs }] of hosts) if (places.isIdle && nextMs <= nowMs) hosts.delete(name);
  }

  return {
    async enter(name, { msMax, signal }) {
      const host = getOrMake(hosts, name, () => {
        if (hosts.size >= HOSTS_MAX) forget();
        return { places: new Places(AT_ONCE), nextMs: 0 };
      });
      if (!(await host.places.enter("", AbortSignal.any([signal, AbortSignal.timeout(msMax)])))) return null;
      const nowMs = clock.elapsedMs();
      const startMs = Math.max(nowMs, host.nextMs);
      host.nextMs = startMs + APART_MS;
      if (startMs > nowMs) await pause(startMs - nowMs, signal);
      let isOut = false;
      return () => {
        if (!isOut) host.places.leave();
        isOut = true;
      };
    },
  };
}

/** The record of one concurrent request to a host; expires if its process dies. */
const PLACE = "host-place";
/** Longer than a page, its redirects and their robots.txt may take. */
const PLACE_MS = 60_000;
/** The record of a request just sent to the host. */
const TURN = "host-turn";
/** Between two checks of other processes' records. */
const LOOK_MS = 50;

/** One pace for all processes that share these records; while the store is away, each process keeps its own. */
export function sharedPace(own: HostPace, records: Pick<Records, "put" | "delete">, clock: Clock): HostPace {
  const take = async (kind: string, id: string, ttlMs: number): Promise<boolean> =>
    (await records.put({ kind, id, payer: null, value: "", ttlMs, ifVersion: 0 })) !== null;

  async function takePlace(host: string): Promise<string | null> {
    for (let at = 0; at < AT_ONCE; at++) if (await take(PLACE, `${host}/${at}`, PLACE_MS)) return `${host}/${at}`;
    return null;
  }

  return {
    async enter(host, { msMax, signal }) {
      const untilMs = clock.elapsedMs() + msMax;
      const leave = await own.enter(host, { msMax, signal });
      if (leave === null) return null;
      let place: string | null = null;
      const release = () => {
        leave();
        // A record that is not deleted expires.
        if (place !== null) void records.delete(PLACE, place).catch(() => {});
      };
      try {
        for (;;) {
          place ??= await takePlace(host);
          if (place !== null && (await take(TURN, host, APART_MS))) return release;
          if (signal.aborted || clock.elapsedMs() + LOOK_MS > untilMs) break;
          await pause(LOOK_MS, signal);
        }
      } catch {
        return release;
      }
      release();
      return null;
    },
  };
}

/** For hosts that need no sparing: every turn comes at once. */
export const NO_PACE: HostPace = { enter: async (_, { signal }) => (signal.aborted ? null : () => {}) };
