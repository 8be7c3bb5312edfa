// Routes: enabled providers, resting routes, the latest failures and their reasons, and checking a provider.

import type { Installed } from "../../../catalog/installed.ts";
import type { RouteRow } from "../../../upstream/route-figures.ts";
import { type Html, html } from "../html.ts";
import { bodyOr } from "../kit/ask.ts";
import { buttonForm } from "../kit/forms.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, pill, tableOf, time } from "../kit/shown.ts";
import { type Series, seriesIn } from "./metrics-read.ts";

type Failure = RouteRow["failures"][number] & { readonly model: string };

const PATH = "/console/routes";
const RESTING = "tollgate_route_resting";
const ATTEMPTS = "tollgate_attempts_total";
/** Besides the last one. */
const FAILURES_SHOWN_MAX = 9;

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
  const all = routes.flatMap(({ provider, model, failures }) => failures.map((one) => ({ ...one, provider, model })));
  return Map.groupBy(
    all.toSorted((a, b) => (a.last_at < b.last_at ? 1 : -1)),
    ({ provider }) => provider,
  );
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
  acts: {
    check: {
      told: "The provider was checked",
      async run({ ask, fields }) {
        const found = await ask<Checks>("POST", `/admin/v1/providers/${encodeURIComponent(fields.id ?? "")}/check`);
        const checks = tableOf("Checks", found.checks, "This provider has nothing to check.", {
          Key: ({ key }) => key ?? "no key",
          Check: ({ asked }) => asked ?? "-",
          Result: ({ verdict }) => pill(verdict, verdict === "fine" ? "good" : "warn"),
          Message: ({ detail }) => detail ?? "",
        });
        return html`<section class="card">${checks}</section><p><a class="button" href="${PATH}">Back</a></p>`;
      },
    },
  },
  async show({ ask, csrf }) {
    const { providers, tiers } = await ask<Installed>("GET", "/admin/v1/providers");
    const series = seriesIn(await bodyOr(ask<string>("GET", "/metrics"), ""), [RESTING, ATTEMPTS]);
    const { routes } = await ask<{ routes: readonly RouteRow[] }>("GET", "/admin/v1/routes");
    const failed = byProvider(routes);
    const tries = Map.groupBy(
      series.filter(({ name }) => name === ATTEMPTS),
      ({ labels }) => labels.provider ?? "",
    );
    const restingOf = (id: string) =>
      series
        .filter(({ name, value, labels }) => name === RESTING && value > 0 && labels.provider === id)
        .map(({ labels }) => labels.model ?? "");
    const sumOf = (all: readonly Series[]) => all.reduce((sum, { value }) => sum + value, 0);
    const health = (id: string) => {
      const [resting, known] = [restingOf(id), tries.get(id)];
      if (resting.length > 0) return html`${pill("rests", "bad")} <span class="soft">${resting.join(", ")}</span>`;
      if (known === undefined) return html`<span class="soft">not called since the start</span>`;
      const [all, good] = [sumOf(known), sumOf(known.filter(({ labels }) => labels.outcome === "ok"))];
      return html`${pill(`${Math.round((100 * good) / Math.max(1, all))} % good`, good === all ? "good" : "warn")} <span class="soft">of ${count(all)}</span>`;
    };
    // Failures come first: readers open this page for them.
    const isQuiet = ({ id }: { readonly id: string }) => (restingOf(id).length === 0 && !failed.has(id) ? 1 : 0);
    const on = providers.filter((one) => one.on).toSorted((a, b) => isQuiet(a) - isQuiet(b));
    const off = providers.filter((one) => !one.on);
    const others = new Set([...failed.keys(), ...tries.keys()].filter((id) => !on.some((one) => one.id === id)));
    const shown = [...on, ...[...others].map((id) => ({ id, name: id, on: false }))];
    const configured = tableOf("Providers", shown, "No provider is configured. Set the key of one.", {
      Provider: (one) =>
        html`<strong>${one.name}</strong> ${one.on ? "" : html`<span class="soft">in the sandbox</span>`}`,
      Health: ({ id }) => health(id),
      "Last failures": ({ id, name }) => failuresShown(failed.get(id) ?? [], name),
      "Actions|acts": ({ id, name, on: isOn }) =>
        isOn ? buttonForm({ action: PATH, csrf, act: "check", hidden: { id } }, "Check", { label: name }) : "",
    });
    const served = tableOf("Tiers", tiers, "None.", {
      Tier: ({ id }) => `core/${id}`,
      "Available models": (tier) => `${tier.on} of ${tier.of}`,
    });
    const needs = tableOf("Providers that are off", off, "All providers are configured.", {
      Provider: ({ name }) => name,
      Needs: ({ variables, waits_for }) => html`<code>${waits_for ?? variables.join(", ")}</code>`,
    });
    return {
      title: "Routes",
      body: html`${card("Configured providers", configured)}<div class="grid">${card("Tiers", served)}<details class="card"><summary>${off.length} providers are off</summary>${needs}</details></div>`,
    };
  },
};
