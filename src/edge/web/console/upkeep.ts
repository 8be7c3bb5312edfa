// Maintenance: the doctor, which checks all books; pending writes; adapter certificates; the settings in force; and the operator log.
import type { DoctorReport } from "../../../money/ledger/model/ledger.ts";
import type { Proved } from "../../../money/ledger/proof.ts";
import type { EffectiveSetting } from "../../../platform/config.ts";
import { type Html, html } from "../html.ts";
import { type Ask, type Paged, withQuery } from "../kit/ask.ts";
import { buttonForm } from "../kit/forms.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, nextPage, pill, tableOf, tiles, time } from "../kit/shown.ts";
import type { VendorShown } from "./certificates.ts";
import { seriesIn, seriesSum } from "./metrics-read.ts";
import type { Act } from "./operator-log.ts";

/** With what was compared with the chains, where payments are made on any. */
type Report = DoctorReport & { readonly payments?: readonly Omit<Proved, "findings">[] };

/** Entries that are not in the books yet, or not yet in their permanent store. */
const WAITING = {
  tollgate_spool_depth: ["In the spool", "finished calls that Redis does not have yet"],
  tollgate_spool_oldest_seconds: ["The oldest of them, s", "an alarm above 30"],
  tollgate_archive_behind_seconds: ["Archive behind, s", "an alarm above 300"],
} as const;

/** Nothing waits with a single file: every call's end is written before the caller sees the answer. */
async function waitingShown(ask: Ask): Promise<Html> {
  const series = seriesIn(await ask<string>("GET", "/metrics"), Object.keys(WAITING));
  return tiles(
    Object.entries(WAITING).map(([name, [title, more]]) => [title, count(Math.round(seriesSum(series, name))), more]),
  );
}

function verdictOf({ certificate }: VendorShown): Html {
  if (certificate === null) return html`<span class="soft">never asked</span>`;
  const { at, version, fine, not_asked, differs } = certificate;
  const state =
    differs.length === 0
      ? pill("as its adapter says", "good")
      : pill(differs.length === 1 ? "1 differs" : `${differs.length} differ`, "bad");
  const asked = `${fine + differs.length} asked${not_asked === 0 ? "" : `, ${not_asked} not`}, by ${version}`;
  const found = differs.map(
    ({ asked: what, kind, status, detail }) =>
      html`<li><span class="name">${what}, ${kind}, ${status}: ${detail}</span></li>`,
  );
  return html`${state} <span class="soft">${time(at)}, ${asked}</span>${found.length === 0 ? "" : html`<ul>${found}</ul>`}`;
}

/** Differing vendors first, then those that were never checked. */
function certificatesShown(vendors: readonly VendorShown[]): Html {
  const order = ({ certificate }: VendorShown) => (certificate === null ? 1 : certificate.differs.length > 0 ? 0 : 2);
  const sorted = vendors.toSorted((a, b) => order(a) - order(b));
  const shown = tableOf("Certificates", sorted, "No provider is configured.", {
    Vendor: ({ provider, on }) => html`<strong>${provider}</strong> ${on ? "" : pill("off")}`,
    Certificate: verdictOf,
    "Not confirmed yet": ({ unconfirmed }) =>
      unconfirmed.map(({ of, why }) => html`<span class="name">not confirmed of ${of}: ${why}</span><br>`),
  });
  const how = html`<p class="soft">Run <code>tollgate certify</code> to call vendors for real, cheaply; it reports what it found to this gateway.</p>`;
  return card("Certificates of adapters", html`${how}${shown}`);
}

export const doctorSection: Section = {
  path: "/console/doctor",
  acts: {
    examine: {
      told: "Ledger check",
      async run({ ask }) {
        const report = await ask<Report>("GET", "/admin/v1/doctor");
        const findings = tableOf("Findings", report.findings, "No problems found.", {
          Rule: ({ invariant }) => pill(invariant, "bad"),
          Account: ({ accountId }) => accountId ?? "",
          Problem: ({ detail }) => detail,
        });
        const proofs = (report.payments ?? []).map(
          ({ of, proved, unknown }) =>
            html`<p>Of ${of}, ${count(proved)} are on chain as the books have them${unknown === 0 ? "" : `; of ${count(unknown)} the chain could not be asked`}.</p>`,
        );
        const found = report.findings.length;
        return html`${tiles([
          ["Accounts", count(report.accounts)],
          ["Holds", count(report.holds)],
          ["Postings", count(report.postings)],
          ["Findings", found === 0 ? pill("the books add up", "good") : count(found)],
        ])}<section class="card">${findings}${proofs}</section><p><a class="button" href="/console/doctor">Back</a></p>`;
      },
    },
  },
  async show({ ask, csrf }) {
    const { settings } = await ask<{ settings: readonly EffectiveSetting[] }>("GET", "/admin/v1/config");
    const { certificates } = await ask<{ certificates: readonly VendorShown[] }>("GET", "/admin/v1/certificates");
    const shown = tableOf("Settings", settings, "None.", {
      Setting: ({ name }) => html`<code>${name}</code>`,
      Value: ({ value }) => html`<span class="name">${value}</span>`,
      "From|large": ({ from }) => (from === "default" ? "" : from),
    });
    const examine = buttonForm({ action: "/console/doctor", csrf, act: "examine" }, "Check the ledger", { kind: "" });
    return {
      title: "Doctor",
      body: html`${card("Check the ledger", html`<p class="soft">Checks every account, hold and posting. On a large ledger this takes a while; calls continue meanwhile.</p>${examine}`)}
${card("Pending writes", await waitingShown(ask))}
${certificatesShown(certificates)}
<details class="card"><summary>Settings in force, secrets masked</summary>${shown}</details>`,
    };
  },
};

export const logSection: Section = {
  path: "/console/log",
  async show({ ask, request }) {
    const cursor = request.query.get("cursor") ?? "";
    const path = withQuery("/admin/v1/log", { limit: "100", cursor });
    const found = await ask<Paged<"log", Act>>("GET", path);
    const log = tableOf("Log", found.log, "There are no changes yet.", {
      "Time (UTC)": ({ at }) => time(at),
      Who: ({ by, proven }) => html`<span class="name">${by}</span> ${proven === true ? pill("proven", "good") : ""}`,
      What: ({ method, path, body }) => html`<code>${method} ${path}</code><br><span class="soft name">${body}</span>`,
      Result: ({ status }) =>
        status === null ? pill("not known", "warn") : pill(String(status), status < 400 ? "good" : "bad"),
    });
    return {
      title: "Change log",
      body: html`<p class="lead">Changes made by operators here, by command and over HTTP. An entry is written before the change and never edited.</p><section class="card">${log}${nextPage("/console/log", {}, found.next_cursor)}</section>`,
    };
  },
};
