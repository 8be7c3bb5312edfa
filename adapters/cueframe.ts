// CueFrame: videos assembled from clips, text and graphics. Media, projects and renders belong to the payer who created them. Paths and
// fields come from its public pages. From memory: its error messages, the media statuses other than `complete` and `failed`, and our cost
// of a render: 50 cents per started minute, half of that at hd, twice at 4k. Files are passed as links that the vendor opens, so their
// bytes are transferred only once.
import { action, bearer, defineAdapter, exactlyOne, goesWith, like, optional, together, withRules, z } from "#adapter";

const YEAR_DAYS = 365;
const RENDER_CENTS = 100;
/** The maximum video length at which the vendor charges no more than we do. */
const SECONDS_MAX = { hd: 240, fhd: 120, "4k": 60 } as const;
const CLIPS_MAX = 500;
const CHARACTERS_MAX = 1_000_000;

const types = ["video/mp4", "video/quicktime", "video/x-matroska", "video/webm"] as const;
const sounds = ["audio/mpeg", "audio/wav", "audio/x-wav", "audio/mp4", "audio/aac"] as const;
const images = ["image/png", "image/jpeg", "image/webp"] as const;
const id = like(/^[A-Za-z0-9_-]{1,200}$/, "is no id");
const seconds = z.number().min(0).max(SECONDS_MAX.hd);
const format = z.strictObject({
  aspectRatio: z.enum(["16:9", "9:16", "1:1", "4:5"]),
  fps: z.union([z.literal(24), z.literal(30), z.literal(60)]),
  resolution: z.enum(["hd", "fhd", "4k"]),
});
const source = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("media"), mediaId: id }),
  z.looseObject({ kind: z.literal("component"), componentId: id }),
  z.looseObject({ kind: z.literal("effect"), primitiveId: id }),
  z.looseObject({ kind: z.literal("overlay"), primitiveId: id }),
]);
const clip = z.looseObject({ id, startTime: seconds, duration: seconds, source });
const track = z.looseObject({
  id,
  kind: z.enum(["video", "audio", "image", "overlay", "effect"]),
  contents: z.array(clip).max(CLIPS_MAX),
});
const fields = {
  v: z.literal(1).describe("1"),
  format: format.describe("Shape, frames a second and size of the video"),
  tracks: z
    .array(track)
    .min(1)
    .max(50)
    .describe("What is seen and heard: tracks of clips with startTime, duration (seconds) and a source"),
  markers: optional(z.array(z.looseObject({ startTime: seconds })).max(CLIPS_MAX), "Where scenes begin"),
  captions: optional(z.record(z.string(), z.json()), "Words with times in milliseconds, and their style"),
};
type Composition = z.infer<z.ZodObject<typeof fields>>;

/** The end of the last element, in seconds; word times are in milliseconds. */
function secondsOf({ tracks, markers = [], captions = {} }: Composition): number {
  const clips = tracks.flatMap(({ contents }) => contents.map(({ startTime, duration }) => startTime + duration));
  const words = [...JSON.stringify(captions).matchAll(/"end(?:Ms|Time)":\s*(\d+)/g)].map(
    ([, ms]) => Number(ms) / 1_000,
  );
  return [...clips, ...words, ...markers.map(({ startTime }) => startTime)].reduce(
    (most, end) => Math.max(most, end),
    0,
  );
}

function isShort(composition: Composition): boolean {
  return secondsOf(composition) <= SECONDS_MAX[composition.format.resolution];
}

const TOO_LONG = "is too long: 240 seconds at hd, 120 at fhd and 60 at 4k are the most";
const TOO_LARGE = `has more than ${CHARACTERS_MAX} characters`;
const nested = z
  .strictObject(fields)
  .refine((whole) => JSON.stringify(whole).length <= CHARACTERS_MAX, TOO_LARGE)
  .refine(isShort, TOO_LONG);
type Composed = {
  readonly [name in keyof Composition | "composition"]?: (Composition & { composition: Composition })[name] | undefined;
};
const { v, tracks, format: shape } = fields;
/** A composition, given as fields of the call or as one field. */
const composed = {
  ...fields,
  composition: optional(nested, "The composition as one object, instead of its fields"),
  v: v.optional(),
  format: shape.optional(),
  tracks: tracks.optional(),
};
const flat = ({ v: version, format: size, tracks: given, markers, captions }: Composed) => {
  const found = Object.entries({ v: version, format: size, tracks: given, markers, captions });
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
};
const rules = [
  exactlyOne("composition", "tracks"),
  together("tracks", "format"),
  together("tracks", "v"),
  goesWith("markers", "tracks"),
  goesWith("captions", "tracks"),
] as const;
const fitsPrice = ({ tracks: given, format: size, markers, captions }: Composed) =>
  given === undefined || size === undefined || isShort({ v: 1, format: size, tracks: given, markers, captions });
const fitsBody = (given: Composed) => JSON.stringify(flat(given)).length <= CHARACTERS_MAX;
const compositionOf = (given: Composed) => given.composition ?? flat(given);

/** Media in a composition must belong to the payer. */
const ownMedia = [
  { kind: "media", param: "tracks", inside: "mediaId" },
  { kind: "media", param: "captions", inside: "mediaId" },
  { kind: "media", param: "composition", inside: "mediaId" },
];
const project_id = id.describe("Id of a project of yours");
const ownProject = { kind: "project", param: "project_id" };
const common = { category: "video", price: { mode: "fixed", cents: 1 }, upstreamCents: 0 } as const;
const free = { ...common, price: { mode: "fixed", cents: 0 }, effect: "read" } as const;
const [project, media, render] = ["prj_4f2a9c1e7b3d", "med_8c1f0e2d3a4b", "rnd_1a2b3c4d5e6f"];
const title = {
  v: 1,
  format: { aspectRatio: "16:9", fps: 30, resolution: "fhd" },
  tracks: [
    {
      id: "titles",
      kind: "overlay",
      contents: [
        {
          id: "hello",
          startTime: 0,
          duration: 4,
          source: { kind: "overlay", primitiveId: "heroText", params: { text: "The gate" } },
        },
      ],
    },
  ],
} as const;

export default defineAdapter({
  name: "CueFrame",
  docs: "https://docs.cueframe.ai",
  beliefs: {
    "*": "the words of its errors, the statuses of media that are neither complete nor failed, and what a render costs us",
  },
  origin: "https://api.cueframe.ai/v1",
  auth: bearer,
  rules: [
    // Our plan is used up.
    {
      status: [400, 403, 429],
      at: "/error/code",
      matches: /^(insufficient_credits|quota_exceeded|plan_limit)/,
      sample: "insufficient_credits",
      means: "provider_billing",
    },
  ],
  actions: {
    upload: action(common, {
      asked: "bring a clip, song or picture into the video editor",
      description:
        "Brings a file of yours (files/upload) to where videos are made: video, sound or image. Its import goes on; see cueframe/media_status.",
      keywords: "video editing; import a video; add footage",
      effect: "write",
      params: z.strictObject({
        file_id: z.string().min(1).max(200).describe("Id of a file of yours, whose bytes are there"),
        filename: z.string().min(1).max(500).describe("Its name with its ending"),
        contentType: z.enum([...types, ...sounds, ...images]).describe("What it is, such as video/mp4"),
      }),
      request: { method: "POST", path: "/media/import", names: { file_id: "url" } },
      answer: { kind: "json", renamed: { id: "media_id" } },
      files: ["file_id"],
      issues: [
        {
          kind: "media",
          at: "/id",
          days: YEAR_DAYS,
          poll: {
            action: "media_status",
            param: "media_id",
            at: "/status",
            done: ["complete", "ready"],
            failed: ["failed"],
          },
        },
      ],
      example: {
        params: { file_id: "file_example", filename: "walk.mp4", contentType: "video/mp4" },
        answer: { id: media, status: "importing" },
      },
    }),
    media_status: action(free, {
      asked: "is my video file imported; length and size of a clip; how long is the film",
      description: "Says how the import of a file stands, and what it is: length, size, frames a second.",
      params: z.strictObject({ media_id: id.describe("Id of media of yours") }),
      request: { method: "GET", path: "/media/{media_id}" },
      content: ["/status"],
      requires: [{ kind: "media", param: "media_id" }],
      example: {
        params: { media_id: media },
        answer: {
          id: media,
          status: "complete",
          name: "walk.mp4",
          mimeType: "video/mp4",
          fileSize: 10_485_760,
          duration: 12.4,
          width: 1920,
          height: 1080,
          frameRate: 30,
        },
      },
    }),
    create_project: action(common, {
      asked:
        "edit a video; put clips together; new video project; cut, join, merge videos; video editor; slideshow with music; movie from my photos; montage",
      description: "Makes a project, in which a video is put together. Returns its id for cueframe/put_composition.",
      keywords:
        "make a video; video project; video editing; cut a film; join several clips; video with titles; add titles and music",
      effect: "write",
      params: z.strictObject({
        name: z.string().min(1).max(200).describe("Name of the project"),
        format: optional(format, "Shape, frames a second and size of its videos"),
        brandKitId: optional(id, "Id of a kit of colours and letters that the operator has there"),
      }),
      request: { method: "POST", path: "/projects" },
      issues: [{ kind: "project", at: "/id", days: YEAR_DAYS }],
      example: {
        params: { name: "The gate", format: title.format },
        answer: { id: project, name: "The gate", format: title.format, createdAt: "2026-11-20T10:11:12Z" },
      },
    }),
    put_composition: action(common, {
      asked:
        "add titles, text, music, logos to a video; order of the clips; timeline of a video; overlay; trim; concatenate;",
      description:
        "Puts what a video consists of into a project, in place of what was there: tracks of clips, with text and graphics. At most 240 seconds at hd, 120 at fhd, 60 at 4k.",
      keywords: "edit a video; timeline; clips; captions; video composition",
      effect: "write",
      params: withRules([...rules], { project_id, ...composed })
        .refine(fitsPrice, TOO_LONG)
        .refine(fitsBody, TOO_LARGE),
      request: {
        method: "PUT",
        path: "/projects/{project_id}/composition",
        params: (given) => ({ project_id: given.project_id, ...compositionOf(given) }),
      },
      rules: [{ status: 204, at: "", empty: true, means: "success", data: { stored: true } }],
      requires: [ownProject, ...ownMedia],
      example: { params: { project_id: project, ...title }, answer: { stored: true } },
    }),
    validate: action(common, {
      asked: "check a composition; will the video work; what is wrong with my timeline",
      description: "Says whether a video can be made of a composition, and if not, what to mend.",
      keywords: "check a composition; video editing",
      effect: "read",
      params: withRules([...rules], composed)
        .refine(fitsPrice, TOO_LONG)
        .refine(fitsBody, TOO_LARGE),
      request: { method: "POST", path: "/composition/validate", params: (given) => compositionOf(given) },
      content: ["/valid"],
      requires: ownMedia,
      example: { params: title, answer: { valid: true, errors: [] } },
    }),
    render: action(common, {
      asked: "make the final video; produce the mp4; render it",
      description:
        "Makes the video of a project's composition. Returns render_id for cueframe/render_status; is charged when it begins.",
      keywords: "make a video; export video; mp4; video rendering",
      effect: "write",
      price: { mode: "fixed", cents: RENDER_CENTS },
      upstreamCents: RENDER_CENTS,
      mayCostMore:
        "A render is sold at a dollar, and its length is bounded so that it should cost no more; what it costs us is believed.",
      params: z.strictObject({ project_id }),
      request: { method: "POST", path: "/projects/{project_id}/renders" },
      answer: { kind: "json", renamed: { id: "render_id" } },
      requires: [ownProject],
      issues: [{ kind: "render", at: "/id" }],
      example: { params: { project_id: project }, answer: { id: render, status: "queued" } },
    }),
    render_status: action(free, {
      asked: "is the video ready; how far is the render; download the finished movie",
      description: "Says how far a render is, and once it is done where the video lies, for a while.",
      keywords: "download the video; video rendering",
      params: z.strictObject({ project_id, render_id: id.describe("Id of a render of that project") }),
      request: { method: "GET", path: "/projects/{project_id}/renders/{render_id}" },
      content: ["/status"],
      requires: [ownProject, { kind: "render", param: "render_id" }],
      example: {
        params: { project_id: project, render_id: render },
        answer: {
          id: render,
          status: "complete",
          progress: 100,
          outputUrl: "https://cdn.cueframe.ai/renders/rnd_1a2b3c4d5e6f.mp4?expires=1795000000",
          outputExpiresAt: "2026-11-21T10:11:12Z",
          outputDurationSec: 4,
        },
      },
    }),
  },
});
