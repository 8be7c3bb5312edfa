// Commands that need no gateway but use a running one: settings and prices; and the sandbox upstream on its own.

import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { TierPriceRow } from "../catalog/price-answers.ts";
import type { PriceList } from "../catalog/price-check.ts";
import type { PriceRow, UnitPriceRow } from "../catalog/price-table.ts";
import type { ModelsUpdate } from "../catalog/updates/update.ts";
import { systemClock } from "../core/clock.ts";
import { atOnce } from "../core/slices.ts";
import type { LossRow, UnpricedRow } from "../gateway/losses.ts";
import type { Setup } from "../gateway/setup.ts";
import { configuredWords } from "../gateway/start-words.ts";
import { type Config, describeSettings } from "../platform/config.ts";
import { askedOr } from "./admin-client.ts";
import { type Command, CommandError, UsageError } from "./command.ts";
import { table } from "./text.ts";

/** Only prices are read and nothing is called, so the sandbox's address does not matter. */
const NOWHERE = "http://127.0.0.1:1";

/** The catalog from the current files, with `update` instead of the stored model list. */
export async function catalogOf(settings: Config, update?: ModelsUpdate) {
  const [{ loadCatalog }, { readModelsFile }] = await Promise.all([
    import("../catalog/load.ts"),
    import("../catalog/updates/models-file.ts"),
  ]);
  return loadCatalog({
    update: update ?? (await readModelsFile(settings)),
    env: settings.vendorEnv,
    clock: systemClock,
    sandboxOrigin: settings.sandboxUrl ?? NOWHERE,
    contact: settings.contact,
    overlayDir: settings.overlayDir,
    markupPercent: settings.markupPercent,
    allowLoss: settings.allowLoss,
  });
}

/** The table of all settings, as `tollgate config --help` shows it. */
export function settingsText(columns: number): string {
  const rows = describeSettings().map((row) => [row.name, row.default, row.meaning]);
  return table(["VARIABLE", "DEFAULT", "MEANING"], rows, columns);
}

/** The same as in docs/reference/settings.md. */
function settingsMarkdown(): string {
  const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
  const rows = describeSettings().map((row) => `| ${cell(row.name)} | ${cell(row.default)} | ${cell(row.meaning)} |`);
  return ["| Variable | Default | Meaning |", "|---|---|---|", ...rows].join("\n");
}

const config: Command = {
  name: "config",
  options: { markdown: { value: null, meaning: "explain all settings as the table of docs/reference/settings.md" } },
  summary:
    "Shows the settings in force, secrets masked, and the providers configured; with --help, explains all settings",
  async run(typed, { config: settings, admin, columns }) {
    if (typed.flag("markdown")) return { json: describeSettings(), text: settingsMarkdown() };
    const asked = await askedOr(
      () => admin.call<{ settings: Config["effective"] }>("GET", "/admin/v1/config"),
      async () => ({ settings: settings.effective }),
    );
    const setup = asked.from === "gateway" ? await admin.call<Setup>("GET", "/admin/v1/providers") : null;
    const configured = setup === null ? "" : `\n\n${configuredWords(setup).join("\n")}`;
    const rows = asked.answer.settings.map(({ name, value, from }) => [name, value, from === "default" ? "" : "set"]);
    return {
      json: { from: asked.from, settings: asked.answer.settings },
      text: asked.told(`${table(["VARIABLE", "VALUE", ""], rows, columns)}${configured}`),
    };
  },
};

/** The gateway's prices, and today's losses by them. */
interface Listed {
  readonly losses: readonly LossRow[];
  readonly unpriced: readonly UnpricedRow[];
  readonly tiers: readonly TierPriceRow[];
  readonly models: readonly PriceRow[];
  readonly unit_models: readonly UnitPriceRow[];
}

/** A line for each model that cost more today than it sold for, and for each counter without a price. */
function lossLines({ losses, unpriced }: Listed): readonly string[] {
  const lost = losses.map(({ provider, model, charged_usd, upstream_usd, percent, rests }) => {
    const rest = rests ? "; it rests behind others until midnight" : "";
    return `Lost today: ${model} at ${provider} cost ${upstream_usd} USD and was charged ${charged_usd}, a loss of ${percent} %${rest}.`;
  });
  const counted = unpriced.map(
    ({ provider, counter, answers }) => `Not priced: ${answers} answers of ${provider} count ${counter} today.`,
  );
  return [...lost, ...counted];
}

/** The enabled providers that are not used for a model, because it costs more there than it sells for. */
function dearTable({ models }: Listed, columns: number): readonly string[] {
  const rows = models.flatMap(({ model, tooDear }) => tooDear.map((provider) => [provider, model]));
  if (rows.length === 0) return [];
  const asks = "LLM_MARKUP_PERCENT raises what they are sold for, ALLOW_LOSS=1 asks anyway.";
  return [`${table(["NOT ASKED", "COSTS MORE THERE THAN IT IS SOLD FOR"], rows, columns)}\n\n${asks}`];
}

const prices: Command = {
  name: "prices",
  options: {
    sandbox: { value: null, meaning: "as sandbox accounts see it: every provider counts as configured" },
    available: { value: null, meaning: "only what a configured provider serves" },
  },
  summary: "Lists what every model costs and which providers serve it",
  async run(typed, { config: settings, admin, columns }) {
    const of = await import("../catalog/price-table.ts");
    const sandbox = typed.flag("sandbox");
    const asked = await askedOr(
      () => admin.call<Listed>("GET", `/admin/v1/prices?sandbox=${sandbox ? 1 : 0}`),
      async () => {
        const catalog = await catalogOf(settings);
        const unit_models = atOnce(of.unitPriceRows(catalog, { sandbox }));
        const tiers = (await import("../catalog/price-answers.ts")).tierPriceRows(catalog, { sandbox });
        return { tiers, models: atOnce(of.priceRows(catalog, { sandbox })), unit_models, losses: [], unpriced: [] };
      },
    );
    const { losses, unpriced } = asked.answer;
    const isListed = ({ providers }: PriceRow | UnitPriceRow) => providers.length > 0 || !typed.flag("available");
    const tiers = asked.answer.tiers.filter(({ available }) => available || !typed.flag("available"));
    const [models, unit_models] = [asked.answer.models.filter(isListed), asked.answer.unit_models.filter(isListed)];
    const lines = [...tiers.flatMap(of.tierPriceLines), ...models.flatMap(of.priceLines)];
    const byToken = `${of.PRICE_TITLE}\n\n${table(of.PRICE_HEADING, lines, columns)}`;
    const unitCells = unit_models.map(of.unitPriceCells);
    const byUnit = `${of.UNIT_PRICE_TITLE}\n\n${table(of.UNIT_PRICE_HEADING, unitCells, columns)}`;
    const told = [...dearTable(asked.answer, columns), ...lossLines(asked.answer)];
    return {
      json: { from: asked.from, tiers, models, unit_models, losses, unpriced },
      text: asked.told([`${byToken}\n\n${byUnit}`, ...told].join("\n\n")),
    };
  },
};

/** The list against which the tests check the prices; an image does not contain it. */
const CHECKED_LIST = fileURLToPath(new URL("../../test/fixtures/prices/list.json", import.meta.url));

/** The list in the named file, or by default that of the checkout. */
async function priceListIn(named: string | undefined): Promise<PriceList> {
  if (named === undefined && !existsSync(CHECKED_LIST)) {
    throw new CommandError("No list of prices is installed here; name one with --file.");
  }
  const path = named ?? CHECKED_LIST;
  const { priceListOf } = await import("../catalog/price-check.ts");
  try {
    return priceListOf(JSON.parse(await readFile(path, "utf8")));
  } catch (error) {
    throw new CommandError(`${path} is not a list of prices: ${error instanceof Error ? error.message : error}`);
  }
}

const pricesCheck: Command = {
  name: "prices check",
  options: {
    file: { value: "PATH", meaning: "a list in the format of genai-prices, in place of the checkout's" },
    day: { value: "DATE", meaning: "as YYYY-MM-DD, in place of today" },
  },
  summary: "Holds the catalog's prices against a public list; exits with 1 where they differ and no adapter says why",
  async run(typed, { config: settings, columns }) {
    const { checkPrices, isFault } = await import("../catalog/price-check.ts");
    const list = await priceListIn(typed.text("file"));
    const day = typed.text("day") ?? new Date(systemClock.epochMs()).toISOString().slice(0, 10);
    if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new UsageError(`--day takes YYYY-MM-DD, not ${JSON.stringify(day)}.`);
    const catalog = await catalogOf(settings);
    const adapters = new Map([...catalog.adapters({ sandbox: true })].map(([id, { spec }]) => [id, spec]));
    const found = checkPrices(adapters, catalog, list, day);
    const faults = found.differences.filter(isFault);
    const rows = found.differences.map((one) => [
      ...[`${one.provider}/${one.upstream_model}`, one.cost, one.difference === "ended" ? "ended" : one.listed],
      ...[one.sale, one.at_a_loss ? "at a loss" : "", one.note ?? ""],
    ]);
    const head = ["MODEL", "COST", "LISTED", "SALE", "", "NOTE"];
    const sum = `${found.compared} models compared, ${faults.length} to mend; the list does not know ${found.unknown.length}.`;
    const shown = `USD per million tokens, input/output/cached\n\n${table(head, rows, columns)}\n\n${sum}`;
    const json = { day, ...found, faults: faults.length };
    return { json, text: rows.length === 0 ? sum : shown, good: faults.length === 0 };
  },
};

const sandbox: Command = {
  name: "sandbox",
  options: {
    host: { value: "ADDRESS", meaning: "where to listen, 127.0.0.1 without it" },
    port: { value: "PORT", meaning: "8090 without it; 0 takes a free one" },
  },
  summary: "Runs the sandbox upstream alone, until it is stopped",
  async run(typed, { say, config: settings }) {
    const [{ startSandbox }, { vendorsOf }, { SOCKET_STAND_INS, STAND_INS }] = await Promise.all([
      import("../sandbox/server.ts"),
      import("../sandbox/action-vendors.ts"),
      import("../models/formats/stand-ins.ts"),
    ]);
    const vendors = vendorsOf(await catalogOf(settings));
    const server = await startSandbox({
      dialects: STAND_INS,
      sockets: SOCKET_STAND_INS,
      host: typed.text("host") ?? "127.0.0.1",
      port: typed.number("port") ?? 8090,
      adapters: () => vendors,
    });
    say(`The sandbox upstream listens on ${server.url}; GET ${server.url}/ lists what it can do.`);
    await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
    const books = server.books();
    await server.close();
    return { json: books, text: "Stopped." };
  },
};

export const LOCAL_COMMANDS: readonly Command[] = [prices, pricesCheck, config, sandbox];
