// Searchable transactions of all accounts with our cost of each; failed calls with their reasons; refunding a charge.
import type { RouteRow } from "../../../upstream/route-figures.ts";
import type { FailedShown, TransactionShown } from "../account/answers.ts";
import {
  chargeRows,
  failedRows,
  failurePage,
  failuresIn,
  foundPage,
  isFailure,
  legsTable,
  SEARCH_FIELDS,
  searchForm,
  searchIn,
  transactionFacts,
} from "../account/transactions.ts";
import { html } from "../html.ts";
import { bodyOr, nothingElse, withQuery } from "../kit/ask.ts";
import { field, postForm } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import { card, facts, money, nextPage } from "../kit/shown.ts";
import type { AnyTransaction } from "./answers.ts";

const PATH = "/console/calls";
const PAGE = "50";

export function whose({ account_id, account_name, key_label }: FailedShown | TransactionShown) {
  return html`<a href="/console/accounts/${encodeURIComponent(account_id ?? "")}">${account_name ?? account_id ?? ""}</a> <span class="soft">${key_label ?? ""}</span>`;
}

export const callsSection: Section = {
  path: PATH,
  place: PATH,
  async show({ ask, request }) {
    const asked = searchIn(request, [...SEARCH_FIELDS, "account", "cursor"]);
    const more = field({ name: "account", label: "Account", value: asked.account ?? "", placeholder: "acct_..." });
    const search = searchForm(PATH, asked, more);
    return foundPage("Calls", {
      found: ask("GET", withQuery("/admin/v1/transactions", { ...asked, limit: PAGE })),
      search,
      next: (cursor) => nextPage(PATH, asked, cursor),
      rows: (all) =>
        isFailure(asked.status)
          ? failedRows(failuresIn(all), PATH, whose)
          : chargeRows(all, PATH, { name: "Account", cell: whose }),
    });
  },
};

/** The latest message of a provider with this failure; routes keep one per reason. */
function lastWords(routes: readonly RouteRow[], failed: { provider: string; model: string; reason: string | null }) {
  const route = routes.find(({ provider, model }) => provider === failed.provider && model === failed.model);
  return route?.failures.find(({ reason }) => reason === failed.reason)?.words ?? "";
}

const apiOf = ({ request }: Visit) => `/admin/v1/transactions/${encodeURIComponent(request.params.id ?? "")}`;

export const callSection: Section = {
  path: `${PATH}/{id}`,
  place: PATH,
  acts: {
    refund: {
      told: "The charge was refunded",
      sure: ({ request }) => `Refund the whole charge of ${request.params.id ?? ""}? A refund cannot be undone.`,
      run: (visit) => nothingElse(visit.ask("POST", `${apiOf(visit)}/refund`, { reason: visit.fields.reason })),
    },
  },
  async show(visit) {
    const whole = await visit.ask<AnyTransaction | FailedShown>("GET", apiOf(visit));
    if ("attempts" in whole) {
      const { routes } = await bodyOr(visit.ask<{ routes: readonly RouteRow[] }>("GET", "/admin/v1/routes"), {
        routes: [],
      });
      return failurePage(whole, PATH, {
        account: whose(whole),
        wordsOf: ({ vendor, model, reason, refusal }) =>
          refusal ?? lastWords(routes, { provider: vendor, model, reason }),
      });
    }
    const refund = postForm(
      { action: visit.request.path, csrf: visit.csrf, act: "refund" },
      html`${field({ name: "reason", label: "Reason", required: true })}<div class="buttons"><button class="danger">Refund</button></div>`,
    );
    const own = facts([
      [
        "Account",
        html`<a href="/console/accounts/${encodeURIComponent(whole.account_id)}">${whole.account_name ?? ""} <code>${whole.account_id}</code></a>`,
      ],
      ["Asked for", whole.asked ?? "-"],
      ["Our cost", money(whole.upstream_nano_usd)],
      ["Lost", html`${money(whole.absorbed_nano_usd)} ${whole.absorb_reason ?? ""}`],
      ["Price", whole.price_version ?? "-"],
    ]);
    return {
      title: "Transaction",
      body: html`<div class="grid">${card("Details", transactionFacts(whole))}${card("For the operator", own)}</div>${card("Routes tried", legsTable(whole))}${whole.kind === "charge" ? card("Refund", refund) : ""}`,
    };
  },
};
