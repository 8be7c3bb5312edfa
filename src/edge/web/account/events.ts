// Events and webhooks: what happened, where it is sent, and resending. Shared by the account's and the operator's pages.

import { readable } from "../../../money/accounts/names.ts";
import { type Html, html } from "../html.ts";
import { withQuery } from "../kit/ask.ts";
import type { Field } from "../kit/forms.ts";
import { buttonForm, type FormBase, postForm } from "../kit/forms.ts";
import type { Act, Section, Visit } from "../kit/sections.ts";
import { card, nextPage, pill, secretShown, tableOf, time } from "../kit/shown.ts";
import type { EventShown, EventsShown, WebhookShown } from "./answers.ts";

const PAGE = "25";

/** Where to call for events and webhooks: one account's, or those of all accounts. */
export interface EventsPlace {
  readonly path: string;
  /** `/api/v1` or `/admin/v1`. */
  readonly api: string;
  readonly lead: string;
}

/** In dollars and dates; exact amounts and times on hover. */
function saidOf({ data }: EventShown): Html {
  const shown = Object.entries(readable(data)).filter(([name]) => !/_(nano_usd|at_ms)$/.test(name));
  const words = shown.map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`);
  return html`<span class="name" title="${JSON.stringify(data)}">${words.join(", ")}</span>`;
}

function again(form: FormBase, { id }: EventShown, hooks: readonly WebhookShown[]): Html | string {
  if (hooks.length === 0) return "";
  const buttons = hooks.map((hook) =>
    buttonForm({ ...form, act: "redeliver", hidden: { id: hook.id, event: id } }, "Send again", {
      label: `event ${id} to ${hook.url}`,
    }),
  );
  return hooks.length === 1
    ? html`${buttons}`
    : html`<details><summary>Send again</summary>${buttons.map((button, at) => html`<p>${hooks[at]?.url ?? ""} ${button}</p>`)}</details>`;
}

function eventsTable(form: FormBase, { events }: EventsShown, hooks: readonly WebhookShown[]): Html {
  const none = "There are no events yet. Budget marks, low balances, first uses of keys and finished jobs appear here.";
  return tableOf("Events", events, none, {
    "Time (UTC)": ({ at }) => time(at),
    What: (event) => html`${pill(event.kind)} ${saidOf(event)}`,
    "Actions|acts": hooks.length > 0 && ((event) => again(form, event, hooks)),
  });
}

function hooksTable(form: FormBase, hooks: readonly WebhookShown[]): Html {
  return tableOf("Webhooks", hooks, "There is no webhook yet. Add one below.", {
    Address: ({ url }) => html`<span class="name">${url}</span>`,
    "Events|large": ({ kinds }) => (kinds === null ? "everything" : kinds.join(", ")),
    "Actions|acts": ({ id, url: label }) =>
      html`${buttonForm({ ...form, act: "rotate", hidden: { id } }, "New secret", { label })} ${buttonForm({ ...form, act: "unhook", hidden: { id } }, "Delete", { label, kind: "danger small" })}`,
  });
}

type Made = WebhookShown & { readonly secret?: string };

function secretOf(made: Made, back: string): Html {
  const what = html`What is sent to <strong>${made.url}</strong> is signed with this secret.`;
  return secretShown(made.secret ?? "", what, back);
}

function hookActs({ api }: EventsPlace): Readonly<Record<string, Act>> {
  const one = ({ fields }: Visit) => `${api}/webhooks/${encodeURIComponent(fields.id ?? "")}`;
  return {
    hook: {
      told: "The webhook was added",
      run: async ({ ask, fields, request }) =>
        secretOf(await ask<Made>("POST", `${api}/webhooks`, { url: fields.url }), request.path),
    },
    rotate: {
      told: "A new secret was created. Messages are signed with both for one day",
      run: async (visit) => secretOf(await visit.ask<Made>("POST", `${one(visit)}/rotate`, {}), visit.request.path),
    },
    redeliver: {
      told: "The event was sent again",
      run: (visit) => visit.ask("POST", `${one(visit)}/redeliver`, { event_id: visit.fields.event }),
    },
    unhook: { told: "The webhook was removed", run: (visit) => visit.ask("DELETE", one(visit)) },
  };
}

export function eventsSection(where: EventsPlace): Section {
  return {
    path: where.path,
    acts: hookActs(where),
    async show({ ask, csrf, request }) {
      const hooks = await ask<{ webhooks: readonly WebhookShown[] }>("GET", `${where.api}/webhooks`);
      const query = { cursor: request.query.get("cursor") ?? "" };
      const events = await ask<EventsShown>("GET", withQuery(`${where.api}/events`, { ...query, limit: PAGE }));
      const form = { action: request.path, csrf };
      const url: Field = { name: "url", label: "Add a webhook", type: "url", required: true, placeholder: "https://" };
      const add = postForm({ ...form, act: "hook" }, [url], "Add");
      return {
        title: "Events",
        body: html`<p class="lead">${where.lead}</p>${card("Events", html`${eventsTable(form, events, hooks.webhooks)}${nextPage(request.path, {}, events.next_cursor)}`)}${card("Webhooks", html`${hooksTable(form, hooks.webhooks)}${add}`)}`,
      };
    },
  };
}
