// fal: images, videos, speech and music from some seventy models; the table beside this file has their params and prices. Ids and prices
// come from its pages between 2026-08 and 2026-11, checked against notes of people who read its price list. From memory: the params of
// wan-3's images and of seedream-5-pro besides the prompt, and how the maximum video length is set. Where resolution, sound or length
// determines the price, the row fixes it; models that fal has ended are listed with their successor.
import { action, defineAdapter, header, z } from "#adapter";

const request_id = "764cabcf-b745-4b3e-ae38-1200304cf45b";
const address = `https://queue.fal.run/fal-ai/flux/requests/${request_id}`;
// For a request that the vendor itself queued, a 404 is the vendor's fault.
const rules = [{ status: 404, means: "provider_server_error" }] as const;
// Each model names its output field differently; a model without output has no such field.
const nothing = { at: "", empty: true, means: "provider_malformed" } as const;
const queued = { request_id, response_url: address, status_url: `${address}/status`, cancel_url: `${address}/cancel` };

// The same models at OpenAI's image endpoint, answered synchronously, at the table's prices.
const flux = (path: string, slug: string, megapixels: string) =>
  ({
    kind: "images",
    dialect: "fal-images",
    origin: "run",
    path,
    slug,
    imagesMax: 4,
    formats: ["url", "b64_json"],
    refuses: ["style", "background", "output_compression", "moderation", "input_fidelity", "partial_images"],
    prices: [{ since: "2026-09-09", megapixels }],
  }) as const;

export default defineAdapter({
  name: "fal",
  docs: "https://docs.fal.ai/model-apis/model-endpoints/queue",
  beliefs: {
    generate:
      "the params of wan-3's images and of seedream-5-pro beside the prompt, and how the longest video is bounded",
  },
  origin: "https://queue.fal.run",
  origins: { rest: "https://rest.fal.ai", run: "https://fal.run" },
  auth: header("authorization", "Key "),
  keyEnv: ["FAL_KEY", "FAL_API_KEY"],
  rules: [
    { status: [400, 422], at: "/detail/0/type", is: "content_policy_violation", means: "policy_content" },
    {
      status: [400, 422],
      at: "/detail/0/type",
      is: ["downstream_service_error", "downstream_service_unavailable", "generation_timeout", "no_media_generated"],
      means: "provider_server_error",
    },
    { status: 499, means: "provider_server_error" },
  ],
  actions: {
    upload: action({
      asked: "put an image up for a generation; use my photo in a video; give the model my picture",
      description:
        "Makes a place for a file: PUT its bytes to upload_url with the same Content-Type, then use file_url as the image, video or audio of a generation.",
      category: "media",
      keywords: "stage a file; image_url; video_url; audio_url",
      effect: "write",
      params: z.strictObject({
        file_name: z.string().min(1).max(255).describe("Name of the file with its ending"),
        content_type: z.string().min(1).max(100).describe("Its type, such as image/png"),
      }),
      price: { mode: "fixed", cents: 1 },
      upstreamCents: 0,
      request: { method: "POST", origin: "rest", path: "/storage/upload/initiate?storage_type=fal-cdn-v3" },
      content: ["/upload_url"],
      example: {
        params: { file_name: "cat.png", content_type: "image/png" },
        answer: {
          upload_url: "https://v3.fal.media/files/upload/penguin/cat.png?signature=0123456789",
          file_url: "https://v3.fal.media/files/penguin/0123456789_cat.png",
        },
      },
    }),
    generate: action({
      asked:
        "make a video from text; animate a picture; make a song; music for a video; text to video; short film, cartoon, clip, animation; a generator for a five-second clip; generate a short video clip; compose a melody, beat, soundtrack; sound effects; clone a voice; talking avatar; upscale a photo; 3d model; lip sync; logo, poster, portrait, drawing, picture, illustration, artwork; remove the background",
      description:
        "Makes an image, a video, speech or music with the model you name, and waits for it. Each model has its own params and its own price.",
      category: "media",
      keywords:
        "text to image; text to video; video generator; image to video; edit image; text to speech; read aloud; music; logo; song; soundtrack; sound effects; animate a photo; voice over; poster; banner; avatar; animation; video from a picture; upscale; remove the background; backing track",
      effect: "write",
      params: z.looseObject({
        model: z
          .string()
          .min(1)
          .max(100)
          .describe("Key of the model, such as flux-schnell; its own params go beside it"),
      }),
      price: { mode: "ranged", cents: 813, minCents: 0.4, unit: "image, second, megapixel or 1,000 characters" },
      // The table's rows state the cost of each model.
      upstreamCents: 0,
      table: { param: "model" },
      request: { method: "POST", path: "" },
      steps: [
        {
          request: { method: "GET", path: "", pathAt: "/status_url" },
          until: { at: "/status", is: "COMPLETED" },
          everyMs: 1_500,
          merge: true,
          rules,
        },
        // Completed only means that the wait is over; the status of the result says whether it succeeded.
        { request: { method: "GET", path: "", pathAt: "/response_url" }, rules: [...rules, nothing] },
      ],
      timeoutMs: 900_000,
      example: {
        params: { model: "flux-schnell", prompt: "a lighthouse at dawn" },
        answers: [
          { ...queued, status: "IN_QUEUE", queue_position: 0 },
          { request_id, status: "COMPLETED", logs: null, metrics: { inference_time: 0.62 } },
          {
            images: [
              {
                url: "https://v3.fal.media/files/zebra/lighthouse.jpg",
                width: 1024,
                height: 768,
                content_type: "image/jpeg",
              },
            ],
            timings: { inference: 0.61 },
            seed: 42,
            has_nsfw_concepts: [false],
            prompt: "a lighthouse at dawn",
          },
        ],
      },
    }),
  },
  unitModels: {
    "fal-ai/flux/schnell": flux("/fal-ai/flux/schnell", "black-forest-labs/flux-schnell", "0.003"),
    "fal-ai/flux/dev": flux("/fal-ai/flux/dev", "black-forest-labs/flux-dev", "0.025"),
    "fal-ai/flux-pro/v1.1": flux("/fal-ai/flux-pro/v1.1", "black-forest-labs/flux-pro-1.1", "0.04"),
  },
});
