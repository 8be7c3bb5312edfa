// core/produce_demo and core/produce_autodemo: a real browser records a local page, a real ffmpeg makes the video, and the ledger shows the
// cost of each part.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { makeClip, SIZES } from "../../../src/actions/composites/demos/clip.ts";
import { watchGroup } from "../../../src/actions/composites/demos/process-group.ts";
import { temporaryFolder } from "../../../src/actions/composites/demos/temporary-folder.ts";
import { FILE_BYTES_MAX, QUOTA_BYTES_MAX } from "../../../src/actions/files/lifecycle.ts";
import { smallVideo } from "../../../src/sandbox/small-video.ts";
import { INSTALLED_MS_MAX } from "../../support/apt-install.ts";
import { openBrowser } from "../../support/browser.ts";
import { beep, coloursAt, type DemoPrograms, demoPrograms, probed } from "../../support/demo-programs.ts";
import { eventually, type TestAccount } from "../../support/gateway.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { startVendor, type VendorServer } from "../../support/vendor-server.ts";
import { type AcmeGateway, startAcmeGateway } from "../run/acme-gateway.ts";

const SHOP = `<!doctype html><html><head><title>The gate</title><style>
  body { margin: 0; font: 20px sans-serif; background: rgb(0, 90, 200); color: white } main { height: 2000px; padding: 40px }
  main.green { background: rgb(0, 160, 60) }</style></head><body><main><h1>The gate</h1>
  <p>${"All that is paid at the gate is written down, and who asks is told what is left of it. ".repeat(8)}</p>
  <button onclick="document.querySelector('main').className = 'green'">Show prices</button>
  <a href="/second" target="_blank">Second page</a> <label>Your name <input></label></main></body></html>`;
const SECOND = SHOP.replace("background: rgb(0, 90, 200)", "background: rgb(200, 20, 20)");

/** Allocates 400 MB a second for as long as it is open. */
const HUNGRY = `<!doctype html><p>More.</p><script>
  const kept = []; setInterval(() => kept.push(new Uint8Array(20_000_000).fill(1)), 50)</script>`;
const MEMORY_MIB = 900;

const STORYBOARD = {
  title: "The gate",
  scenes: [
    {
      steps: [
        { do: "click", on: "Show prices" },
        { do: "wait", seconds: 0.5 },
      ],
      caption: "Prices",
      narration: "Look.",
      seconds: 2,
    },
    { steps: [{ do: "click", on: "There is no such button" }], caption: "", narration: "", seconds: 2 },
    {
      steps: [
        { do: "type", into: "Your name", text: "Ada" },
        { do: "click", on: "Second page" },
      ],
      caption: "",
      narration: "",
      seconds: 2,
    },
  ],
};

const LOOK_MS = 200;
/** Only for hangs: on a loaded machine, a browser and a video may take minutes. */
const DEMO_MS_MAX = 600_000;

let programs: DemoPrograms;
let site: Server;
let url: string;
let inner: Server;
const reachedInside: string[] = [];
const asked: string[] = [];
let models: VendorServer;
let gateway: AcmeGateway;
let folder: string;

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  programs = await demoPrograms();
  folder = mkdtempSync(join(tmpdir(), "tollgate-demo-test-"));
  inner = createServer((request, response) => {
    reachedInside.push(String(request.url));
    response.end("secret");
  });
  const innerPort = await listening(inner);
  site = createServer((request, response) => {
    asked.push(String(request.url));
    const type = { "content-type": "text/html; charset=utf-8" };
    if (request.url === "/inside") response.writeHead(302, { location: `http://127.0.0.1:${innerPort}/moved` }).end();
    else if (request.url === "/frames") {
      const places = [
        `http://127.0.0.1:${innerPort}/frame`,
        `http://localhost:${innerPort}/name`,
        "file:///etc/passwd",
      ];
      response.writeHead(200, type).end(places.map((place) => `<iframe src="${place}"></iframe>`).join(""));
    } else if (request.url === "/hungry") response.writeHead(200, type).end(HUNGRY);
    else response.writeHead(200, type).end(request.url === "/second" ? SECOND : SHOP);
  });
  const port = await listening(site);
  url = `http://gate.example:${port}/`;
  models = await startVendor();
  const said = (await beep(programs.ffmpeg, 3)).toString("base64");
  models.answers((response, { url: path, body }) => {
    if (path.endsWith("/audio/speech")) {
      const events = [
        { type: "speech.audio.delta", audio: said },
        { type: "speech.audio.done", usage: { input_tokens: 10, output_tokens: 100 } },
      ];
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
      return;
    }
    const scenes = STORYBOARD.scenes.map((scene) => ({ url, ...scene }));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        id: "c",
        object: "chat.completion",
        created: 1,
        model: (body as { model: string }).model,
        choices: [
          {
            index: 0,
            finish_reason: "stop",
            message: { role: "assistant", content: JSON.stringify({ ...STORYBOARD, scenes }) },
          },
        ],
        usage: { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 },
      }),
    );
  });
  gateway = await startAcmeGateway(
    {
      FFMPEG_PATH: programs.ffmpeg,
      CHROMIUM_PATH: programs.chromium,
      CHROMIUM_MEMORY_MIB: String(MEMORY_MIB),
      OPENAI_API_KEY: "key",
      OPENAI_BASE_URL: models.url,
    },
    {
      internet: {
        allowForTests: [`127.0.0.1:${port}`],
        resolve: async (name) => (name === "gate.example" ? ["127.0.0.1"] : []),
      },
    },
  );
}, INSTALLED_MS_MAX);
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  await models.close();
  for (const server of [site, inner]) {
    server.closeAllConnections();
    server.close();
  }
  removeFolder(folder);
  expect(findings).toEqual([]);
});

interface Job {
  readonly status: string;
  readonly charged_cents: number;
  readonly progress?: { readonly done: number; readonly total: number };
  readonly result: Record<string, unknown> & {
    readonly rows: readonly Record<string, unknown>[];
    readonly clip: FileSaid;
    readonly video: FileSaid & { readonly seconds: number };
    readonly storyboard: FileSaid;
  };
}
interface FileSaid {
  readonly file_id: string;
  readonly size_bytes: number;
}

async function made(account: TestAccount, action: string, params: object, at = gateway): Promise<Job> {
  const launch = await at.run(account, `core/${action}`, params);
  expect(launch.json).toMatchObject({ ok: true, data: { status: "queued" } });
  const { job_id } = launch.json.data as { job_id: string };
  const isOver = async () => {
    // Browsers and ffmpeg need the processor meanwhile.
    await sleep(LOOK_MS);
    const { json } = await at.run(account, "core/result", { job_id });
    const job = json.data as Job;
    return ["succeeded", "failed"].includes(job.status) ? job : undefined;
  };
  return eventually(isOver, "the demo's end", DEMO_MS_MAX);
}

async function fetched(account: TestAccount, { file_id }: FileSaid): Promise<{ file: string; bytes: Buffer }> {
  const { json } = await gateway.run(account, "files/get", { file_id });
  const response = await fetch((json.data as { get_url: string }).get_url);
  const bytes = Buffer.from(await response.arrayBuffer());
  const file = join(folder, `${file_id}.mp4`);
  writeFileSync(file, bytes);
  return { file, bytes };
}

/** Which of the three pages above has this color: the brightest channel by far. */
function nameOf([red = 0, green = 0, blue = 0]: readonly number[]): string {
  if (blue > 150) return "blue";
  return red > green ? "red" : "green";
}

async function fileNames(account: TestAccount): Promise<string[]> {
  const { json } = await gateway.run(account, "files/list", {});
  return (json.data as { files: { filename: string }[] }).files.map(({ filename }) => filename).sort();
}

describe("in the sandbox", { timeout: DEMO_MS_MAX }, () => {
  it("a demo ends in a small real video and its storyboard, its parts paid with play money", async () => {
    const account = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const job = await made(account, "produce_autodemo", { url: "https://example.com", brief: "The gate", seconds: 20 });
    expect(job).toMatchObject({ status: "succeeded", progress: { done: 3, total: 3 }, result: { scene_count: 3 } });
    const { file } = await fetched(account, job.result.video);
    const { streams, seconds } = await probed(programs.ffmpeg, file);
    expect(streams).toMatchObject([{ codec_name: "h264", width: 256, height: 144 }]);
    expect(seconds).toBeCloseTo(20, 1);
    expect(JSON.parse((await fetched(account, job.result.storyboard)).bytes.toString()).scenes).toHaveLength(3);
    expect(await fileNames(account)).toEqual(["demo.mp4", "storyboard.json"]);
    expect(await gateway.heldCents(account)).toBe(0);
    const [posting] = await gateway.transactions(account);
    expect(posting).toMatchObject({ charged_cents: job.charged_cents });
    expect(job.charged_cents).toBeGreaterThanOrEqual(6);
  });

  it("one whose last file does not fit leaves nothing to its caller, since nothing is charged", async () => {
    const account = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const wanted = { url: "https://example.com", brief: "The gate", seconds: 20 };
    const first = await made(account, "produce_autodemo", wanted);
    const board = (await fetched(account, first.result.storyboard)).bytes;
    const { scenes } = JSON.parse(board.toString()) as { scenes: { seconds: number }[] };
    const clips = scenes.map(({ seconds }) => smallVideo([seconds], SIZES["16:9"]).length);
    const given = board.length + first.result.video.size_bytes;
    const roomBytes = given + clips.reduce((sum, one) => sum + one, given) - 1;
    for (let left = QUOTA_BYTES_MAX - roomBytes; left > 0; left -= FILE_BYTES_MAX) {
      const size_bytes = Math.min(left, FILE_BYTES_MAX);
      expect((await gateway.run(account, "files/upload", { filename: "full", size_bytes })).status).toBe(200);
    }
    const job = await made(account, "produce_autodemo", wanted);
    expect(job).toMatchObject({ status: "failed", charged_cents: 0, result: { error: "storage_quota_exceeded" } });
    expect(await fileNames(account)).toEqual(["demo.mp4", "storyboard.json"]);
  });

  it("one scene ends in a clip", async () => {
    const account = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const params = { url: "https://example.com", narration: "Hello.", aspect: "9:16" };
    const job = await made(account, "produce_demo", params);
    expect(job).toMatchObject({ status: "succeeded", result: { scene_count: 1, rows: [{ scene: 1, ok: true }] } });
    const { streams } = await probed(programs.ffmpeg, (await fetched(account, job.result.clip)).file);
    expect(streams).toMatchObject([{ width: 144, height: 256 }]);
  });
});

describe("with a browser and ffmpeg of the operator's", () => {
  it("a site becomes a video of the scenes that went, each part at its price", { timeout: DEMO_MS_MAX }, async () => {
    const account = await gateway.live({ creditCents: 1_000 });
    const job = await made(account, "produce_autodemo", { url, brief: "Show the prices", seconds: 10 });
    expect(job, JSON.stringify(job)).toMatchObject({
      status: "succeeded",
      charged_cents: 4,
      progress: { done: 3, total: 3 },
    });
    const missing = expect.stringContaining("There is no such button");
    expect(job.result).toMatchObject({
      scene_count: 2,
      left_out_count: 1,
      rows: [
        { scene: 1, ok: true, charged_cents: 1, caption: "Prices" },
        { scene: 2, ok: false, charged_cents: 0, error: "scene_failed", message: missing },
        { scene: 3, ok: true, charged_cents: 0 },
      ],
    });
    expect(await fileNames(account)).toEqual(["demo.mp4", "storyboard.json"]);
    expect(await gateway.heldCents(account)).toBe(0);
    const [posting] = await gateway.transactions(account);
    expect(posting).toMatchObject({ charged_cents: 4 });
    const { file } = await fetched(account, job.result.video);
    const { streams, seconds } = await probed(programs.ffmpeg, file);
    expect(streams).toMatchObject([{ codec_name: "h264", width: 1280, height: 720 }, { codec_name: "aac" }]);
    // The first scene is as long as its speech.
    expect(seconds).toBeGreaterThan(5);
    // Blue before the click and green after it, whenever that was; then blue again, and the second page is red.
    const [page, line] = await Promise.all([
      coloursAt(programs.ffmpeg, file, { x: 1_200, y: 500 }),
      coloursAt(programs.ffmpeg, file, { x: 1_200, y: 710 }),
    ]);
    const names = page.map(nameOf);
    expect(names.filter((name, at) => name !== names[at - 1])).toEqual(["blue", "green", "blue", "red"]);
    // The caption of the first scene darkens all its frames; the other scene has no caption.
    const second = names.lastIndexOf("green") + 1;
    expect(line.map((one) => Math.max(...one) < 110)).toEqual(line.map((_, at) => at < second));
  });

  it("nothing inside is reached: by a redirect, a frame, a name or a file", { timeout: DEMO_MS_MAX }, async () => {
    const account = await gateway.live({ creditCents: 1_000 });
    const at = (path: string) => ({ url, steps: [{ do: "goto", url: `${url}${path}` }], seconds: 2, aspect: "1:1" });
    const [job, moved] = await Promise.all([
      made(account, "produce_demo", at("frames")),
      made(account, "produce_demo", at("inside")),
    ]);
    expect(job).toMatchObject({ status: "succeeded", charged_cents: 2, result: { rows: [{ ok: true }] } });
    expect(moved).toMatchObject({ status: "failed", charged_cents: 0, result: { rows: [{ error: "scene_failed" }] } });
    expect(asked).toEqual(expect.arrayContaining(["/frames", "/inside"]));
    expect(reachedInside).toEqual([]);
    // Of the two jobs, the one that was shown was charged; the other used our browser, at the cost of the account's limit for unpaid cost.
    const { json: row } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
    expect(row.unpaid).toMatchObject({ today_nano_usd: 5_000_000 });
    const { streams } = await probed(programs.ffmpeg, (await fetched(account, job.result.clip)).file);
    expect(streams).toMatchObject([{ width: 960, height: 960 }, { codec_name: "aac" }]);
  });
});

it("a page that takes more memory than a browser may have ends its scene and its browser", {
  timeout: DEMO_MS_MAX,
}, async () => {
  const account = await gateway.live({ creditCents: 100 });
  const steps = Array.from({ length: 12 }, () => ({ do: "wait", seconds: 10 }));
  const job = await made(account, "produce_demo", { url: `${url}hungry`, steps });
  const message = `the browser took more than ${MEMORY_MIB} MB of memory`;
  expect(job).toMatchObject({ status: "failed", charged_cents: 0 });
  expect(job.result.rows).toMatchObject([{ ok: false, error: "scene_failed", message }]);
  expect(await gateway.heldCents(account)).toBe(0);
  const running = execFileSync("sh", ["-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; true"]).toString();
  expect(running).not.toContain(`--started-by=${programs.chromium}`);
});

it("what a browser keeps on the disk is bounded as well", async () => {
  writeFileSync(join(folder, "cache"), Buffer.alloc(2 * 1_048_576, 1));
  const over = Promise.withResolvers<Error>();
  // A group without a process uses no memory.
  const bounds = { memoryMib: 1, diskMib: 1 };
  onTestFinished(watchGroup({ group: 2 ** 30, folder }, bounds, over.resolve));
  expect((await over.promise).message).toBe("the browser kept more than 1 MB");
});

it("without a browser of the operator's a vendor's is paid, shown and ended", { timeout: DEMO_MS_MAX }, async () => {
  const remote = await openBrowser("--host-resolver-rules=MAP gate.example 127.0.0.1");
  onTestFinished(() => remote.close());
  const vendor = await startVendor();
  onTestFinished(() => vendor.close());
  const session = { id: "s1", status: "RUNNING", connectUrl: remote.wsEndpoint() };
  vendor.answers({ body: session });
  const other = await startAcmeGateway(
    { FFMPEG_PATH: programs.ffmpeg, BROWSERBASE_API_KEY: "key", BROWSERBASE_BASE_URL: vendor.url },
    { internet: { allowForTests: [`127.0.0.1:${new URL(url).port}`], resolve: async () => ["127.0.0.1"] } },
  );
  onTestFinished(() => other.stop());
  const account = await other.live({ creditCents: 100 });
  const job = await made(account, "produce_demo", { url, caption: "From afar", seconds: 2 }, other);
  expect(job).toMatchObject({
    status: "succeeded",
    charged_cents: 2,
    result: { rows: [{ ok: true, charged_cents: 1 }] },
  });
  // The session is read before it is released.
  expect(vendor.asked.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
    "POST /v1/sessions",
    "GET /v1/sessions/s1",
    "POST /v1/sessions/s1",
  ]);
  expect(await other.heldCents(account)).toBe(0);
});

it("a page of noise makes no clip that would not fit beside nine more", async () => {
  const noise = ["-f", "lavfi", "-i", "color=gray:s=320x320:r=25:d=4,noise=alls=100:allf=t"];
  execFileSync(programs.ffmpeg, ["-v", "error", ...noise, join(folder, "%d.jpg")]);
  const pictures = Array.from({ length: 100 }, (_, at) => ({ file: join(folder, `${at + 1}.jpg`), atMs: at * 40 }));
  const made = { path: programs.ffmpeg, folder, signal: new AbortController().signal };
  const size = { width: 320, height: 320 };
  const clip = await makeClip({ pictures, seconds: 4, narration: null, size }, made);
  // 2.5 Mbit/s, plus the same amount again for a player's initial buffer.
  expect(clip.sizeBytes * 8).toBeLessThan((4 + 1.5) * 2_500_000);
  expect(clip.sizeBytes).toBeGreaterThan(100_000);
});

it("what a process that died has left of a recording goes when the next one begins", async () => {
  const [left, fresh] = [await temporaryFolder(), await temporaryFolder()];
  mkdirSync(join(left, "profile"));
  const longAgo = new Date(Date.now() - 2 * 3_600_000);
  utimesSync(left, longAgo, longAgo);
  const next = await temporaryFolder();
  onTestFinished(() => {
    for (const one of [fresh, next]) removeFolder(one);
  });
  expect([left, fresh, next].map((one) => existsSync(one))).toEqual([false, true, true]);
});

describe("what is no demo", () => {
  it.each([
    ["produce_demo", { steps: [{ do: "goto", url: "https://elsewhere.example/" }] }, "steps.0.url", "same site"],
    ["produce_demo", { steps: [{ do: "run", script: "alert(1)" }] }, "steps.0.do", ""],
    ["produce_demo", { steps: [{ do: "click", on: "Buy", script: "alert(1)" }] }, "steps.0", "script"],
    ["produce_demo", { url: "http://127.0.0.1/" }, "url", "public"],
    ["produce_autodemo", { brief: "All", seconds: 9 }, "seconds", "10"],
    ["produce_autodemo", { brief: "All", aspect: "4:3" }, "aspect", ""],
    ["produce_autodemo", { brief: "All", budgetCents: 19 }, "budgetCents", "20"],
    ["produce_autodemo", { brief: " " }, "brief", "blank"],
  ])("%s %j is refused by the field's name", async (action, params, field, words) => {
    const account = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const { status, json } = await gateway.run(account, `core/${action}`, { url: "https://example.com", ...params });
    expect(status).toBe(400);
    expect(json.message).toContain(field);
    expect(json.message).toContain(words);
    expect(await gateway.heldCents(account)).toBe(0);
  });
});
