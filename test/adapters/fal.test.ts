// Calls to fal: launched, polled and fetched within one call, at a price for each model.
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { openActionCatalog } from "../../src/actions/run/action-catalog.ts";
import { tableOf } from "../../src/actions/run/params-schema.ts";
import type { EndpointTable } from "../../src/catalog/endpoint-table.ts";
import { wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const fal = await wire("fal");
const table = JSON.parse(await readFile("adapters/fal.json", "utf8")) as EndpointTable;
const prompt = "a lighthouse at dawn";
const queued = {
  request_id: "r1",
  status_url: "https://queue.fal.run/fal-ai/flux/requests/r1/status",
  response_url: "https://queue.fal.run/fal-ai/flux/requests/r1",
};

describe("upload", () => {
  const file = { file_name: "cat.png", content_type: "image/png" };

  it("asks the vendor's other host for a place", () => {
    const sent = fal.send("upload", file);
    expect(sent).toMatchObject({ method: "POST", body: file });
    expect(sent.url).toBe("https://rest.fal.ai/storage/upload/initiate?storage_type=fal-cdn-v3");
    expect(sent.headers.authorization).toBe("Key key-of-ours");
    expect(fal.quote("upload", file)).toBe(1);
  });

  it.each([
    [{ file_name: "cat.png" }, "content_type"],
    [{ ...file, file_name: "" }, "file_name"],
    [{ ...file, lifecycle: 1 }, "lifecycle"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(fal.refuses("upload", params)).toEqual([field]);
  });
});

describe("generate", () => {
  it("launches the model with its own params, without the name that we have for it", () => {
    const sent = fal.send("generate", { model: "flux-dev", prompt, image_size: "square_hd", seed: 7 });
    expect(sent).toMatchObject({ method: "POST", url: "https://queue.fal.run/fal-ai/flux/dev" });
    expect(sent.headers.authorization).toBe("Key key-of-ours");
    expect(sent.body).toEqual({ prompt, image_size: "square_hd", seed: 7 });
  });

  it("waits at the address that the vendor gave, then fetches from the other", () => {
    const params = { model: "flux-dev", prompt };
    const poll = fal.send("generate", params, { at: 0, soFar: queued });
    expect(poll).toMatchObject({ method: "GET", url: queued.status_url, body: null });
    const fetched = fal.send("generate", params, { at: 1, soFar: queued });
    expect(fetched).toMatchObject({ method: "GET", url: queued.response_url, body: null });
  });

  it("shows our key to nobody else, wherever the vendor's answer leads", () => {
    const astray = { ...queued, status_url: "https://evil.example/requests/r1/status" };
    const poll = fal.send("generate", { model: "flux-dev", prompt }, { at: 0, soFar: astray });
    expect(poll.url).toBe("https://queue.fal.run/requests/r1/status");
  });

  it("keeps the address of the result while it waits", () => {
    expect(fal.actions.generate?.steps?.[0]).toMatchObject({ merge: true, until: { at: "/status", is: "COMPLETED" } });
  });

  it("sends what makes a model its price, whatever the caller says", () => {
    const pro = { model: "nano-banana-pro-4k", prompt };
    expect(fal.send("generate", pro).body).toEqual({ prompt, resolution: "4K" });
    expect(fal.refuses("generate", { ...pro, resolution: "1K" })).toEqual(["resolution"]);
  });

  it("sends numbers as the model has them", () => {
    expect(fal.send("generate", { model: "kling-v3-pro", prompt, duration: 10 }).body).toMatchObject({
      duration: "10",
    });
    expect(fal.send("generate", { model: "kling-v4", prompt, duration: "8" }).body).toEqual({
      prompt,
      duration: 8,
      resolution: "1080p",
    });
  });

  it.each([
    [{}, "model"],
    [{ model: "no-such-model", prompt }, "model"],
    [{ model: "constructor", prompt }, "model"],
    [{ model: "flux-dev" }, "prompt"],
    [{ model: "flux-dev", prompt, constructor: 1 }, "constructor"],
    [{ model: "flux-dev", prompt, num_images: 4 }, "num_images"],
    [{ model: "flux-kontext", prompt }, "image_url"],
    [{ model: "nano-banana", prompt, num_images: 5 }, "num_images"],
    [{ model: "veo-3.1", prompt, duration: "30s" }, "duration"],
    [{ model: "veo-3.1", prompt, generate_audio: false }, "generate_audio"],
    [{ model: "wan-2.7", prompt, duration: 600 }, "duration"],
    [{ model: "kling-v4", prompt, duration: 29 }, "duration"],
    [{ model: "kling-v4", prompt, resolution: "720p" }, "resolution"],
    [{ model: "minimax-h3", prompt }, "duration"],
    [{ model: "elevenlabs-music", prompt, music_length_ms: 600_000 }, "music_length_ms"],
    [{ model: "sora-2", prompt, duration: 8 }, "model"],
    [{ model: "elevenlabs-turbo", text: "x".repeat(5_001) }, "text"],
  ])("refuses %j, naming %s", (params, field) => {
    expect([...new Set(fal.refuses("generate", params))]).toEqual([field]);
  });
});

describe("what models cost", () => {
  it.each([
    [{ model: "flux-schnell", prompt }, 0.4],
    [{ model: "nano-banana-pro", prompt, num_images: 3 }, 54],
    [{ model: "veo-3.1", prompt }, 384],
    [{ model: "veo-3.1-fast", prompt, duration: "4s" }, 72],
    [{ model: "wan-2.5", prompt, duration: "10" }, 60],
    [{ model: "kling-v4", prompt, duration: 28 }, 812],
    [{ model: "minimax-h3-4k", prompt, duration: 5 }, 100],
    [{ model: "veo-3.1-lite", prompt }, 48],
    [{ model: "elevenlabs-music", prompt }, 72],
    [{ model: "elevenlabs-turbo", text: "x".repeat(1_001) }, 12],
    [{ model: "minimax-music", prompt }, 18],
  ])("%j costs %d cents", (params, cents) => {
    expect(fal.quote("generate", params)).toBe(cents);
    expect(fal.upstreamCents("generate", params)).toBeLessThan(cents);
  });

  it("is within the price of the action, and above what the vendor takes, for every model", () => {
    const most = fal.actions.generate?.price.cents ?? 0;
    for (const [model, { cents = 0, upstreamCents = Number.NaN, per, ended }] of Object.entries(table)) {
      if (ended !== undefined) continue;
      expect(cents * (per?.max ?? 1), model).toBeLessThanOrEqual(most);
      expect(cents, model).toBeGreaterThan(upstreamCents);
    }
  });

  it("has no model that its vendor has ended, and names what to ask for instead", async () => {
    const gone = Object.values(table).flatMap(({ ended }) => ended ?? []);
    expect(gone).toContainEqual({ on: "2026-09-24", successor: "veo-3.1-fast" });
    const catalog = await shippedCatalog();
    const sold = openActionCatalog(() => catalog, []).find("fal/generate", { sandbox: false });
    const rows = Object.keys((sold && tableOf(sold)?.rows) ?? {});
    expect(rows).toContain("kling-v4");
    expect(rows.filter((model) => model.startsWith("sora"))).toEqual([]);
  });

  it("counts by params that the model has", () => {
    const lost = Object.entries(table).filter(([, { per, params }]) => per && params[per.param] === undefined);
    expect(lost.map(([model]) => model)).toEqual([]);
  });
});

describe("what its answers mean", () => {
  const detail = (type: string) => ({ detail: [{ loc: ["body", "prompt"], msg: "words", type }] });

  it.each([
    [422, detail("missing"), "caller_invalid"],
    [422, detail("image_too_small"), "caller_invalid"],
    [422, detail("content_policy_violation"), "policy_content"],
    [422, detail("no_media_generated"), "provider_server_error"],
    [400, { detail: "bad request", error_type: "bad_request" }, "caller_invalid"],
    [401, { detail: "Authentication is required" }, "provider_auth_failed"],
    [403, { detail: "User is locked. Reason: Exhausted balance." }, "provider_auth_failed"],
    [499, { detail: "cancelled", error_type: "client_cancelled" }, "provider_server_error"],
    [503, { detail: "no runner", error_type: "runner_scheduling_failure" }, "provider_overloaded"],
    [504, { detail: "too slow", error_type: "request_timeout" }, "provider_timeout"],
  ])("%d %j is %s, whenever it comes", (status, body, verdict) => {
    expect(fal.means("generate", { status, body }).verdict).toBe(verdict);
    expect(fal.means("generate", { status, body }, 1).verdict).toBe(verdict);
  });

  it("a model that is gone is said so; a request that the vendor has lost is its own fault", () => {
    const gone = { status: 404, body: { detail: "Application not found" } };
    expect(fal.means("generate", gone).verdict).toBe("caller_invalid");
    expect(fal.means("generate", gone, 0).verdict).toBe("provider_server_error");
    expect(fal.means("generate", gone, 1).verdict).toBe("provider_server_error");
  });

  it("a wait that is over is no success yet: the result has the last word", () => {
    const over = { status: "COMPLETED", metrics: { inference_time: 3 } };
    expect(fal.means("generate", { body: over }, 0).verdict).toBe("success");
    expect(fal.means("generate", { status: 422, body: detail("missing") }, 1).verdict).toBe("caller_invalid");
  });
});

it("an image edit of Grok Imagine is asked with the list that it reads, and with no other name (M5)", () => {
  const params = table["grok-imagine-image-edit"]?.params ?? {};
  expect(Object.keys(params)).toContain("image_urls");
  expect(Object.keys(params)).not.toContain("image_url");
});
