// Commands on what has happened, and on the addresses that the operator has it sent to.
import type { hookRow } from "../events/event-endpoints.ts";
import type { eventRow } from "../events/event-log.ts";
import { type Command, type Typed, UsageError } from "./command.ts";
import { pairs, table } from "./text.ts";

type Event = ReturnType<typeof eventRow>;

type Webhook = ReturnType<typeof hookRow> & { readonly secret?: string };

const EVENTS = 50;

const events: Command = {
  name: "events",
  takes: [],
  options: {
    account: { value: "ID", meaning: "of this account alone" },
    limit: { value: "COUNT", meaning: `how many, newest first; ${EVENTS} by itself` },
  },
  summary: "Lists what has happened in the last 30 days, newest first",
  async run(typed, { admin, columns }) {
    const limit = typed.number("limit") ?? EVENTS;
    if (limit === 0 || limit > 1_000) throw new UsageError("--limit takes a number from 1 to 1000.");
    const account = typed.text("account");
    const query = new URLSearchParams({ limit: String(limit), ...(account === undefined ? {} : { account }) });
    const json = await admin.call<{ events: Event[] }>("GET", `/admin/v1/events?${query}`);
    const rows = json.events.map(({ id, kind, account_id, at, data }) => [
      ...[at, kind, account_id ?? "-", id],
      JSON.stringify(data),
    ]);
    return { json, text: table(["WHEN", "KIND", "ACCOUNT", "EVENT", "DATA"], rows, columns) };
  },
};

const hookPath = (typed: Typed) => `/admin/v1/webhooks/${encodeURIComponent(typed.word("WEBHOOK"))}`;

function hookText({ id, url, kinds, secret }: Webhook): string {
  return pairs([
    ["webhook", id],
    ["address", url],
    ["kinds", kinds === null ? "all" : kinds.join(", ")],
    ...(secret === undefined ? [] : [["secret", `${secret}  (shown this once)`] as const]),
  ]);
}

const create: Command = {
  name: "webhook create",
  takes: ["URL"],
  options: { kinds: { value: "LIST", meaning: "kinds of events, by commas; all without it" } },
  summary: "Has every account's events sent to an address, and shows the secret that signs them, once",
  async run(typed, { admin }) {
    const kinds = typed
      .text("kinds")
      ?.split(",")
      .map((kind) => kind.trim());
    const json = await admin.call<Webhook>("POST", "/admin/v1/webhooks", { url: typed.word("URL"), kinds });
    return { json, text: hookText(json) };
  },
};

const list: Command = {
  name: "webhook list",
  takes: [],
  options: {},
  summary: "Lists the operator's webhooks",
  async run(_typed, { admin, columns }) {
    const json = await admin.call<{ webhooks: Webhook[] }>("GET", "/admin/v1/webhooks");
    const rows = json.webhooks.map(({ id, url, kinds }) => [id, url, kinds === null ? "all" : kinds.join(", ")]);
    return { json, text: table(["WEBHOOK", "ADDRESS", "KINDS"], rows, columns) };
  },
};

const rotate: Command = {
  name: "webhook rotate",
  takes: ["WEBHOOK"],
  options: { "overlap-seconds": { value: "SECONDS", meaning: "how long the old secret signs too; a day by itself" } },
  summary: "Makes a new secret of a webhook and shows it, once",
  async run(typed, { admin }) {
    const json = await admin.call<Webhook>("POST", `${hookPath(typed)}/rotate`, {
      overlap_seconds: typed.number("overlap-seconds"),
    });
    return { json, text: hookText(json) };
  },
};

const redeliver: Command = {
  name: "webhook redeliver",
  takes: ["WEBHOOK", "EVENT"],
  options: {},
  summary: "Sends an event to a webhook once more",
  async run(typed, { admin }) {
    const json = await admin.call("POST", `${hookPath(typed)}/redeliver`, { event_id: typed.word("EVENT") });
    return { json, text: `${typed.word("EVENT")} is on its way.` };
  },
};

const remove: Command = {
  name: "webhook delete",
  takes: ["WEBHOOK"],
  options: {},
  summary: "Deletes a webhook; what waits for it is not sent",
  async run(typed, { admin }) {
    const json = await admin.call("DELETE", hookPath(typed));
    return { json, text: `${typed.word("WEBHOOK")} is deleted.` };
  },
};

export const EVENT_COMMANDS: readonly Command[] = [events, create, list, rotate, redeliver, remove];
