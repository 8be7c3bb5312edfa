// Our own requests to one host are few: two at once and five a second, whoever asks for them.
import type { Clock } from "../../clock.ts";

const AT_ONCE = 2;
const APART_MS = 200;
/** Hosts that nobody has asked lately are forgotten beyond so many. */
const HOSTS_MAX = 10_000;

interface Host {
  running: number;
  /** On `clock.elapsedMs()`. */
  nextMs: number;
  readonly waiting: (() => void)[];
}

export interface HostPace {
  /** Waits for this host's turn; `release` is to be called once. Null: the turn has not come before the signal or `msMax`. */
  enter(host: string, bounds: { readonly msMax: number; readonly signal: AbortSignal }): Promise<(() => void) | null>;
}

export function createHostPace(clock: Clock): HostPace {
  const hosts = new Map<string, Host>();

  function hostOf(name: string): Host {
    const known = hosts.get(name);
    if (known !== undefined) return known;
    if (hosts.size >= HOSTS_MAX) forget();
    const host: Host = { running: 0, nextMs: 0, waiting: [] };
    hosts.set(name, host);
    return host;
  }

  function forget(): void {
    const nowMs = clock.elapsedMs();
    for (const [name, { running, waiting, nextMs }] of hosts) {
      if (running === 0 && waiting.length === 0 && nextMs <= nowMs) hosts.delete(name);
    }
  }

  /** Lets in whoever is next, where there is room. */
  function admit(host: Host): void {
    if (host.running >= AT_ONCE) return;
    const go = host.waiting.shift();
    if (go === undefined) return;
    host.running += 1;
    go();
    admit(host);
  }

  return {
    async enter(name, { msMax, signal }) {
      if (signal.aborted) return null;
      const host = hostOf(name);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const go = () => resolve(true);
      const giveUp = () => {
        const at = host.waiting.indexOf(go);
        if (at < 0) return;
        host.waiting.splice(at, 1);
        resolve(false);
      };
      host.waiting.push(go);
      const timer = setTimeout(giveUp, msMax);
      signal.addEventListener("abort", giveUp, { once: true });
      admit(host);
      const isIn = await promise;
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      if (!isIn) return null;
      const nowMs = clock.elapsedMs();
      const startMs = Math.max(nowMs, host.nextMs);
      host.nextMs = startMs + APART_MS;
      if (startMs > nowMs) await new Promise((resolve) => setTimeout(resolve, startMs - nowMs));
      let isOut = false;
      return () => {
        if (isOut) return;
        isOut = true;
        host.running -= 1;
        admit(host);
      };
    },
  };
}

/** Where nobody has to be spared: everybody's turn comes at once. */
export const NO_PACE: HostPace = { enter: async (_, { signal }) => (signal.aborted ? null : () => {}) };
