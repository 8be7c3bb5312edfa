// Searchable transactions of all accounts with our cost of each; failed calls with what the provider said; refunding a charge.
import type { RouteRow } from "../../../upstream/route-figures.ts";
import type { FailedShown, TransactionShown } from "../account/answers.ts";
import {
  ANY_SEARCH,
  type CallsPlace,
  callsPage,
  failurePage,
  legsTable,
  transactionFacts,
} from "../account/transactions.ts";
import { html } from "../html.ts";
import { bodyOr } from "../kit/ask.ts";
import { postForm } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import { card, facts, money } from "../kit/shown.ts";
import type { AnyTransaction } from "./accounts.ts";

export const CALLS: CallsPlace = {
  title: "Calls",
  path: "/console/calls",
  api: "/admin/v1/transactions",
  fields: ANY_SEARCH,
  owner: "Account",
  ownerOf: ({ account_id, account_name, key_label }: FailedShown | TransactionShown) =>
    html`<a href="/console/accounts/${encodeURIComponent(account_id ?? "")}">${account_name ?? account_id ?? ""}</a> <span class="soft">${key_label ?? ""}</span>`,
};
const { path: PATH } = CALLS;

export const callsSection: Section = { path: PATH, show: (visit) => callsPage(visit, CALLS) };

type Attempt = FailedShown["attempts"][number];

/** The provider's latest message about this failure; a route keeps one per reason. */
function lastWords(routes: readonly RouteRow[], { vendor, model, reason, refusal }: Attempt): string {
  const route = routes.find((one) => one.provider === vendor && one.model === model);
  return refusal ?? route?.failures.find((one) => one.reason === reason)?.words ?? "";
}

const apiOf = ({ request }: Visit) => `${CALLS.api}/${encodeURIComponent(request.params.id ?? "")}`;

export const callSection: Section = {
  path: `${PATH}/{id}`,
  place: PATH,
  acts: {
    refund: {
      told: "The charge was refunded",
      sure: ({ request }) => `Refund the whole charge of ${request.params.id ?? ""}? A refund cannot be undone.`,
      run: (visit) => visit.ask("POST", `${apiOf(visit)}/refund`, { reason: visit.fields.reason }),
    },
  },
  async show(visit) {
    const { ask, csrf, request } = visit;
    const whole = await ask<AnyTransaction | FailedShown>("GET", apiOf(visit));
    if ("attempts" in whole) {
      const asked = ask<{ routes: readonly RouteRow[] }>("GET", "/admin/v1/routes");
      const { routes } = await bodyOr(asked, { routes: [] });
      return failurePage(whole, PATH, {
        account: html`${CALLS.ownerOf(whole)}`,
        next: html`<p><a href="/console/routes">Check the providers under Routes</a></p>`,
        wordsOf: (attempt) => lastWords(routes, attempt),
      });
    }
    const form = { action: request.path, csrf, act: "refund" };
    const refund = postForm(form, [{ name: "reason", label: "Reason", required: true }], "Refund", { kind: "danger" });
    const own = facts([
      ["Account", html`${CALLS.ownerOf(whole)} <code>${whole.account_id}</code>`],
      ["Asked for", whole.asked ?? ""],
      ["Our cost", money(whole.upstream_nano_usd)],
      ["Lost", html`${money(whole.absorbed_nano_usd)} ${whole.absorb_reason ?? ""}`],
      ["Price", whole.price_version ?? ""],
    ]);
    return {
      title: "Transaction",
      body: html`<div class="grid">${card("Details", transactionFacts(whole))}${card("For the operator", own)}</div>${card("Routes tried", legsTable(whole))}${whole.kind === "charge" ? card("Refund", refund) : ""}`,
    };
  },
};
