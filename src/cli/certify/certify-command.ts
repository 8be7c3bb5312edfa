// `tollgate certify`: small real calls to the vendors with keys, compared with their adapters; without keys to the stand-ins.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Adapter, Catalog } from "../../catalog/catalog.ts";
import { systemClock } from "../../core/clock.ts";
import { nano, usdText } from "../../core/money.ts";
import { VERSION } from "../../core/version.ts";
import type { UnpricedUsage } from "../../upstream/model-candidate.ts";
import type { Typed } from "../command.ts";
import { type Command, CommandError, UsageError, type Workplace } from "../command.ts";
import { table } from "../text.ts";
import type { Certificate, CertifiedCall, Made } from "./certify.ts";

const CENTS_MAX = 50;
const NAME = /[^a-z0-9.-]+/gi;

/** The named vendors, or all enabled ones; their stand-ins on request or without keys. */
function adaptersOf(catalog: Catalog, named: readonly string[], wantsStandIns: boolean): readonly Adapter[] {
  const live = [...catalog.adapters({ sandbox: false }).values()].filter(({ configured }) => configured);
  const withKey = live.filter(({ keys }) => keys.length > 0);
  const standIns = [...catalog.adapters({ sandbox: true }).values()];
  const isRehearsal =
    wantsStandIns || (withKey.length === 0 && named.every((id) => live.every((one) => one.id !== id)));
  const all = isRehearsal ? standIns.filter(({ spec }) => spec.sandboxOnly !== true) : live;
  for (const id of named) {
    if (!standIns.some((one) => one.id === id)) throw new UsageError(`There is no vendor ${JSON.stringify(id)}.`);
    if (!all.some((one) => one.id === id)) throw new CommandError(`${id} is not on: its key is not set.`);
  }
  return named.length === 0 ? all : all.filter(({ id }) => named.includes(id));
}

function progressOf(call: CertifiedCall, spent: string, words: string): string {
  const { provider, asked, kind, verdict, findings } = call;
  const told = findings.map(({ detail }) => detail).join("; ");
  const said = words === "" || verdict === "fine" ? "" : ` (${words})`;
  return `${provider} ${asked} ${kind}: ${verdict}${told === "" ? "" : `: ${told}`}${said} [${spent} USD so far]`;
}

const STOPPED = {
  max_cents: "It stopped short of --max-cents: what may cost more than was left was not asked.",
  interrupted: "It was stopped before its end.",
};

function reportText({ calls, stopped, stand_ins, spent_nano_usd }: Certificate, columns: number): string {
  const asked = calls.filter(({ verdict }) => verdict !== "not asked");
  const differs = asked.filter(({ verdict }) => verdict === "differs");
  const rows = differs.flatMap(({ provider, asked: what, kind, status, findings }) =>
    findings.map(({ what: about, detail }) => [provider, what, kind, `${status}`, about, detail]),
  );
  const whom = stand_ins ? "stand-ins, not vendors: no key is set or --sandbox was given" : "vendors";
  const sum = `${asked.length} calls to ${whom}; ${differs.length} differ, ${calls.length - asked.length} were not asked. Cost: ${usdText(nano(spent_nano_usd))} USD.`;
  const found =
    rows.length === 0 ? [] : [table(["VENDOR", "ASKED", "HOW", "STATUS", "ABOUT", "FOUND"], rows, columns), ""];
  return [...found, sum, ...(stopped === null ? [] : [STOPPED[stopped]])].join("\n");
}

/** Opens what the run needs, runs, and always closes it. */
async function certifyWith({ config, progress }: Workplace, typed: Typed) {
  const { certify } = await import("./certify.ts");
  const { createUpstream } = await import("../../upstream/upstream.ts");
  const { tapVendors } = await import("../../upstream/vendor-tap.ts");
  const { openCatalog } = await import("../../gateway/open-catalog.ts");
  const { playMerchantPayers } = await import("../../gateway/open-money.ts");
  const { DIALECTS } = await import("../../models/formats/vendor-dialects.ts");
  const record = typed.text("record");
  const opened = await openCatalog(config);
  const told: UnpricedUsage[] = [];
  const upstream = createUpstream(systemClock, {
    dialects: DIALECTS,
    onUnpriced: (one) => told.push(one),
    merchantPayerFor: playMerchantPayers(),
    proxies: config.proxies,
  });
  const tap = tapVendors();
  const stop = new AbortController();
  const leave = () => stop.abort();
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, leave);
  const writes: Promise<void>[] = [];
  try {
    const catalog = opened.current();
    const deps = { catalog, upstream, signal: stop.signal, tap, unpriced: () => told.splice(0) };
    if (record !== undefined) await mkdir(record, { recursive: true });
    return await certify(deps, {
      adapters: adaptersOf(catalog, typed.rest(), typed.flag("sandbox")),
      centsMax: typed.number("max-cents") ?? CENTS_MAX,
      onCall: (call, spentNano, words) => progress(progressOf(call, usdText(spentNano), words)),
      onShape: ({ provider, asked, kind, status }, shape) => {
        if (record === undefined) return;
        const file = `${[provider, asked, kind].join(".").replaceAll(NAME, "-")}.json`;
        const text = JSON.stringify({ provider, asked, kind, status, shape }, null, 2);
        writes.push(writeFile(join(record, file), `${text}\n`));
      },
    });
  } finally {
    for (const signal of signals) process.off(signal, leave);
    tap.close();
    await Promise.all(writes);
    await upstream.close();
    await opened.close();
  }
}

/** Sends the result to the running gateway, if any, for its console. Returns a sentence about that. */
async function keep({ admin }: Workplace, certificate: Certificate, made: Made) {
  const { byVendor } = await import("./certify.ts");
  const kept = byVendor(certificate, made);
  if (kept.size === 0) return "";
  try {
    for (const [id, one] of kept) await admin.call("POST", `/admin/v1/certificates/${encodeURIComponent(id)}`, one);
    return "\nThe console of the gateway shows it, at /console/doctor.";
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return `\nNo gateway has kept it: ${error.message}`;
  }
}

export const certifyCommand: Command = {
  name: "certify",
  rest: "VENDOR",
  options: {
    "max-cents": {
      value: "CENTS",
      meaning: `stops before the vendors would take more than this, ${CENTS_MAX} without it`,
    },
    record: { value: "DIR", meaning: "writes the shape of each answer there, without what it says" },
    sandbox: { value: null, meaning: "asks the stand-ins although keys are set" },
  },
  summary: "Asks vendors for real, cheaply, and says where answers, usage or cost are other than their adapters say",
  async run(typed, place) {
    const certificate = await certifyWith(place, typed);
    const good = certificate.stopped === null && certificate.calls.every(({ verdict }) => verdict !== "differs");
    const made = { version: VERSION, at: new Date(systemClock.epochMs()).toISOString() };
    const told = await keep(place, certificate, made);
    const text = reportText(certificate, place.columns) + told;
    return { json: Object.assign({ ok: good }, made, certificate), text, good };
  },
};
