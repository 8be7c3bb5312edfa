// How composites read pages: our own fetcher, live and in the sandbox, and the threads that extract text.

import { createDirect, type Direct, directLeg, type OpenPage, ROBOT_NAME } from "../actions/composites/pages/direct.ts";
import { createExtractor } from "../actions/composites/pages/extractor.ts";
import { createHostPace, type HostPace, NO_PACE, sharedPace } from "../actions/composites/pages/host-pace.ts";
import type { PageParts } from "../actions/composites/pages/parts.ts";
import type { InnerCalls } from "../catalog/local-action.ts";
import type { PageLadderSpec } from "../catalog/page-ladder.ts";
import { pause, systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { VERSION } from "../core/version.ts";
import { challenges, isPaid } from "../sandbox/asks-payment.ts";
import { sandboxBounds, sandboxPage } from "../sandbox/pages.ts";
import { createPublicFetch, type PublicFetch } from "../upstream/public-fetch.ts";
import { badUrl } from "../upstream/public-trouble.ts";
import { readPublicUrl } from "../upstream/public-url.ts";
import type { Foundation } from "./open-foundation.ts";

/** The tier that defines how pages are read. */
const LADDER = "onescrape";

/** The sandbox's pages, served without any network. */
const openSandboxPage: OpenPage = async (address, { signal, msMax }) => {
  const url = new URL(address);
  const { status, type, body, afterMs } = sandboxPage(url);
  const waitMs = afterMs ?? msMax;
  if (waitMs > 0) await pause(Math.min(waitMs, msMax), signal);
  if (afterMs === null || signal.aborted) {
    return new GatewayError("upstream_error", { detail: "the page took too long" });
  }
  return { status, headers: { "content-type": type }, finalUrl: url.href, body: once(Buffer.from(body)) };
};

/** Our own fetcher in the sandbox: skips the pages whose address says so. */
function sandboxDirect(direct: Direct): Direct {
  return {
    async fetch(url, reading, signal) {
      const { passedOver } = sandboxBounds(new URL(url));
      return passedOver === null ? direct.fetch(url, reading, signal) : { kind: "skipped", why: passedOver };
    },
  };
}

/** Sandbox calls: refused for pages whose address simulates an exhausted budget. */
function sandboxCall(calls: Pick<InnerCalls, "call">): InnerCalls["call"] {
  return async (wanted) => {
    const { url, urls = [url] } = wanted.params;
    const asked = Array.isArray(urls) ? urls : [];
    const isCostly = asked.some(
      (one) => typeof one === "string" && URL.canParse(one) && sandboxBounds(new URL(one)).isCostly,
    );
    return isCostly ? { ok: false, id: "", error: new GatewayError("over_budget"), ms: 0 } : calls.call(wanted);
  };
}

const PAID_PAGE_CENTS = 1;

/** The sandbox's pages for core/fetch: those below /paid require payment. */
export const askSandboxPage: PublicFetch["open"] = async (address, limits) => {
  const read = readPublicUrl(address, () => false);
  if (typeof read === "string") return badUrl(read);
  const { url } = read;
  const { signal = new AbortController().signal, bytesMax, msMax, send } = limits;
  const isAsked = /^\/paid(\/|$)/.test(url.pathname) && !isPaid(send?.headers ?? {});
  if (!isAsked) return openSandboxPage(url.href, { bytesMax, msMax, signal, onHop: async () => null });
  const headers = { "content-type": "text/plain", ...challenges(PAID_PAGE_CENTS, ["x402"], url) };
  return { status: 402, headers, finalUrl: url.href, body: once(Buffer.from("This page has to be paid.")) };
};

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Pages for composites: live ones by our own fetcher, and those of the sandbox. */
export function openPages({ options, config, stores, catalog, opened }: Foundation): PageParts {
  const { internet = {} } = options;
  const clock = systemClock;
  const extractor = createExtractor();
  opened.add(() => extractor.close());
  const contact = config.contact === null ? "" : ` (${config.contact})`;
  const publicFetch = createPublicFetch({ userAgent: `${ROBOT_NAME}/${VERSION}${contact}`, ...internet });
  opened.add(() => publicFetch.close());
  const directOf = (open: OpenPage, pace: HostPace): Direct | null =>
    config.directFetch ? createDirect({ open, pace, clock, obeysRobots: config.robots }) : null;
  const ownPace = createHostPace(clock);
  const pace = stores.shared ? sharedPace(ownPace, stores.records, clock) : ownPace;
  const live = directOf(publicFetch.open, pace);
  // All accounts share the sandbox's hosts, so no account should wait there for another.
  const inSandbox = directOf(openSandboxPage, NO_PACE);
  const sandbox = inSandbox === null ? null : sandboxDirect(inSandbox);
  return {
    clock,
    ladder(): PageLadderSpec {
      const ladder = catalog.current().compositeTiers.get(LADDER);
      if (ladder?.kind !== "page-ladder") throw new Error(`tiers/${LADDER}.ts is no ladder of pages`);
      return ladder;
    },
    mayUsePort: (port) => (internet.allowForTests ?? []).some((pair) => pair.endsWith(`:${port}`)),
    reading: ({ id }) => extractor.of(id),
    readsDirectly: config.directFetch,
    rungParts(payer, ladder, calls) {
      const direct = payer.sandbox ? sandbox : live;
      return {
        direct: direct === null ? null : directLeg(direct, extractor.of(payer.id), calls),
        reading: extractor.of(payer.id),
        ladder,
        call: payer.sandbox ? sandboxCall(calls) : (wanted) => calls.call(wanted),
        isServed: (action) => catalog.current().action(action, payer)?.configured === true,
      };
    },
  };
}
