// Budgets: each ceiling with its use and the thresholds it has passed; groups of keys; tags; the low-balance alert.

import type { BudgetsShown } from "../../../money/accounts/budgets.ts";
import type { GroupShown } from "../../../money/accounts/groups.ts";
import { type Html, html } from "../html.ts";
import { nothingElse } from "../kit/ask.ts";
import { meter } from "../kit/charts.ts";
import { buttonForm, centsIn, field, PERIODS, type PostForm, postForm } from "../kit/forms.ts";
import type { Section, Visit } from "../kit/sections.ts";
import { card, moneyOfCents, pill, rowsOf, table, time } from "../kit/shown.ts";
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
  const columns = ["Of", "Used", "Marks|large", "Resets (UTC)|large"];
  const others = Math.max(0, budgets.length - SHOWN_MAX);
  const rest =
    others === 0
      ? ""
      : html`<p class="soft">and ${others} of which less is taken; those of keys stand with the keys</p>`;
  const shown = budgets.toSorted((a, b) => usedOf(b) - usedOf(a)).slice(0, SHOWN_MAX);
  return html`${table("Budgets", columns, {
    none: "Only the balance limits spending. Give keys, groups or tags a ceiling.",
    rows: shown.map((one) => [
      html`<strong class="name">${one.name}</strong><br><span class="soft">${one.of}</span>`,
      html`${moneyOfCents(takenOf(one))} <span class="soft">of ${moneyOfCents(one.ceiling_cents)} a ${one.ceiling_period}</span>${meter(usedOf(one))}`,
      marksOf(one),
      time(one.resets_at),
    ]),
  })}${rest}`;
}

function ceilingFields(within: string, first: Html): Html {
  return html`<div class="fields">${first}
${field({ name: "ceiling", label: "May spend", note: "dollars", type: "number", required: true }, within)}
${field({ name: "period", label: "in", value: "month", options: PERIODS }, within)}
${field({ name: "lower", label: "Cheaper tier from", options: LOWERS }, within)}</div>`;
}

function ceilingIn(fields: Visit["fields"]) {
  return {
    ceiling_cents: centsIn(fields.ceiling) ?? null,
    ceiling_period: fields.period,
    ...(fields.lower ? { lower_at: Number(fields.lower) } : {}),
  };
}

async function tagBudgets({ ask }: Visit) {
  const now = await ask<BudgetsShown>("GET", "/api/v1/budgets");
  return now.budgets
    .filter((one) => one.of === "tag")
    .map(({ id, ceiling_cents, ceiling_period, lower_at }) => ({ tag: id, ceiling_cents, ceiling_period, lower_at }));
}

function setTags(visit: Visit, tags: readonly unknown[]): Promise<null> {
  return nothingElse(visit.ask("PATCH", "/api/v1/budgets", { tags }));
}

function groupsTable(form: Omit<PostForm, "act">, groups: readonly GroupShown[]): Html {
  const columns = ["Group", "Ceiling", "Keys|num", "Do"];
  return table("Groups", columns, {
    none: "There is no group yet. A group limits several keys together, such as those of a team.",
    rows: rowsOf(groups, ({ id, name, ceiling_cents, ceiling_period, keys }) => [
      html`<strong class="name">${name}</strong>`,
      ceiling_cents === null ? "none" : html`${moneyOfCents(ceiling_cents)} a ${ceiling_period ?? "day"}`,
      String(keys.length),
      buttonForm({ ...form, act: "ungroup", hidden: { id } }, "Delete", { label: name, kind: "danger small" }),
    ]),
  });
}

export const budgetsSection: Section = {
  path: "/account/budgets",
  place: "/account/budgets",
  acts: {
    group: {
      told: "The group was created. Add keys to it under Keys",
      async run(visit) {
        const bounds = visit.fields.ceiling === "" ? {} : ceilingIn(visit.fields);
        return nothingElse(visit.ask("POST", "/api/v1/groups", { name: visit.fields.name, ...bounds }));
      },
    },
    ungroup: {
      told: "The group was deleted. Its keys are in no group now",
      run: (visit) => nothingElse(visit.ask("DELETE", `/api/v1/groups/${encodeURIComponent(visit.fields.id ?? "")}`)),
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
        return setTags(
          visit,
          before.filter((one) => one.tag !== visit.fields.tag),
        );
      },
    },
    low: {
      told: "The low-balance mark was saved",
      run: (visit) =>
        nothingElse(visit.ask("PATCH", "/api/v1/budgets", { low_balance_cents: centsIn(visit.fields.low) ?? null })),
    },
  },
  async show({ ask, csrf, request }) {
    const now = await ask<BudgetsShown>("GET", "/api/v1/budgets");
    const grouped = await ask<{ groups: readonly GroupShown[] }>("GET", "/api/v1/groups");
    const { groups } = grouped;
    const form = { action: request.path, csrf };
    const untag = now.budgets.flatMap(({ of, id }) =>
      of === "tag"
        ? [buttonForm({ ...form, act: "untag", hidden: { tag: id } }, `No ceiling for ${id}`, { kind: "danger small" })]
        : [],
    );
    const low = now.low_balance_cents === null ? "" : dollars(now.low_balance_cents);
    const name = field({ name: "name", label: "Name of a new group", required: true }, "group");
    const tag = field({ name: "tag", label: "Tag", required: true, placeholder: "team=red" }, "tag");
    return {
      title: "Budgets",
      body: html`<p class="lead">A ceiling refuses calls that would exceed it. It sends an event at 50, 80 and 100 %, and can switch to a cheaper tier before it refuses.</p>
${card("Ceilings", html`${budgetsTable(now.budgets)}${untag}`)}
${card("Groups", html`${groupsTable(form, groups)}${postForm({ ...form, act: "group" }, html`${ceilingFields("group", name)}<div class="buttons"><button>Create the group</button></div>`)}`)}
<div class="grid">${card("A ceiling for a tag", postForm({ ...form, act: "tag" }, html`${ceilingFields("tag", tag)}<div class="buttons"><button>Set the ceiling</button></div>`))}
${card("Low balance", postForm({ ...form, act: "low" }, html`${field({ name: "low", label: "Notify me below", note: "dollars, empty: never", type: "number", value: low }, "low")}<div class="buttons"><button>Save</button></div>`))}</div>`,
    };
  },
};
