// Upkeep: the doctor, which goes through all books; the settings in force; and the log of what operators have done.
import { html } from "../html.ts";
import { Refused, withQuery } from "../kit/ask.ts";
import { buttonForm } from "../kit/forms.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, nextPage, pill, table, tiles, time } from "../kit/shown.ts";
import type { DoneShown } from "./answers.ts";

interface Report {
  readonly accounts: number;
  readonly holds: number;
  readonly postings: number;
  readonly findings: readonly {
    readonly invariant: string;
    readonly accountId?: string | null;
    readonly detail: string;
  }[];
}
interface Setting {
  readonly name: string;
  readonly value: string;
  readonly from: string;
}

export const doctorSection: Section = {
  path: "/console/doctor",
  place: "/console/doctor",
  acts: {
    examine: {
      told: "What the doctor found",
      async run({ ask }) {
        const report = await ask<Report>("GET", "/admin/v1/doctor");
        if (report instanceof Refused) return report;
        const rows = report.findings.map(({ invariant, accountId, detail }) => [
          pill(invariant, "bad"),
          accountId ?? "",
          detail,
        ]);
        const columns = [{ name: "Rule" }, { name: "Account" }, { name: "What is wrong" }];
        return html`${tiles([
          { name: "Accounts", value: count(report.accounts) },
          { name: "Holds", value: count(report.holds) },
          { name: "Postings", value: count(report.postings) },
          { name: "Findings", value: rows.length === 0 ? pill("the books add up", "good") : count(rows.length) },
        ])}<section class="card">${table("Findings", columns, { rows, none: "Nothing is wrong." })}</section><p><a class="button" href="/console/doctor">Back</a></p>`;
      },
    },
  },
  async show({ ask, csrf }) {
    const config = await ask<{ settings: readonly Setting[] }>("GET", "/admin/v1/config");
    if (config instanceof Refused) return config;
    const rows = config.settings.map(({ name, value, from }) => [
      html`<code>${name}</code>`,
      html`<span class="name">${value}</span>`,
      from === "default" ? "" : from,
    ]);
    const columns = [{ name: "Setting" }, { name: "Value" }, { name: "From", kind: "desk" }];
    const examine = buttonForm({ action: "/console/doctor", csrf, act: "examine" }, "Examine the books", { kind: "" });
    return {
      title: "Doctor",
      body: html`${card("Do the books add up?", html`<p class="soft">Every account, hold and posting is looked at. On large books this takes a while; calls go on meanwhile.</p>${examine}`)}
<details class="card"><summary>Settings in force, secrets masked</summary>${table("Settings", columns, { rows, none: "There is none." })}</details>`,
    };
  },
};

export const logSection: Section = {
  path: "/console/log",
  place: "/console/log",
  async show({ ask, request }) {
    const cursor = request.query.get("cursor") ?? "";
    const found = await ask<{ log: readonly DoneShown[]; next_cursor: string | null }>(
      "GET",
      withQuery("/admin/v1/log", { limit: "100", cursor }),
    );
    if (found instanceof Refused) return found;
    const columns = [{ name: "When (UTC)" }, { name: "Who" }, { name: "What" }, { name: "Came of it" }];
    const state = (status: number | null) =>
      status === null ? pill("not known", "warn") : pill(String(status), status < 400 ? "good" : "bad");
    const rows = found.log.map(({ at, by, proven, method, path, body, status }) => [
      time(at),
      html`<span class="name">${by}</span> ${proven === true ? pill("proven", "good") : ""}`,
      html`<code>${method} ${path}</code><br><span class="soft name">${body}</span>`,
      state(status),
    ]);
    return {
      title: "Log of changes",
      body: html`<p class="lead">What operators have changed, here, by the command line and over HTTP. It is written before a change is made, and is never changed itself.</p><section class="card">${table("Log", columns, { rows, none: "No operator has changed anything yet." })}${nextPage("/console/log", {}, found.next_cursor)}</section>`,
    };
  },
};
