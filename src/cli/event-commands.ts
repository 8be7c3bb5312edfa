// Commands for events, and for the operator's webhooks.
import type { hookRow } from "../money/events/event-endpoints.ts";
import type { eventRow } from "../money/events/event-log.ts";
import { type Command, requesting, type Typed, UsageError } from "./command.ts";
import { pairs, table } from "./text.ts";

type Event = ReturnType<typeof eventRow>;

type Webhook = ReturnType<typeof hookRow> & { readonly secret?: string };

const EVENTS = 50;

const events = requesting<{ events: Event[] }>({
  name: "events",
  options: {
    account: { value: "ID", meaning: "of this account alone" },
    limit: { value: "COUNT", meaning: `how many, newest first; ${EVENTS} by itself` },
  },
  summary: "Lists what has happened in the last 30 days, newest first",
  request(typed) {
    const limit = typed.number("limit") ?? EVENTS;
    if (limit === 0 || limit > 1_000) throw new UsageError("--limit takes a number from 1 to 1000.");
    const account = typed.text("account");
    const query = new URLSearchParams({ limit: String(limit), ...(account === undefined ? {} : { account }) });
    return ["GET", `/admin/v1/events?${query}`];
  },
  shown(json, _typed, columns) {
    const rows = json.events.map(({ id, kind, account_id, at, data: { account_name, ...data } }) => [
      ...[at, kind, account_id ?? "-", String(account_name ?? "-"), id],
      JSON.stringify(data),
    ]);
    return table(["WHEN", "KIND", "ACCOUNT", "NAME", "EVENT", "DATA"], rows, columns);
  },
});

const hookPath = (typed: Typed) => `/admin/v1/webhooks/${encodeURIComponent(typed.word("WEBHOOK"))}`;

function hookText({ id, url, kinds, secret }: Webhook): string {
  return pairs([
    ["webhook", id],
    ["address", url],
    ["kinds", kinds === null ? "all" : kinds.join(", ")],
    ...(secret === undefined ? [] : [["secret", `${secret}  (shown this once)`] as const]),
  ]);
}

const create = requesting<Webhook>({
  name: "webhook create",
  takes: ["URL"],
  options: { kinds: { value: "LIST", meaning: "kinds of events, by commas; all without it" } },
  summary: "Has every account's events sent to an address, and shows the secret that signs them, once",
  request(typed) {
    const kinds = typed
      .text("kinds")
      ?.split(",")
      .map((kind) => kind.trim());
    return ["POST", "/admin/v1/webhooks", { url: typed.word("URL"), kinds }];
  },
  shown: hookText,
});

const list = requesting<{ webhooks: Webhook[] }>({
  name: "webhook list",
  summary: "Lists the operator's webhooks",
  request: () => ["GET", "/admin/v1/webhooks"],
  shown({ webhooks }, _typed, columns) {
    const rows = webhooks.map(({ id, url, kinds }) => [id, url, kinds === null ? "all" : kinds.join(", ")]);
    return table(["WEBHOOK", "ADDRESS", "KINDS"], rows, columns);
  },
});

const rotate = requesting<Webhook>({
  name: "webhook rotate",
  takes: ["WEBHOOK"],
  options: { "overlap-seconds": { value: "SECONDS", meaning: "how long the old secret signs too; a day by itself" } },
  summary: "Makes a new secret of a webhook and shows it, once",
  request: (typed) => ["POST", `${hookPath(typed)}/rotate`, { overlap_seconds: typed.number("overlap-seconds") }],
  shown: hookText,
});

const redeliver = requesting({
  name: "webhook redeliver",
  takes: ["WEBHOOK", "EVENT"],
  summary: "Sends an event to a webhook once more",
  request: (typed) => ["POST", `${hookPath(typed)}/redeliver`, { event_id: typed.word("EVENT") }],
  shown: (_answer, typed) => `${typed.word("EVENT")} is on its way.`,
});

const remove = requesting({
  name: "webhook delete",
  takes: ["WEBHOOK"],
  summary: "Deletes a webhook; what waits for it is not sent",
  request: (typed) => ["DELETE", hookPath(typed)],
  shown: (_answer, typed) => `${typed.word("WEBHOOK")} is deleted.`,
});

export const EVENT_COMMANDS: readonly Command[] = [events, create, list, rotate, redeliver, remove];
