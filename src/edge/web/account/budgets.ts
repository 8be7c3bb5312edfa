// Budgets: each ceiling with its use and the thresholds it has passed; groups of keys; tags; the low-balance alert.

import type { BudgetsShown } from "../../../money/accounts/budgets.ts";
import type { GroupShown } from "../../../money/accounts/groups.ts";
import { type Html, html } from "../html.ts";
import { meter } from "../kit/charts.ts";
import { buttonForm, centsIn, type Field, type FormBase, PERIODS, postForm } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import { card, moneyOfCents, pill, tableOf, time } from "../kit/shown.ts";
import { dollars } from "../words.ts";

type BudgetShown = BudgetsShown["budgets"][number];

const LOWERS = [
  ["", "never"],
  ["50", "50 %"],
  ["80", "80 %"],
] as const;

function marksOf({ marks_passed, lowered }: BudgetShown): Html {
  const marks = marks_passed.map((mark) => pill(`${mark} %`, mark === 100 ? "bad" : "warn"));
  return html`${marks} ${lowered ? pill("lowered", "warn") : ""}`;
}

/** Up to a thousand keys may have ceilings; the fullest ones matter most. */
const SHOWN_MAX = 50;

const takenOf = (one: BudgetShown) => one.spent_cents + one.held_cents + one.absorbed_cents;
const usedOf = (one: BudgetShown) => (one.ceiling_cents === 0 ? 1 : takenOf(one) / one.ceiling_cents);

/** An account's ceilings, fullest first. */
export function budgetsTable(budgets: readonly BudgetShown[]): Html {
  const others = Math.max(0, budgets.length - SHOWN_MAX);
  const rest =
    others === 0 ? "" : html`<p class="soft">and ${others} with less use; find those of keys on the page of keys</p>`;
  const shown = budgets.toSorted((a, b) => usedOf(b) - usedOf(a)).slice(0, SHOWN_MAX);
  const none = "Only the balance limits spending. Give keys, groups or tags a ceiling.";
  return html`${tableOf("Budgets", shown, none, {
    "Limit of": (one) => html`<strong class="name">${one.name}</strong><br><span class="soft">${one.of}</span>`,
    Used: (one) =>
      html`${moneyOfCents(takenOf(one))} <span class="soft">of ${moneyOfCents(one.ceiling_cents)} a ${one.ceiling_period}</span>${meter(usedOf(one))}`,
    "Passed|large": marksOf,
    "Resets (UTC)|large": (one) => time(one.resets_at),
  })}${rest}`;
}

const ceilingFields = (first: Field): readonly Field[] => [
  first,
  { name: "ceiling", label: "May spend", note: "dollars", type: "number", required: true },
  { name: "period", label: "in", value: "month", options: PERIODS },
  { name: "lower", label: "Cheaper tier from", options: LOWERS },
];

function ceilingIn(fields: Visit["fields"]) {
  return {
    ceiling_cents: centsIn(fields.ceiling) ?? null,
    ceiling_period: fields.period,
    ...(fields.lower ? { lower_at: Number(fields.lower) } : {}),
  };
}

async function tagBudgets({ ask }: Visit) {
  const { budgets } = await ask<BudgetsShown>("GET", "/api/v1/budgets");
  return budgets
    .filter((one) => one.of === "tag")
    .map(({ id, ceiling_cents, ceiling_period, lower_at }) => ({ tag: id, ceiling_cents, ceiling_period, lower_at }));
}

function setTags(visit: Visit, tags: readonly unknown[]): Promise<unknown> {
  return visit.ask("PATCH", "/api/v1/budgets", { tags });
}

function groupsTable(form: FormBase, groups: readonly GroupShown[]): Html {
  const none = "There is no group yet. A group limits several keys together, such as those of a team.";
  return tableOf("Groups", groups, none, {
    Group: ({ name }) => html`<strong class="name">${name}</strong>`,
    Ceiling: ({ ceiling_cents: cents, ceiling_period: period }) =>
      cents === null ? "none" : html`${moneyOfCents(cents)} a ${period ?? "day"}`,
    "Keys|num": ({ keys }) => String(keys.length),
    "Actions|acts": ({ id, name: label }) =>
      buttonForm({ ...form, act: "ungroup", hidden: { id } }, "Delete", { label, kind: "danger small" }),
  });
}

export const budgetsSection: Section = {
  path: "/account/budgets",
  acts: {
    group: {
      told: "The group was created. Add keys to it under Keys",
      async run(visit) {
        const bounds = visit.fields.ceiling === "" ? {} : ceilingIn(visit.fields);
        return visit.ask("POST", "/api/v1/groups", { name: visit.fields.name, ...bounds });
      },
    },
    ungroup: {
      told: "The group was deleted. Its keys are in no group now",
      run: (visit) => visit.ask("DELETE", `/api/v1/groups/${encodeURIComponent(visit.fields.id ?? "")}`),
    },
    tag: {
      told: "The tag has a ceiling",
      async run(visit) {
        const before = await tagBudgets(visit);
        const tag = visit.fields.tag ?? "";
        return setTags(visit, [...before.filter((one) => one.tag !== tag), { tag, ...ceilingIn(visit.fields) }]);
      },
    },
    untag: {
      told: "The ceiling was removed",
      async run(visit) {
        const before = await tagBudgets(visit);
        const left = before.filter((one) => one.tag !== visit.fields.tag);
        return setTags(visit, left);
      },
    },
    low: {
      told: "The low-balance mark was saved",
      run: (visit) => visit.ask("PATCH", "/api/v1/budgets", { low_balance_cents: centsIn(visit.fields.low) ?? null }),
    },
  },
  async show({ ask, csrf, request }) {
    const { budgets, low_balance_cents: low } = await ask<BudgetsShown>("GET", "/api/v1/budgets");
    const { groups } = await ask<{ groups: readonly GroupShown[] }>("GET", "/api/v1/groups");
    const form = { action: request.path, csrf };
    const untag = budgets.flatMap(({ of, id }) =>
      of === "tag"
        ? [buttonForm({ ...form, act: "untag", hidden: { tag: id } }, `No ceiling for ${id}`, { kind: "danger small" })]
        : [],
    );
    const post = (act: string, fields: readonly Field[], words: string) =>
      postForm({ ...form, act }, fields, words, { within: act });
    const name: Field = { name: "name", label: "Name of a new group", required: true };
    const tag: Field = { name: "tag", label: "Tag", required: true, placeholder: "team=red" };
    const mark = low === null ? "" : dollars(low);
    const below: Field = {
      name: "low",
      label: "Notify me below",
      note: "dollars, empty: never",
      type: "number",
      value: mark,
    };
    return {
      title: "Budgets",
      body: html`<p class="lead">A ceiling refuses calls that would exceed it. It sends an event at 50, 80 and 100 %, and can switch to a cheaper tier before it refuses.</p>
${card("Ceilings", html`${budgetsTable(budgets)}${untag}`)}
${card("Groups", html`${groupsTable(form, groups)}${post("group", ceilingFields(name), "Create the group")}`)}
<div class="grid">${card("A ceiling for a tag", post("tag", ceilingFields(tag), "Set the ceiling"))}${card("Low balance", post("low", [below], "Save"))}</div>`,
    };
  },
};
