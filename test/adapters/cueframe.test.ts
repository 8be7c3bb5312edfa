// CueFrame behind a gateway: files are passed as links, ids belong to their payers, and no video is longer than its price covers.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { startVendor, type VendorRequest, type VendorServer } from "../support/vendor-server.ts";

const FORMAT = { aspectRatio: "16:9", fps: 30, resolution: "fhd" };
const PUBLIC = "https://files.gate.example";

let vendor: VendorServer;
let gateway: TestGateway;
/** Its actual local address; others know it by its public address. */
let nearby: string;
let hidden: TestGateway;
let ada: TestAccount;
let eve: TestAccount;
let play: TestAccount;
beforeAll(async () => {
  vendor = await startVendor();
  const settings = { CUEFRAME_API_KEY: "cf_live_key_of_ours", CUEFRAME_BASE_URL: `${vendor.url}/v1` };
  const port = await freePort();
  nearby = `http://127.0.0.1:${port}`;
  gateway = await startTestGateway({ ...settings, PUBLIC_URL: PUBLIC, PORT: String(port) });
  hidden = await startTestGateway(settings);
  ada = await gateway.account({ kind: "personal", creditCents: 1_000 });
  eve = await gateway.account({ kind: "personal", creditCents: 1_000 });
  play = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
});
afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await Promise.all([gateway.stop(), hidden.stop()]);
  await vendor.close();
});

interface Answer {
  readonly status: number;
  readonly json: { readonly error?: string; readonly charged_cents?: number; readonly message?: string } & Record<
    string,
    unknown
  >;
  readonly data: Record<string, unknown>;
}

async function run(account: TestAccount, action: string, params: unknown, at = nearby): Promise<Answer> {
  const response = await postAs(account.key, `${at}/api/run/${action}`, params);
  const json = (await response.json()) as Answer["json"];
  return { status: response.status, json, data: (json.data ?? {}) as Record<string, unknown> };
}

/** A vendor that keeps state, and rejects unknown ids. */
function startPlaying(): Map<string, unknown> {
  const projects = new Map<string, unknown>();
  const answer = ({ method, url, body }: VendorRequest): readonly [status: number, body: unknown] => {
    const [, , kind, id, what] = url.split("/");
    if (method === "POST" && url === "/v1/media/import")
      return [201, { id: "med_1", status: "importing", constructor: "Ada" }];
    if (kind === "media") return [200, { id, status: "complete" }];
    if (method === "POST" && url === "/v1/projects") {
      projects.set("prj_1", null);
      return [201, { id: "prj_1", name: "x" }];
    }
    if (url === "/v1/composition/validate") return [200, { valid: true, errors: [] }];
    if (!projects.has(id ?? ""))
      return [404, { error: { code: "not_found", message: "No such project.", details: {} } }];
    if (what === "composition") {
      projects.set(id ?? "", body);
      return [204, ""];
    }
    if (projects.get(id ?? "") === null)
      return [409, { error: { code: "no_composition", message: "Nothing to render.", details: {} } }];
    return method === "POST"
      ? [202, { id: "rnd_1", status: "queued" }]
      : [200, { id: "rnd_1", status: "complete", outputUrl: "https://cdn.example/v.mp4" }];
  };
  vendor.answers((response, request) => {
    const [status, body] = answer(request);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body === "" ? undefined : JSON.stringify(body));
  });
  return projects;
}

/** A file of the account with these bytes. */
async function fileOf(account: TestAccount, bytes: string): Promise<string> {
  const params = { filename: "walk.mp4", size_bytes: bytes.length, mime: "video/mp4" };
  const { data } = await run(account, "files/upload", params);
  await fetch(String(data.put_url).replace(PUBLIC, nearby), { method: "PUT", body: bytes });
  return String(data.file_id);
}

const clip = (startTime: number, duration: number, source: unknown = { kind: "overlay", primitiveId: "heroText" }) => {
  return { id: `c${startTime}`, startTime, duration, source };
};
const tracks = (...contents: unknown[]) => [{ id: "t", kind: "video", contents }];
const upload = (file_id: string) => ({ file_id, filename: "walk.mp4", contentType: "video/mp4" });

describe("a video from a file to its end", () => {
  it("is imported by a link, composed, validated, rendered and told of", async () => {
    const projects = startPlaying();
    const file = await fileOf(ada, "the bytes of a walk");
    const imported = await run(ada, "cueframe/upload", upload(file));
    expect(imported).toMatchObject({
      status: 200,
      json: { charged_cents: 1 },
      // Also a field whose name every object knows.
      data: { media_id: "med_1", status: "importing", constructor: "Ada" },
    });
    const sent = vendor.asked[0]?.body as { url: string };
    expect(sent).toEqual({
      url: expect.stringMatching(/^https:\/\/files\.gate\.example\//),
      filename: "walk.mp4",
      contentType: "video/mp4",
    });
    expect(await (await fetch(sent.url.replace(PUBLIC, nearby))).text()).toBe("the bytes of a walk");
    expect((await run(ada, "cueframe/media_status", { media_id: "med_1" })).json).toMatchObject({ charged_cents: 0 });

    const made = await run(ada, "cueframe/create_project", { name: "Gate", format: FORMAT });
    expect(made.data).toMatchObject({ id: "prj_1" });
    const composition = {
      v: 1,
      format: FORMAT,
      tracks: tracks(clip(0, 4, { kind: "media", mediaId: "med_1", trim: { start: 0, end: 4 } })),
    };
    expect((await run(ada, "cueframe/validate", composition)).data).toEqual({ valid: true, errors: [] });
    const put = await run(ada, "cueframe/put_composition", { project_id: "prj_1", ...composition });
    expect(put).toMatchObject({ json: { charged_cents: 1 }, data: { stored: true } });
    expect(projects.get("prj_1")).toEqual(composition);
    await run(ada, "cueframe/put_composition", { project_id: "prj_1", composition });
    expect(projects.get("prj_1")).toEqual(composition);
    const render = await run(ada, "cueframe/render", { project_id: "prj_1" });
    expect(render).toMatchObject({ json: { charged_cents: 100 }, data: { render_id: "rnd_1", status: "queued" } });
    const done = await run(ada, "cueframe/render_status", { project_id: "prj_1", render_id: "rnd_1" });
    expect(done).toMatchObject({ json: { charged_cents: 0 }, data: { outputUrl: "https://cdn.example/v.mp4" } });
  });

  it("takes nothing of anybody else's: files, media at any depth, projects, renders", async () => {
    startPlaying();
    const file = await fileOf(ada, "secret");
    const own = await run(eve, "cueframe/create_project", { name: "Eve" });
    expect(own.status).toBe(200);
    const theirs = { kind: "media", mediaId: "med_1" };
    const deep = { kind: "overlay", primitiveId: "pip", params: { layers: [{ mediaId: "med_1" }] } };
    vendor.asked.length = 0;
    const calls: readonly (readonly [string, object])[] = [
      ["upload", upload(file)],
      ["media_status", { media_id: "med_1" }],
      ["validate", { v: 1, format: FORMAT, tracks: tracks(clip(0, 4, theirs)) }],
      ["validate", { composition: { v: 1, format: FORMAT, tracks: tracks(clip(0, 4, deep)) } }],
      ["put_composition", { project_id: "prj_1", v: 1, format: FORMAT, tracks: tracks(clip(0, 1), clip(1, 4, deep)) }],
      ["put_composition", { project_id: "prj_2", v: 1, format: FORMAT, tracks: tracks(clip(0, 4)) }],
      ["render", { project_id: "prj_2" }],
      ["render_status", { project_id: "prj_1", render_id: "rnd_1" }],
    ];
    for (const [action, params] of calls) {
      expect(await run(eve, `cueframe/${action}`, params), action).toMatchObject({
        status: 404,
        json: { error: "not_found" },
      });
    }
    expect(vendor.asked).toEqual([]);
  });

  it("is not charged where there is nothing to render", async () => {
    startPlaying();
    const { data } = await run(eve, "cueframe/create_project", { name: "Empty" });
    const render = await run(eve, "cueframe/render", { project_id: data.id });
    expect(render).toMatchObject({ status: 409, json: { error: "upstream_rejected" } });
    expect(render.json.charged_cents ?? 0).toBe(0);
  });

  it("is refused before it costs anything where the vendor cannot reach the file", async () => {
    const mallory = await hidden.account({ kind: "personal", creditCents: 100 });
    const { data } = await run(
      mallory,
      "files/upload",
      { filename: "a.mp4", size_bytes: 3, mime: "video/mp4" },
      hidden.url,
    );
    await fetch(String(data.put_url), { method: "PUT", body: "abc" });
    vendor.asked.length = 0;
    const told = await run(mallory, "cueframe/upload", upload(String(data.file_id)), hidden.url);
    expect(told).toMatchObject({
      status: 503,
      json: { error: "upstream_not_configured", data: { reason: expect.stringMatching(/PUBLIC_URL/) } },
    });
    expect(vendor.asked).toEqual([]);
  });
});

describe("a composition", () => {
  const at = (resolution: string) => ({ ...FORMAT, resolution });
  it.each([
    ["fhd", clip(100, 20), 200],
    ["fhd", clip(100, 20.1), 400],
    ["hd", clip(200, 40), 200],
    ["4k", clip(59, 2), 400],
  ])("at %s is as long as a render's price pays for", async (resolution, last, status) => {
    startPlaying();
    const composition = { v: 1, format: at(resolution), tracks: tracks(clip(0, 4), last) };
    for (const params of [composition, { composition }])
      expect((await run(ada, "cueframe/validate", params)).status).toBe(status);
  });

  it.each([
    [
      "a million characters",
      { v: 1, format: FORMAT, tracks: tracks(clip(0, 4)), captions: { text: "x".repeat(1_000_001) } },
    ],
    ["501 clips", { v: 1, format: FORMAT, tracks: tracks(...Array.from({ length: 501 }, () => clip(0, 1))) }],
    [
      "captions past its end",
      { v: 1, format: FORMAT, tracks: tracks(clip(0, 4)), captions: { words: [{ endMs: 7_200_000 }] } },
    ],
    ["no format", { v: 1, tracks: tracks(clip(0, 4)) }],
    ["a strange size", { v: 1, format: at("8k"), tracks: tracks(clip(0, 4)) }],
    [
      "two of them",
      { v: 1, format: FORMAT, tracks: tracks(clip(0, 4)), composition: { v: 1, format: FORMAT, tracks: [] } },
    ],
    ["none", {}],
    ["a field that is none", { v: 1, format: FORMAT, tracks: tracks(clip(0, 4)), duration: 9_000 }],
  ])("with %s is refused unasked", async (_, params) => {
    startPlaying();
    expect((await run(ada, "cueframe/validate", params)).status).toBe(400);
    expect(vendor.asked).toEqual([]);
  });
});

it("a composition of 5 MB is not even read", async () => {
  startPlaying();
  const captions = { text: "x".repeat(5_000_000) };
  const told = await run(ada, "cueframe/validate", { v: 1, format: FORMAT, tracks: tracks(clip(0, 4)), captions });
  expect(told).toMatchObject({ status: 413, json: { error: "body_too_large" } });
  expect(vendor.asked).toEqual([]);
});

describe("the sandbox", () => {
  it("plays it from a file to its end, and knows no id that it has not given", async () => {
    const file = await fileOf(play, "play");
    const { data: media } = await run(play, "cueframe/upload", upload(file));
    const walk = await run(play, "cueframe/media_status", { media_id: media.media_id });
    expect(walk.data).toMatchObject({ status: "complete", name: "walk.mp4" });
    const { data: project } = await run(play, "cueframe/create_project", { name: "Play" });
    expect(project.name).toBe("Play");
    const source = { kind: "media", mediaId: media.media_id };
    const params = { project_id: project.id, v: 1, format: FORMAT, tracks: tracks(clip(0, 4, source)) };
    expect((await run(play, "cueframe/put_composition", params)).data).toEqual({ stored: true });
    const { data: render } = await run(play, "cueframe/render", { project_id: project.id });
    const told = await run(play, "cueframe/render_status", { project_id: project.id, render_id: render.render_id });
    expect(told).toMatchObject({ status: 200, data: { id: render.render_id, status: "complete" } });
    expect((await run(play, "cueframe/render", { project_id: "prj_unknown1" })).status).toBe(404);
  });
});
