// Routes: which providers are on, what rests, what failed last and why, and asking one whether it answers.
import type { FailedShown } from "../account/answers.ts";
import { html } from "../html.ts";
import { type Ask, bodyOr, Refused, withQuery } from "../kit/ask.ts";
import { buttonForm } from "../kit/forms.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, pill, table, time } from "../kit/shown.ts";
import type { ProviderShown } from "./answers.ts";
import { seriesIn } from "./metrics-read.ts";

const PATH = "/console/routes";
const RESTING = "tollgate_route_resting";
const ATTEMPTS = "tollgate_attempts_total";
const LOOKED_AT = "300";

interface Setup {
  readonly providers: readonly ProviderShown[];
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

interface LastFailure {
  readonly at: string;
  readonly model: string;
  readonly reason: string;
  readonly status: number;
}

/** The newest failed attempt of each provider, of the calls that were not served lately. */
async function lastFailures(ask: Ask): Promise<ReadonlyMap<string, LastFailure>> {
  const path = withQuery("/admin/v1/transactions", { status: "failed", limit: LOOKED_AT });
  const none = { transactions: [] };
  const { transactions } = bodyOr(await ask<{ transactions: readonly FailedShown[] }>("GET", path), none);
  const last = new Map<string, LastFailure>();
  for (const { created_at: at, attempts } of transactions) {
    for (const { vendor, model, reason, status } of attempts) {
      if (reason !== null && !last.has(vendor)) last.set(vendor, { at, model, reason, status });
    }
  }
  return last;
}

export const routesSection: Section = {
  path: PATH,
  place: PATH,
  acts: {
    check: {
      told: "The provider was asked",
      async run({ ask, fields }) {
        const found = await ask<Checks>("POST", `/admin/v1/providers/${encodeURIComponent(fields.id ?? "")}/check`);
        if (found instanceof Refused) return found;
        const columns = [{ name: "Key" }, { name: "Asked" }, { name: "It is" }, { name: "In its words" }];
        const rows = found.checks.map(({ key, asked, verdict, detail }) => [
          key ?? "no key",
          asked ?? "-",
          pill(verdict, verdict === "fine" ? "good" : "warn"),
          detail ?? "",
        ]);
        return html`<section class="card">${table("Checks", columns, { rows, none: "Nothing of it can be asked." })}</section><p><a class="button" href="${PATH}">Back</a></p>`;
      },
    },
  },
  async show({ ask, csrf }) {
    const setup = await ask<Setup>("GET", "/admin/v1/providers");
    if (setup instanceof Refused) return setup;
    const series = seriesIn(bodyOr(await ask<string>("GET", "/metrics"), ""), [RESTING, ATTEMPTS]);
    const last = await lastFailures(ask);
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
    const failure = (id: string) => {
      const known = last.get(id);
      return known === undefined
        ? ""
        : html`${pill(known.reason, "bad")} <span class="soft">${known.model}, ${known.status === 0 ? "no answer" : String(known.status)}, ${time(known.at)}</span>`;
    };
    const on = setup.providers.filter((one) => one.on);
    const off = setup.providers.filter((one) => !one.on);
    const asked = new Set([...last.keys(), ...tries.keys()].filter((id) => !on.some((one) => one.id === id)));
    const rows = [
      ...on.map(({ id, name }) => [
        html`<strong>${name}</strong>`,
        health(id),
        failure(id),
        buttonForm({ action: PATH, csrf, act: "check", hidden: { id } }, "Ask it", { label: name }),
      ]),
      ...[...asked].map((id) => [html`${id} <span class="soft">in the sandbox</span>`, health(id), failure(id), ""]),
    ];
    const columns = [{ name: "Provider" }, { name: "Health" }, { name: "Last failure" }, { name: "Do", kind: "acts" }];
    const tiers = setup.tiers.map(({ id, on: served, of }) => [`core/${id}`, `${served} of ${of}`]);
    const offRows = off.map(({ name, variables, waits_for }) => [
      name,
      html`<code>${waits_for ?? variables.join(", ")}</code>`,
    ]);
    return {
      title: "Routes",
      body: html`${card("Providers that are on", table("Providers", columns, { rows, none: "No provider is on: set the key of one." }))}
<div class="grid">${card("Tiers", table("Tiers", [{ name: "Tier" }, { name: "Models that are served" }], { rows: tiers, none: "There is none." }))}
<details class="card"><summary>${off.length} providers are off</summary>${table("Providers that are off", [{ name: "Provider" }, { name: "What turns it on" }], { rows: offRows, none: "None is off." })}</details></div>`,
    };
  },
};
