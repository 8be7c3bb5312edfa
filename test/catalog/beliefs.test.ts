import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { quoteCents, upstreamCentsOf } from "../../src/actions/run/action-price.ts";
import type { ActionOffer, Catalog } from "../../src/catalog/catalog.ts";
import { beliefsAbout } from "../../src/catalog/spec.ts";
import { ENDS_LIST } from "../support/price-list.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const MARGIN = 1.1;
/** How adapters' comments mark unconfirmed facts. */
const DOUBT = /from memory|\bunsure\b|costs us is not known|not (yet )?(been )?held against/i;
/** The call that the belief is about, if it is not the action's example. */
const ABOUT: Readonly<Record<string, Record<string, unknown>>> = {
  "2captcha/create-task": {
    task: { type: "FunCaptchaTaskProxyless", websiteURL: "https://a.example/", websitePublicKey: "69A21A01" },
  },
  "parallel/task": { input: "Who keeps the tides?", processor: "core" },
};

let catalog: Catalog;
beforeAll(async () => {
  catalog = await shippedCatalog({ sandboxOrigin: "http://127.0.0.1:1" });
});

const offers = (): readonly ActionOffer[] => catalog.actions({ sandbox: true }).flatMap((one) => one.offers);
const nameOf = ({ id, adapter }: ActionOffer) => id.slice(adapter.id.length + 1);
const believed = () => offers().filter((offer) => beliefsAbout(offer.adapter.spec, nameOf(offer)).length > 0);

describe("what is believed of vendors", () => {
  test("is marked where reviews found it", () => {
    const adapters = catalog.adapters({ sandbox: true });
    const named = ["2captcha", "contactout", "cueframe", "icypeas", "jina", "nyne", "oxylabs", "scrapingant", "tomba"];
    const regional = ["azure-openai", "bedrock", "vertex"];
    const merchants = [
      ...["agentfax", "apex-db", "autoexchange", "martin-estate", "papercut", "recallradar", "rxatlas"],
      ...["sayer-and-stone", "trialbase-db"],
    ];
    const unmarked = [...named, ...regional, ...merchants].filter((id) => adapters.get(id)?.spec.beliefs === undefined);
    expect(unmarked).toEqual([]);
  });

  test("is marked in every adapter whose own words say so", () => {
    const folder = new URL("../../adapters/", import.meta.url);
    const files = readdirSync(folder).filter((name) => /^[^.]+\.ts$/.test(name));
    const silent = files.filter((name) => {
      const text = readFileSync(new URL(name, folder), "utf8");
      const comments = text.match(/\/\/.*|\/\*\*[\s\S]*?\*\//g) ?? [];
      return comments.some((one) => DOUBT.test(one)) && !/\bbeliefs\b/.test(text);
    });
    expect(silent).toEqual([]);
  });

  test("is about actions that there are", () => {
    for (const { id, spec } of catalog.adapters({ sandbox: true }).values()) {
      const unknown = Object.keys(spec.beliefs ?? {}).filter((name) => name !== "*" && !spec.actions?.[name]);
      expect(unknown, id).toEqual([]);
    }
  });

  test("is sold with a margin above what it is believed to cost, unless the adapter says why it may cost more", () => {
    const thin = believed().flatMap(({ id, spec }) => {
      const params = spec.params.parse(ABOUT[id] ?? spec.example.params);
      const [price, cost] = [quoteCents(spec.price, params, null), upstreamCentsOf(spec, params, null)];
      // A pay-per-call purchase is charged at the merchant's price, and never costs us more.
      const isPaid = spec.price.paid !== undefined;
      return !isPaid && price < cost * MARGIN - 1e-9 && spec.mayCostMore === undefined
        ? [`${id}: ${price} cents, cost ${cost}`]
        : [];
    });
    const hours = [...catalog.adapters({ sandbox: true }).values()].flatMap(({ id, spec: { beliefs, sessions } }) => {
      if (beliefs?.["*"] === undefined || sessions === undefined) return [];
      const { centsPerHour: price, upstreamCentsPerHour: cost } = sessions;
      return price < cost * MARGIN - 1e-9 ? [`${id}: ${price} cents an hour, cost ${cost}`] : [];
    });
    expect(believed().length).toBeGreaterThan(20);
    expect([...thin, ...hours]).toEqual([]);
  });

  test("is priced with a margin in places whose prices no list has for all models there", () => {
    const priced = [...catalog.adapters({ sandbox: true }).values()].flatMap(({ id, spec }) => {
      const { places = [], everywhere } = spec.regionalCost ?? {};
      const models = Object.keys(spec.chat?.models ?? {}).filter((model) => !model.startsWith(everywhere ?? " "));
      const lists = ENDS_LIST.regions[id.replace("-dated", "")] ?? {};
      return places.map((one) => {
        const factors = models.map((model) => (one.percent === 0 ? 1 : (lists[one.begins]?.[model] ?? Number.NaN)));
        const isListed = factors.every((factor) => factor * 100 <= 100 + one.percent + 0.2);
        return { id, place: one.begins, isListed, margin: one.marginPercent ?? 0, told: spec.beliefs?.["*"] };
      });
    });
    expect(priced.filter(({ isListed }) => isListed).map(({ id, place }) => `${id} ${place}`)).toEqual([
      ...["azure-openai global", "azure-openai zone", "azure-openai-dated global", "azure-openai-dated zone"],
      ...["bedrock us-gov-", "bedrock us-", "vertex global"],
    ]);
    const unlisted = priced.filter(({ isListed }) => !isListed);
    expect(unlisted.filter(({ margin, told }) => margin < (MARGIN - 1) * 100 - 1e-9 || told === undefined)).toEqual([]);
  });

  test("is told by action, and of a vendor as a whole", () => {
    const spec = { beliefs: { "*": "its errors", render: "its cost" } };
    expect(beliefsAbout(spec, "render")).toEqual(["its errors", "its cost"]);
    expect(beliefsAbout(spec, "upload")).toEqual(["its errors"]);
    expect(beliefsAbout({}, "upload")).toEqual([]);
  });
});
