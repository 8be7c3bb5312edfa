// Commands for groups of an account's keys, and for the limits of the whole account.
import type { BudgetsShown } from "../money/accounts/budgets.ts";
import type { GroupShown } from "../money/accounts/groups.ts";
import { accountPath } from "./account-commands.ts";
import { type Command, type OptionShape, requesting, type Typed, UsageError } from "./command.ts";
import { pairs, table } from "./text.ts";

const dollars = (cents: number) => (cents / 100).toFixed(2);

/** What a group or a key may spend. */
export function ceilingText({
  ceiling_cents: cents,
  ceiling_period: period,
}: Pick<GroupShown, "ceiling_cents" | "ceiling_period">): string {
  return cents === null ? "none" : `${dollars(cents)} USD a ${period}`;
}

/** A list as it is typed: `all` for null, and `none` for an empty one. */
export function listText(list: readonly string[] | null): string {
  if (list === null) return "all";
  return list.length === 0 ? "none" : list.join(", ");
}

function groupText(group: GroupShown): string {
  return pairs([
    ["group", group.id],
    ["name", group.name],
    ["ceiling", ceilingText(group)],
    ["spent", `${dollars(group.spent_cents)} USD`],
    ["held", `${dollars(group.held_cents)} USD`],
    ["lower tiers from", group.lower_at === null ? "never" : `${group.lower_at} %`],
    ["requests a minute", String(group.requests_per_minute ?? "as the account")],
    ["tokens a minute", String(group.tokens_per_minute ?? "any")],
    ["services", listText(group.services)],
    ["models", listText(group.models)],
    ["keys", group.keys.length === 0 ? "none" : group.keys.join(", ")],
  ]);
}

export const PERIOD: OptionShape = { value: "day|week|month", meaning: "the period, month without it" };
const LOWER_AT: OptionShape = {
  value: "50|80",
  meaning: "percent of the ceiling from which on a tier is served by the one below it; or never",
};
/** How thresholds and rates of a group or a key are typed. */
export const RULES: Readonly<Record<string, OptionShape>> = {
  "lower-at": LOWER_AT,
  "requests-per-minute": { value: "COUNT", meaning: "requests in a minute; or any" },
  "tokens-per-minute": { value: "COUNT", meaning: "tokens in a minute; or any" },
};

const LIMITS: Readonly<Record<string, OptionShape>> = {
  "ceiling-cents": { value: "CENTS", meaning: "most its keys may spend together in a period; or none" },
  "ceiling-period": PERIOD,
  ...RULES,
  services: { value: "LIST", meaning: "services or service/action its keys may call, by commas; or all, or none" },
  models: { value: "LIST", meaning: "models or tiers its keys may ask for, by commas; or all, or none" },
};

/** A comma-separated list as the API takes it: null for `all`, empty for `none`. */
export function listOf(typed: Typed, option: string): readonly string[] | null | undefined {
  const text = typed.text(option);
  if (text === undefined || text === "all") return text === undefined ? undefined : null;
  return text === "none" ? [] : text.split(",").map((entry) => entry.trim());
}

const orNull = (typed: Typed, option: string, word: string) =>
  typed.text(option) === word ? null : typed.number(option);

/** The typed rules; others are absent. */
export function rulesOf(typed: Typed) {
  return {
    lower_at: orNull(typed, "lower-at", "never"),
    requests_per_minute: orNull(typed, "requests-per-minute", "any"),
    tokens_per_minute: orNull(typed, "tokens-per-minute", "any"),
  };
}

function limitsOf(typed: Typed) {
  return {
    ceiling_cents: orNull(typed, "ceiling-cents", "none"),
    ceiling_period: typed.text("ceiling-period"),
    ...rulesOf(typed),
    services: listOf(typed, "services"),
    models: listOf(typed, "models"),
  };
}

const groupsPath = (typed: Typed) => `${accountPath(typed.word("ACCOUNT"))}/groups`;
const groupPath = (typed: Typed) => `${groupsPath(typed)}/${encodeURIComponent(typed.word("GROUP"))}`;

const create = requesting<GroupShown>({
  name: "group create",
  takes: ["ACCOUNT"],
  options: { name: { value: "NAME", required: true, meaning: "what it is called, such as a team" }, ...LIMITS },
  summary: "Makes a group of an account's keys; `key limit --group` puts keys in it",
  request: (typed) => ["POST", groupsPath(typed), { name: typed.text("name"), ...limitsOf(typed) }],
  shown: groupText,
});

const list = requesting<{ groups: GroupShown[] }>({
  name: "group list",
  takes: ["ACCOUNT"],
  summary: "Lists an account's groups with what they have spent in their periods",
  request: (typed) => ["GET", groupsPath(typed)],
  shown({ groups }, _typed, columns) {
    const rows = groups.map((group) => [
      ...[group.id, group.name, ceilingText(group), dollars(group.spent_cents), dollars(group.held_cents)],
      String(group.keys.length),
    ]);
    return table(["GROUP", "NAME", "CEILING", "SPENT USD", "HELD USD", "KEYS"], rows, columns);
  },
});

const show = requesting<GroupShown>({
  name: "group show",
  takes: ["ACCOUNT", "GROUP"],
  summary: "Shows a group",
  request: (typed) => ["GET", groupPath(typed)],
  shown: groupText,
});

/** Throws UsageError where a change sets no field. */
export function named<C extends object>(change: C): C {
  if (Object.values(change).every((value) => value === undefined)) throw new UsageError("Name what is to change.");
  return change;
}

const limit = requesting<GroupShown>({
  name: "group limit",
  takes: ["ACCOUNT", "GROUP"],
  options: { name: { value: "NAME", meaning: "another name" }, ...LIMITS },
  summary: "Changes what a group may spend and call; running gateways obey at once",
  request: (typed) => ["PATCH", groupPath(typed), named({ name: typed.text("name"), ...limitsOf(typed) })],
  shown: groupText,
});

const remove = requesting<{ keys: string[] }>({
  name: "group delete",
  takes: ["ACCOUNT", "GROUP"],
  summary: "Deletes a group; its keys are in no group from then on",
  request: (typed) => ["DELETE", groupPath(typed)],
  shown: ({ keys }, typed) => `${typed.word("GROUP")} is deleted. Keys that were in it: ${keys.length}.`,
});

const budgetsPath = (typed: Typed) => `${accountPath(typed.word("ACCOUNT"))}/budgets`;

function budgetsText({ budgets, low_balance_cents: low }: BudgetsShown, _typed: Typed, columns: number): string {
  const rows = budgets.map((one) => [
    ...[one.of, one.id, one.name, `${dollars(one.ceiling_cents)} a ${one.ceiling_period}`],
    ...[dollars(one.spent_cents), dollars(one.held_cents)],
    one.lowered ? `yes, from ${one.lower_at} %` : one.lower_at === null ? "never" : `from ${one.lower_at} %`,
    one.resets_at,
  ]);
  const head = ["OF", "ID", "NAME", "CEILING USD", "SPENT USD", "HELD USD", "LOWER TIERS", "ENDS"];
  const told = low === null ? "" : `\nA balance below ${dollars(low)} USD raises an event.`;
  return `${table(head, rows, columns)}${told}`;
}

const budgetShow = requesting<BudgetsShown>({
  name: "budget show",
  takes: ["ACCOUNT"],
  summary: "Shows every ceiling of an account, its groups, keys and tags, and what they have come to",
  request: (typed) => ["GET", budgetsPath(typed)],
  shown: budgetsText,
});

const budgetSet = requesting<BudgetsShown>({
  name: "budget set",
  takes: ["ACCOUNT"],
  options: {
    "ceiling-cents": { value: "CENTS", meaning: "most the account may spend in a period; or none" },
    "ceiling-period": PERIOD,
    "lower-at": LOWER_AT,
    "low-balance-cents": { value: "CENTS", meaning: "an event is raised when the balance falls below this; or none" },
  },
  summary: "Sets an account's own ceiling, and which balance is low",
  request(typed) {
    const cents = orNull(typed, "ceiling-cents", "none");
    const low = orNull(typed, "low-balance-cents", "none");
    if (cents === undefined && low === undefined) throw new UsageError("Name --ceiling-cents or --low-balance-cents.");
    const ceiling = {
      ceiling_cents: cents,
      ceiling_period: typed.text("ceiling-period"),
      lower_at: orNull(typed, "lower-at", "never"),
    };
    return ["PATCH", budgetsPath(typed), { account: cents == null ? cents : ceiling, low_balance_cents: low }];
  },
  shown: budgetsText,
});

export const GROUP_COMMANDS: readonly Command[] = [create, list, show, limit, remove, budgetShow, budgetSet];
