// Every action reports an invalid URL param as `bad_url`.
import { describe, expect, test } from "vitest";
import { type CatalogAction, openActionCatalog } from "../../../src/actions/run/action-catalog.ts";
import { descriptorOf, rowDescriptor } from "../../../src/actions/run/descriptor.ts";
import { type JsonSchema, tableOf } from "../../../src/actions/run/params-schema.ts";
import { readParams } from "../../../src/actions/run/read-call.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";
import { readAnswer } from "./acme-gateway.ts";

const gateway = forFile(await startTestGateway({}));
const catalog = await shippedCatalog();
const actions = openActionCatalog(() => catalog, []).all({ sandbox: true });

/** Params with a URL-like name, in a schema and in its nested objects. */
function urlParams(
  schema: JsonSchema,
  base: Record<string, unknown>,
): { name: string; call: Record<string, unknown> }[] {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  return properties.flatMap(([name, one]) => {
    if (/(^|_)urls?$|URL$/.test(name)) {
      const isList = [one.type].flat().includes("array");
      return [{ name, call: { ...base, [name]: isList ? ["no address"] : "no address" } }];
    }
    if (one.properties === undefined || !(name in base)) return [];
    return urlParams(one, base[name] as Record<string, unknown>).map((inner) => ({
      name: `${name}.${inner.name}`,
      call: { ...base, [name]: inner.call },
    }));
  });
}

function refused(action: CatalogAction, call: Record<string, unknown>) {
  const read = readParams(action, call);
  return read instanceof GatewayError
    ? [read.code, read.status, read.options.param?.replace(/\.\d+$/, "")]
    : "accepted";
}

describe("what is no URL", () => {
  test("is bad_url in every param of every action that is named as one", () => {
    const found: string[] = [];
    for (const action of actions) {
      for (const { name, call } of urlParams(descriptorOf(action).params, action.exampleParams)) {
        expect(refused(action, call), `${action.id} ${name}`).toEqual(["bad_url", 400, name]);
        found.push(`${action.id} ${name}`);
      }
    }
    expect(found.length).toBeGreaterThan(18);
  });

  test.each([
    "http://localhost/",
    "http://127.0.0.1:8080/admin",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://192.168.1.1",
    "https://metadata.google.internal/",
    "http://redis:6379/",
    "http://printer.local./",
  ])("is no address that a vendor is sent to, which may be a server of the operator's own: %s", (url) => {
    const found = actions.flatMap((action) =>
      urlParams(descriptorOf(action).params, action.exampleParams)
        .filter(({ name }) => !name.includes("."))
        .map(({ name, call }) => {
          const given = { ...call, [name]: Array.isArray(call[name]) ? [url] : url };
          return `${action.id} ${name} ${refused(action, given)}`;
        }),
    );
    expect(found.length).toBeGreaterThan(12);
    // An archive does not open the URL.
    expect(found.filter((one) => one.endsWith(" accepted") && !one.startsWith("wayback/"))).toEqual([]);
    expect(found.filter((one) => one.includes(" bad_url,")).length).toBeGreaterThan(12);
    const media = actions.find(({ id }) => id === "fal/generate");
    const params = { ...media?.exampleParams, model: "wan-2.7-image", prompt: "x", image_url: url };
    expect(media === undefined ? "" : refused(media, params)).toEqual(["bad_url", 400, "image_url"]);
  });

  test("is bad_url in the params of what makes media", () => {
    const generate = actions.find(({ id }) => id === "fal/generate");
    if (generate === undefined) throw new Error("there is no fal/generate");
    let count = 0;
    for (const name of Object.keys(tableOf(generate)?.rows ?? {})) {
      const row = rowDescriptor(generate, name);
      const example = row?.example ?? {};
      for (const param of urlParams(row?.params ?? {}, example)) {
        expect(refused(generate, param.call), `${name} ${param.name}`).toEqual(["bad_url", 400, param.name]);
        const isList = Array.isArray(param.call[param.name]);
        for (const url of ["https://a.example/cat.png", "data:image/png;base64,aGk="]) {
          const good = refused(generate, { ...param.call, [param.name]: isList ? [url] : url });
          expect(Array.isArray(good) && good[0] === "bad_url" && good[2] === param.name, `${name} ${url}`).toBe(false);
        }
        count += 1;
      }
    }
    expect(count).toBeGreaterThan(20);
  });

  test("is told with the field, what would be right, and that nothing was charged", async () => {
    const account = await gateway.account();
    const ask = async (action: string, params: object) => {
      const response = await postAs(account.key, `${gateway.url}/api/run/${action}`, params);
      return readAnswer(response);
    };
    const answer = await ask("fastcrw/extract", { urls: ["https://example.com", "example"], prompt: "p" });
    expect(answer).toMatchObject({
      status: 400,
      json: {
        error: "bad_url",
        message: "The URL in urls.1 must be an http or https address such as https://example.com/page.",
        data: { field: "urls.1", fields: [{ path: "urls.1" }] },
        charged_cents: 0,
      },
    });
    expect((await ask("files/upload_from_url", { url: "example" })).json).toMatchObject({ error: "bad_url" });
    for (const url of [
      "nope",
      "ftp://example.com/",
      "http://127.0.0.1/",
      "http://2130706433/",
      "http://printer.local/",
    ]) {
      for (const more of [{}, { method: "LOOK" }, { nonsense: 1 }, { max_cost_cents: "many" }]) {
        const { status, json } = await ask("core/fetch", { url, ...more });
        expect([url, status, json.error, json.data]).toMatchObject([url, 400, "bad_url", { field: "url" }]);
      }
    }
    expect((await ask("core/fetch", { url: "https://example.com/" })).json).toMatchObject({
      error: "max_cost_required",
    });
    expect((await ask("firecrawl/scrape", {})).json).toMatchObject({
      error: "bad_request",
      message: "url: is missing, must be a string",
    });
  });
});
