// The actions core/produce_demo and core/produce_autodemo: checks their params before any hold.
import { z } from "zod";
import { type LocalAction, launched, localAction } from "../../../catalog/local-action.ts";
import type { DemoMakerSpec } from "../../../catalog/tier.ts";
import { pageUrl } from "../pages/page-params.ts";
import { pagesOf } from "../pages/page-url.ts";
import type { PageParts } from "../pages/parts.ts";
import { budgetCents } from "../step-budget.ts";
import { ASPECTS } from "./clip.ts";
import { DEMO_JOB, type DemoStart, SCENE_CENTS_MIN } from "./demo-job.ts";
import { offSite, SECONDS_MAX, SECONDS_MIN, scenePart } from "./storyboard.ts";

const IN_FLIGHT_MAX = 2;
const [SCENE_CENTS, SCENE_BUDGET_MIN, SCENE_BUDGET_MAX] = [20, 5, 100];
const [BUDGET_MIN, BUDGET_MAX] = [20, 300];
/** The default budget of a storyboard, plus a cent per second. */
const BOARD_CENTS = 40;
const SECONDS_DEFAULT = 45;

export interface ProduceParts {
  readonly pages: Pick<PageParts, "ladder" | "mayUsePort">;
  readonly maker: () => DemoMakerSpec;
  readonly chromiumPath: string | null;
  readonly ffmpegPath: string | null;
}

const aspect = z.enum(ASPECTS).default("16:9").describe("Shape of the video");
const voice = z
  .string()
  .regex(/^[\w -]{1,40}$/, "must be the name of a voice")
  .optional()
  .describe("Voice of the speech model, such as alloy");
const language = z
  .string()
  .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$/, "must be a language such as en or pt-BR")
  .default("en")
  .describe("What is written and spoken");

/** The sandbox simulates everything. A live account needs ffmpeg, and a browser of the operator or a vendor. */
function needs({ chromiumPath, ffmpegPath, maker }: ProduceParts) {
  return ({ sandbox }: { readonly sandbox: boolean }): readonly string[] | null => {
    if (!sandbox && ffmpegPath === null) return [];
    return !sandbox && chromiumPath !== null ? null : [maker().browser.begin.action];
  };
}

const firstPage = (url: string) => pagesOf([url])[0] ?? url;
const common = { service: "core", category: "video", effect: "write" } as const;
const launches = { job: DEMO_JOB, inFlightMax: IN_FLIGHT_MAX };

function produceDemo(parts: ProduceParts): LocalAction {
  const params = z
    .strictObject({
      url: pageUrl(parts.pages).describe("The page that it begins at"),
      ...scenePart,
      seconds: z.number().min(SECONDS_MIN).max(SECONDS_MAX).default(5).describe("How long it is at the least"),
      aspect,
      voice,
      budgetCents: budgetCents(SCENE_BUDGET_MIN, SCENE_BUDGET_MAX, `${SCENE_CENTS} cents`),
    })
    .check(({ value, issues }) => {
      const off = offSite({ url: firstPage(value.url), steps: value.steps }, firstPage(value.url));
      if (off === null || off.path[0] === "url") return;
      const message = "must be a page of the same site as url";
      issues.push({ code: "custom", message, path: [...off.path], input: off.address });
    });
  type Params = z.infer<typeof params>;
  return localAction<Params>({
    ...common,
    action: "produce_demo",
    asked:
      "record a scene in a browser; screen recording of clicks; clip of how to use a page; capture a feature on video",
    description:
      "Records one scene of a web site in a browser (goto, click, type, scroll, wait), with a caption and a spoken line, as a clip among your files. Starts a job; core/result tells how it went.",
    keywords: "record a browser; screen recording; demo clip; product video",
    params,
    price: {
      mode: "capped",
      cents: SCENE_BUDGET_MAX,
      minCents: SCENE_CENTS_MIN,
      quoteCents: (given) => given.budgetCents ?? SCENE_CENTS,
    },
    launches: {
      ...launches,
      start({ url: given, steps, caption, narration, budgetCents: _, ...how }): DemoStart {
        const url = firstPage(given);
        const scene = { url, steps, caption, narration, seconds: how.seconds };
        const board = { title: new URL(url).host, scenes: [scene] };
        return { action: "produce_demo", url, board, brief: "", language: "en", ...how };
      },
    },
    needs: needs(parts),
    run: (_, call) => launched(call),
    example: { params: { url: "https://example.com", steps: [{ do: "scroll", by: 600 }], caption: "One scene" } },
  });
}

function produceAutodemo(parts: ProduceParts): LocalAction {
  const params = z.strictObject({
    url: pageUrl(parts.pages).describe("The site's first page"),
    brief: z.string().max(2_000).regex(/\S/, "must not be blank").describe("What the video is to show, and to whom"),
    seconds: z.int().min(10).max(120).default(SECONDS_DEFAULT).describe("About how long it is to be"),
    aspect,
    voice,
    language,
    budgetCents: budgetCents(BUDGET_MIN, BUDGET_MAX, `${BOARD_CENTS}, and 1 for each second`),
  });
  type Params = z.infer<typeof params>;
  return localAction<Params>({
    ...common,
    action: "produce_autodemo",
    asked:
      "demo video of my site; make a product video; promo of our app; explainer video with voice; tour of a website; marketing clip of the landing page",
    description:
      "Makes a demo video of a web site by itself: reads it, writes a storyboard, records each scene in a browser, speaks the narration and puts it together; video and storyboard become files of yours. Starts a job; core/result tells how it went.",
    keywords: "demo video; product video; explainer; promo video of a website; video tour",
    params,
    price: {
      mode: "capped",
      cents: BUDGET_MAX,
      minCents: SCENE_CENTS_MIN,
      quoteCents: (given) => given.budgetCents ?? BOARD_CENTS + given.seconds,
    },
    launches: {
      ...launches,
      start: ({ url, budgetCents: _, ...wanted }): DemoStart => {
        return { action: "produce_autodemo", url: firstPage(url), board: null, ...wanted };
      },
    },
    needs: needs(parts),
    run: (_, call) => launched(call),
    example: {
      params: { url: "https://example.com", brief: "What it is for, for people who hear of it the first time" },
    },
  });
}

export function produceActions(parts: ProduceParts): readonly LocalAction[] {
  return [produceDemo(parts), produceAutodemo(parts)];
}
