// Processes over one Redis share once a second which routes rest, the routes' failures, and where conversations have gone. No call waits
// for this, and each process finds out missed news by itself.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { FAILURES, type FailureKind } from "../core/failures.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { Others } from "./stores.ts";

const TELL_MS = 1_000;
/** More than a message can hold; longer messages are not ours. */
const NEWS_CHARACTERS_MAX = 1_048_576;

const failureSchema = z.object({
  provider: z.string(),
  model: z.string(),
  sandbox: z.boolean().optional(),
  reason: z.custom<FailureKind>((value) => typeof value === "string" && Object.hasOwn(FAILURES, value)),
  status: z.number(),
  words: z.string(),
  count: z.number().min(1),
  firstAtMs: z.number(),
  lastAtMs: z.number(),
});
const newsSchema = z.object({
  from: z.string(),
  /** The sender knows nothing yet and requests a full report. */
  asks: z.boolean(),
  routes: z.array(
    z.object({ healthKey: z.string(), provider: z.string(), model: z.string(), restMs: z.number().min(0) }),
  ),
  moved: z.array(z.tuple([z.string(), z.string().nullable()])),
  /** Processes of an earlier release send none. */
  failures: z.array(failureSchema).default([]),
});
type News = z.infer<typeof newsSchema>;

function newsIn(text: string): News | null {
  try {
    if (text.length > NEWS_CHARACTERS_MAX) return null;
    return newsSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/**
 * Starts to send and receive; a process that is down misses the news. Resolves once subscribed, to what stops it. `serves`: this process
 * serves callers.
 */
export async function shareRoutes(
  { health, moved, failures }: Upstream,
  others: Others | null,
  serves: boolean,
): Promise<() => void> {
  if (others === null) return () => {};
  const from = randomUUID();
  /** We know nothing yet, or may have missed something. */
  let asks = true;
  /** Another process has requested a full report. */
  let asked = false;
  let telling = false;

  async function tell(to: Others): Promise<void> {
    const routes = asked ? [...health.news(), ...health.known()] : health.news();
    const conversations = asked ? [...moved.news(), ...moved.known()] : moved.news();
    const failed = failures.news();
    if (!asks && routes.length === 0 && conversations.length === 0 && failed.length === 0) {
      asked = false;
      return;
    }
    const moves: News["moved"] = conversations.map(([one, at]) => [one, at]);
    const news: News = { from, asks, routes: [...routes], moved: moves, failures: [...failed] };
    [asks, asked, telling] = [false, false, true];
    // By the time a failed message could be sent, it is stale.
    await to.tell(JSON.stringify(news)).catch(() => {});
    telling = false;
  }

  function hear(text: string): void {
    const news = newsIn(text);
    if (news === null || news.from === from) return;
    asked ||= news.asks;
    for (const route of news.routes) health.hear(route);
    for (const failure of news.failures) failures.hear(failure);
    if (serves) for (const conversation of news.moved) moved.hear(conversation);
  }

  await others.hear(hear, () => {
    asks = true;
  });
  const timer = setInterval(() => telling || void tell(others), TELL_MS).unref();
  return () => clearInterval(timer);
}
