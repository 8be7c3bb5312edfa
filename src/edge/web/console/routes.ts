// Routes: enabled providers, resting routes, the latest failures and their reasons, and checking a provider.

import type { InstalledProvider } from "../../../catalog/installed.ts";
import type { RouteRow } from "../../../upstream/route-figures.ts";
import { type Html, html } from "../html.ts";
import { bodyOr } from "../kit/ask.ts";
import { buttonForm } from "../kit/forms.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, pill, rowsOf, table, time } from "../kit/shown.ts";
import { seriesIn } from "./metrics-read.ts";

type Failure = RouteRow["failures"][number] & { readonly model: string };

const PATH = "/console/routes";
const RESTING = "tollgate_route_resting";
const ATTEMPTS = "tollgate_attempts_total";
/** Besides the last one. */
const FAILURES_SHOWN_MAX = 9;

interface Setup {
  readonly providers: readonly InstalledProvider[];
  readonly tiers: readonly { readonly id: string; readonly on: number; readonly of: number }[];
}
interface Checks {
  readonly checks: readonly {
    readonly key: string | null;
    readonly asked: string | null;
    readonly verdict: string;
    readonly detail?: string | null;
    readonly ms?: number | null;
  }[];
}

/** Each provider's route failures since the gateway started, newest first. */
function byProvider(routes: readonly RouteRow[]): ReadonlyMap<string, readonly Failure[]> {
  const found = new Map<string, Failure[]>();
  for (const { provider, model, failures } of routes) {
    const known = found.get(provider) ?? [];
    known.push(...failures.map((failure) => ({ ...failure, model })));
    found.set(provider, known);
  }
  for (const all of found.values()) all.sort((a, b) => (a.last_at < b.last_at ? 1 : -1));
  return found;
}

function failureShown({ reason, status, model, last_at, count: times, words }: Failure): Html {
  const answered = status === 0 ? "no answer" : String(status);
  const often = times === 1 ? "" : `, ${count(times)} times`;
  return html`${pill(reason, "bad")} <span class="soft">${model}, ${answered}${often}, ${time(last_at)}</span>${words === "" ? "" : html`<br><q class="name">${words}</q>`}`;
}

/** The last failure, and the others on a click. */
function failuresShown(all: readonly Failure[], name: string): Html | string {
  const [last, ...others] = all;
  if (last === undefined) return "";
  const more = others.slice(0, FAILURES_SHOWN_MAX).map((one) => html`<p>${failureShown(one)}</p>`);
  return html`${failureShown(last)}${more.length === 0 ? "" : html`<details><summary aria-label="${count(others.length)} more failures of ${name}">${count(others.length)} more</summary>${more}</details>`}`;
}

export const routesSection: Section = {
  path: PATH,
  place: PATH,
  acts: {
    check: {
      told: "The provider was checked",
      async run({ ask, fields }) {
        const found = await ask<Checks>("POST", `/admin/v1/providers/${encodeURIComponent(fields.id ?? "")}/check`);
        const columns = ["Key", "Check", "Result", "Message"];
        const rows = found.checks.map(({ key, asked, verdict, detail }) => [
          key ?? "no key",
          asked ?? "-",
          pill(verdict, verdict === "fine" ? "good" : "warn"),
          detail ?? "",
        ]);
        return html`<section class="card">${table("Checks", columns, { rows, none: "This provider has nothing to check." })}</section><p><a class="button" href="${PATH}">Back</a></p>`;
      },
    },
  },
  async show({ ask, csrf }) {
    const setup = await ask<Setup>("GET", "/admin/v1/providers");
    const series = seriesIn(await bodyOr(ask<string>("GET", "/metrics"), ""), [RESTING, ATTEMPTS]);
    const routes = await ask<{ routes: readonly RouteRow[] }>("GET", "/admin/v1/routes");
    const failed = byProvider(routes.routes);
    const resting = series.filter(({ name, value }) => name === RESTING && value > 0);
    const tries = new Map<string, { all: number; good: number }>();
    for (const { name, labels, value } of series) {
      if (name !== ATTEMPTS) continue;
      const known = tries.get(labels.provider ?? "") ?? { all: 0, good: 0 };
      known.all += value;
      known.good += labels.outcome === "ok" ? value : 0;
      tries.set(labels.provider ?? "", known);
    }
    const restingOf = (id: string) =>
      resting.filter(({ labels }) => labels.provider === id).map(({ labels }) => labels.model ?? "");
    const health = (id: string) => {
      const known = tries.get(id);
      if (restingOf(id).length > 0)
        return html`${pill("rests", "bad")} <span class="soft">${restingOf(id).join(", ")}</span>`;
      if (known === undefined) return html`<span class="soft">not asked since the start</span>`;
      return html`${pill(`${Math.round((100 * known.good) / Math.max(1, known.all))} % good`, known.good === known.all ? "good" : "warn")} <span class="soft">of ${count(known.all)}</span>`;
    };
    // Failures come first: readers open this page for them.
    const isQuiet = (id: string) => (restingOf(id).length === 0 && !failed.has(id) ? 1 : 0);
    const on = setup.providers.filter((one) => one.on).toSorted((a, b) => isQuiet(a.id) - isQuiet(b.id));
    const off = setup.providers.filter((one) => !one.on);
    const asked = new Set([...failed.keys(), ...tries.keys()].filter((id) => !on.some((one) => one.id === id)));
    const rows = [
      ...on.map(({ id, name }) => [
        html`<strong>${name}</strong>`,
        health(id),
        failuresShown(failed.get(id) ?? [], name),
        buttonForm({ action: PATH, csrf, act: "check", hidden: { id } }, "Ask it", { label: name }),
      ]),
      ...[...asked].map((id) => [
        html`${id} <span class="soft">in the sandbox</span>`,
        health(id),
        failuresShown(failed.get(id) ?? [], id),
        "",
      ]),
    ];
    const columns = ["Provider", "Health", "Last failures", "Do|acts"];
    const tiers = setup.tiers.map(({ id, on: served, of }) => [`core/${id}`, `${served} of ${of}`]);
    const offRows = rowsOf(off, ({ name, variables, waits_for }) => [
      name,
      html`<code>${waits_for ?? variables.join(", ")}</code>`,
    ]);
    return {
      title: "Routes",
      body: html`${card("Configured providers", table("Providers", columns, { rows, none: "No provider is configured. Set the key of one." }))}
<div class="grid">${card("Tiers", table("Tiers", ["Tier", "Available models"], { rows: tiers, none: "None." }))}
<details class="card"><summary>${off.length} providers are off</summary>${table("Providers that are off", ["Provider", "Needs"], { rows: offRows, none: "All providers are configured." })}</details></div>`,
    };
  },
};
