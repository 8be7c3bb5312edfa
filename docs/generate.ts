// Writes what the pages say of the code's own tables, so that nobody copies them by hand: `npm run docs`.
import { readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { consultAction } from "../src/actions/composites/consult.ts";
import { produceActions } from "../src/actions/composites/demos/produce.ts";
import { onefind } from "../src/actions/composites/onefind.ts";
import { onefindDeep } from "../src/actions/composites/onefind-deep.ts";
import { onescrapeAction } from "../src/actions/composites/onescrape.ts";
import { onescrapeDeep } from "../src/actions/composites/onescrape-deep.ts";
import { onesearchActions } from "../src/actions/composites/onesearch.ts";
import { filesActions } from "../src/actions/files/file-actions.ts";
import { cancelAction } from "../src/actions/jobs/cancel-action.ts";
import { type CatalogAction, openActionCatalog } from "../src/actions/run/action-catalog.ts";
import { descriptorOf } from "../src/actions/run/descriptor.ts";
import { discoverAction } from "../src/actions/run/discover.ts";
import { tableOf } from "../src/actions/run/params-schema.ts";
import { resultAction } from "../src/actions/run/result-action.ts";
import { sessionActions } from "../src/actions/sessions/session-actions.ts";
import type { Adapter, Catalog } from "../src/catalog/catalog.ts";
import { envName, walletVariable } from "../src/catalog/configure.ts";
import { loadCatalog } from "../src/catalog/load.ts";
import { beliefsAbout } from "../src/catalog/spec.ts";
import { run } from "../src/cli/run.ts";
import { systemClock } from "../src/core/clock.ts";
import { ERRORS, type ErrorCode, type ErrorRow } from "../src/core/errors.ts";
import { FAILURES, type FailureRow } from "../src/core/failures.ts";
import { fullPriceWords } from "../src/edge/web/words.ts";
import { errorType } from "../src/models/formats/error-object.ts";
import { METRICS, type MetricRow, metricType } from "../src/platform/observe/metrics.ts";

/** A page with generated parts; each stands between `<!-- <name>: begin` and `<!-- <name>: end -->`. */
interface Page {
  readonly path: string;
  readonly parts: Readonly<Record<string, string>>;
}

const ROOT = new URL("../", import.meta.url);

/** Text for a cell; code is shown as it is, so only what is not code may need an entity. */
function cell(text: string): string {
  const parts = text.replaceAll("|", "\\|").split("`");
  return parts.map((part, at) => (at % 2 === 0 ? part.replaceAll("<", "&lt;") : part)).join("`");
}

function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(heading), `|${"---|".repeat(heading.length)}`, ...rows.map(line)].join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}

/** The settings exactly as `tollgate config --markdown` prints them. */
async function settings(): Promise<string> {
  const lines: string[] = [];
  const keep = (text: string) => lines.push(text);
  await run(["config", "--markdown"], { environment: {}, out: keep, err: keep });
  return lines.join("\n");
}

/** What must be set for an adapter to be configured, or for one of its actions. */
function keyWords({ id, spec }: Adapter, action = ""): string {
  const names =
    spec.keyParts?.map(code).join(" and ") ?? (spec.keyEnv ?? [envName(id, "API_KEY")]).map(code).join(" or ");
  if (spec.waitsFor !== undefined) return "cannot be paid yet";
  if (spec.auth.rails !== undefined) return spec.auth.rails.map((rail) => code(walletVariable(rail))).join(" or ");
  const contact = spec.contact === "required" ? code("CONTACT") : "none";
  const logins = (spec.otherLogins ?? []).map(({ keyParts, keyEnv = [] }) =>
    (keyParts ?? keyEnv).map(code).join(" and "),
  );
  const named = spec.deployments === true ? ` and ${code(envName(id, "DEPLOYMENTS"))}` : "";
  const address = Object.values(spec.settings ?? {}).filter(({ fallback }) => fallback === undefined);
  const parts = address.map(({ env }) => ` and ${code(env[0] ?? "")}`).join("");
  if (spec.local === true && spec.actions !== undefined) return code(envName(id, "BASE_URL"));
  if (spec.auth.keyless === true) return contact;
  const { selfHosted } = spec;
  if (selfHosted !== undefined && !selfHosted.lacks?.includes(action))
    return `${names}, or ${code(envName(id, "BASE_URL"))}`;
  return spec.keyOptional === true ? `${names}, optional` : [names, ...logins].join(", or ") + parts + named;
}

/** Everything that can be called as an action. Of those served by the gateway itself only what they say of themselves is read. */
function allActions(catalog: Catalog): readonly CatalogAction[] {
  const unused = {} as never;
  const ours = [discoverAction(unused), resultAction(unused), cancelAction(unused), ...filesActions(unused)];
  const tierOf = (name: string) => () => catalog.compositeTiers.get(name) as never;
  const reading = { ladder: tierOf("onescrape"), readsDirectly: true } as never;
  const pages = [onescrapeAction(reading), onescrapeDeep(reading)];
  const search = onesearchActions({ pages: reading, facets: tierOf("onesearch") } as never);
  const finder = tierOf("onefind");
  const composites = [...pages, ...search, onefind(finder), onefindDeep(finder), consultAction(unused)];
  // As where the operator has ffmpeg, and no browser.
  const demos = produceActions({ pages: reading, maker: tierOf("demo"), chromiumPath: null, ffmpegPath: "/ffmpeg" });
  const sessions = { deps: unused, vendor: unused, commands: unused, unclosed: unused };
  const actionCatalog = openActionCatalog(
    () => catalog,
    [...ours, ...composites, ...demos],
    (adapter) => sessionActions(adapter, sessions),
  );
  return actionCatalog.all({ sandbox: false });
}

/** What has to be set for an action to be served; one of our own may need one of several. */
function keysOf(action: CatalogAction, all: readonly CatalogAction[]): readonly string[] {
  if (action.vendors.length > 0) return action.vendors.map((one) => keyWords(one, action.action));
  const needs = new Set((action.kind === "local" ? action.local.needs?.({ sandbox: false }) : null) ?? []);
  return needs.size === 0 ? ["none"] : all.filter(({ id }) => needs.has(id)).flatMap((one) => keysOf(one, all));
}

function actionRow(action: CatalogAction, all: readonly CatalogAction[]): readonly string[] {
  const { price, description } = descriptorOf(action);
  const rows = tableOf(action);
  const says = rows === null ? description : `${description} ${rows.count} values of ${code(rows.param)}.`;
  const keys = new Set(keysOf(action, all));
  const beliefs = action.vendors.flatMap(({ spec }) => beliefsAbout(spec, action.action));
  const unsure = beliefs.length === 0 ? "" : ` *Not confirmed yet: ${beliefs.join("; ")}.*`;
  return [code(action.id), fullPriceWords(price), says + unsure, [...keys].join(" or ")];
}

async function catalogTables() {
  const catalog = await loadCatalog({
    env: {},
    clock: systemClock,
    sandboxOrigin: null,
    contact: null,
    overlayDir: null,
    markupPercent: 0,
    allowLoss: false,
  });
  const sellers = [...catalog.adapters({ sandbox: false }).values()].filter(
    ({ spec }) => spec.chat !== undefined || spec.embeddings !== undefined || spec.unitModels !== undefined,
  );
  const providers = sellers.map((adapter) => [
    adapter.spec.name,
    keyWords(adapter),
    code(envName(adapter.id, "BASE_URL")),
    chatWords(adapter),
    adapter.spec.local ? "any" : modelCount(adapter.spec.embeddings),
    String(Object.keys(adapter.spec.unitModels ?? {}).length),
    beliefsAbout(adapter.spec, "*").join("; "),
    fileLink(adapter.id),
  ]);
  const tiers = [...catalog.tiers.values()].map(({ id, purpose, models }) => [
    code(`core/${id}`),
    purpose,
    code(models[0] ?? ""),
    String(models.length),
    `[${id}.ts](../../tiers/${id}.ts)`,
  ]);
  const actions = allActions(catalog);
  return {
    providers: table(
      ["Provider", "Key", "Base URL", "Chat models", "Embedding models", "Other models", "Not confirmed yet", "File"],
      providers,
    ),
    tiers: table(["Tier", "For", "First choice", "Candidates", "File"], tiers),
    actions: table(
      ["Action", "Price", "What it does", "Key"],
      actions.map((one) => actionRow(one, actions)),
    ),
    machines: table(
      [
        ...["Provider", "Machine", "An hour", "Longest life", "Languages of `code`", "Templates", "Key"],
        ...["Not confirmed yet", "File"],
      ],
      sessionRows(catalog),
    ),
  };
}

/** The machines that are sold by the minute. */
function sessionRows(catalog: Catalog): readonly (readonly string[])[] {
  const sellers = [...catalog.adapters({ sandbox: false }).values()];
  return sellers.flatMap((adapter) => {
    const { sessions } = adapter.spec;
    if (sessions === undefined) return [];
    const { vcpus, memoryGb, centsPerHour, metered, minutesMax, languages, templates = [] } = sessions;
    const hour = `${centsPerHour}¢${metered === "busy" ? ", while a command runs" : ""}`;
    const life = minutesMax % 60 === 0 ? `${minutesMax / 60} h` : `${minutesMax} min`;
    return [
      [
        code(adapter.id),
        `${vcpus} vCPU, ${memoryGb} GB`,
        hour,
        life,
        languages.join(", "),
        templates.map(code).join(", ") || "none",
        keyWords(adapter),
        beliefsAbout(adapter.spec, "*").join("; "),
        fileLink(adapter.id),
      ],
    ];
  });
}

/** Where an adapter stands: in a file of its own, or in a table. */
function fileLink(id: string): string {
  const row = new RegExp(`^  "?${id}"?: \\{$`, "m");
  const folder = new URL("adapters/", ROOT);
  const names = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  const table = names.find((name) => row.test(readFileSync(new URL(name, folder), "utf8")));
  const file = names.includes(`${id}.ts`) ? `${id}.ts` : table;
  return `[${file}](../../adapters/${file})`;
}

function chatWords({ id, spec: { chat } }: Adapter): string {
  if (chat?.anyModel === undefined) return modelCount(chat);
  return chat.anyModel.prices.length > 0 ? `any, as ${code(`${id}/<model>`)}` : `as ${code(envName(id, "MODEL"))} says`;
}

function modelCount(sells: { readonly models: object } | undefined): string {
  return String(Object.keys(sells?.models ?? {}).length);
}

/** A message with its `{name}` places shown as such. */
function errorRows(): readonly (readonly string[])[] {
  return Object.entries<ErrorRow>(ERRORS).map(([name, row]) => [
    code(name),
    String(row.status),
    row.retry ? "yes" : "no",
    code(errorType(name as ErrorCode)),
    row.message,
    row.hint,
  ]);
}

function hintRows(): readonly (readonly string[])[] {
  return Object.entries<ErrorRow>(ERRORS).flatMap(([name, { hints = {} }]) =>
    Object.entries(hints).map(([of, hint]) => [code(name), of.replaceAll("_", " "), hint]),
  );
}

function failureRows(): readonly (readonly string[])[] {
  const yes = (value = false) => (value ? "yes" : "no");
  return Object.entries<FailureRow>(FAILURES).map(([name, row]) => [
    code(name),
    row.fault,
    yes(row.sameRoute),
    row.nextRoute === "once" ? "once" : yes(row.nextRoute),
    yes(row.rests),
    code(row.code),
  ]);
}

function metricRows(): readonly (readonly string[])[] {
  return Object.values<MetricRow>(METRICS).map((row) => [
    code(row.name),
    metricType(row),
    (row.labels ?? []).map(code).join(" "),
    row.help,
  ]);
}

/** Every page with the parts that belong into it. */
export async function pages(): Promise<readonly Page[]> {
  const { providers, tiers, actions, machines } = await catalogTables();
  return [
    { path: "docs/reference/settings.md", parts: { settings: await settings(), providers, tiers } },
    { path: "docs/reference/catalog.md", parts: { actions } },
    { path: "docs/guides/sessions.md", parts: { machines } },
    {
      path: "docs/reference/errors.md",
      parts: {
        codes: table(["Code", "Status", "Retry", "OpenAI type", "Message", "Hint"], errorRows()),
        hints: table(["Code", "About", "Hint"], hintRows()),
        failures: table(
          ["Class", "Fault", "Same route again", "Next route", "Counts against the route", "Code for the caller"],
          failureRows(),
        ),
      },
    },
    {
      path: "docs/reference/metrics.md",
      parts: { metrics: table(["Metric", "Type", "Labels", "Meaning"], metricRows()) },
    },
  ];
}

/** The page's text with its parts put in. Throws where the page has no place for one. */
export function filled(text: string, { path, parts }: Page): string {
  let page = text;
  for (const [name, part] of Object.entries(parts)) {
    const place = new RegExp(`(<!-- ${name}: begin[^>]*-->\\n)[\\s\\S]*?(<!-- ${name}: end -->)`);
    if (!place.test(page)) throw new Error(`${path} has no place for ${name}`);
    page = page.replace(place, (_, begin: string, end: string) => `${begin}${part}\n${end}`);
  }
  return page;
}

/** The text of a page as it lies in the repository. */
export function pageText(path: string): Promise<string> {
  return readFile(new URL(path, ROOT), "utf8");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of await pages()) await writeFile(new URL(page.path, ROOT), filled(await pageText(page.path), page));
}
