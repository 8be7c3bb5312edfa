// Records scenes: with a browser and ffmpeg for live accounts. The sandbox simulates them with a small real video.
import { rm } from "node:fs/promises";
import type { JobPart } from "../../../catalog/job-kind.ts";
import type { DemoMakerSpec } from "../../../catalog/tier.ts";
import type { Clock } from "../../../core/clock.ts";
import { nanoFromCents } from "../../../core/money.ts";
import { atPointer } from "../../../upstream/json-pointer.ts";
import type { PublicAddressesOptions } from "../../../upstream/public-addresses.ts";
import { type BrowserPage, connectTo, RecordingFault, type StartedBrowser, withPage } from "./browser-page.ts";
import { openChromium } from "./chromium.ts";
import { joinClips, type KeptClip, makeClip, once, Screencast, type Size, type Video } from "./clip.ts";
import { ShownPage } from "./page-steps.ts";
import type { Scene } from "./storyboard.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The name of the operator's browser in legs. */
const OWN_BROWSER = "direct/browser";
/** Its cost per scene, successful or not: machine minutes, and traffic up to the bytes below. */
const OWN_BROWSER_NANO = nanoFromCents(0.5);
/** The traffic of one browser, both ways. */
const BROWSER_BYTES_MAX = 200 * 1_048_576;
/** The size of its profile on the disk. */
const PROFILE_MIB_MAX = 512;
/** For one scene, with all waits of its steps. */
const SCENE_MS_MAX = 120_000;
/** How long the end stays visible. */
const END_MS_MIN = 800;
/** Within the time that a job has to end after it is cancelled. */
const JOIN_MS_MAX = 20_000;

export interface StudioParts {
  readonly clock: Clock;
  readonly maker: () => DemoMakerSpec;
  /** Null: a vendor's browser is used. */
  readonly chromiumPath: string | null;
  readonly chromiumMemoryMib: number;
  /** Null: only the sandbox records. */
  readonly ffmpegPath: string | null;
  /** Set by tests. */
  readonly internet: PublicAddressesOptions;
  /** A small video that shows one still picture for each of these times. */
  readonly play: (seconds: readonly number[], size: Size) => Buffer;
}

interface SceneWanted {
  readonly scene: Scene;
  readonly size: Size;
  /** Null: a silent scene. */
  readonly narration: Buffer | null;
}

interface Recording {
  readonly calls: JobPart;
  readonly signal: AbortSignal;
}

type Keep<T> = (video: Video) => Promise<T>;

export interface Studio {
  /** Records a clip and hands it to `keep`; it is deleted afterwards. Rejects with a RecordingFault where the scene cannot be recorded. */
  record<T>(wanted: SceneWanted, by: Recording, keep: Keep<T>): Promise<T>;
  /** Joins clips and hands the video to `keep`. Rejects with a RecordingFault where they cannot be joined. */
  join<T>(clips: readonly KeptClip[], size: Size, keep: Keep<T>): Promise<T>;
}

/** Runs `work` with a temporary folder and a signal that is aborted when its time, or that of the job, is over. */
async function inFolder<T>(
  msMax: number,
  ended: AbortSignal | null,
  work: (folder: string, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const folder = await temporaryFolder();
  const late = AbortSignal.timeout(msMax);
  try {
    return await work(folder, ended === null ? late : AbortSignal.any([ended, late]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Stage {
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

async function recorded({ scene, size }: SceneWanted, opened: BrowserPage, { folder, clock, signal }: Stage) {
  const page = await ShownPage.prepared(opened, scene.caption, signal);
  await page.goTo(scene.url);
  const cast = new Screencast(page.session, folder, clock);
  const beganMs = clock.elapsedMs();
  await cast.begin(size);
  for (const step of scene.steps) await page.do(step);
  const leftMs = scene.seconds * 1_000 - (clock.elapsedMs() - beganMs);
  await page.pause(Math.max(0, leftMs));
  return cast.end();
}

async function withVendorBrowser<T>(
  { browser: { begin, end } }: DemoMakerSpec,
  calls: JobPart,
  work: (address: string) => Promise<T>,
): Promise<T> {
  const made = await calls.call({ action: begin.action, params: begin.params });
  if (!made.ok) throw new RecordingFault(`no browser could be had: ${made.error.message}`);
  try {
    return await work(String(atPointer(made.data, begin.connectAt) ?? ""));
  } finally {
    await calls.call({ action: end.action, params: { [end.param]: String(atPointer(made.data, end.idAt) ?? "") } });
  }
}

type Tried<T> = { readonly made: T } | { readonly fault: unknown };

/** Runs `work` with the operator's browser, or a vendor's. */
async function withBrowser<T>(
  { chromiumPath, chromiumMemoryMib, internet, maker }: StudioParts,
  calls: JobPart,
  work: (browser: StartedBrowser) => Promise<T>,
): Promise<T> {
  if (chromiumPath === null) {
    return withVendorBrowser(maker(), calls, async (address) => {
      const browser = await connectTo(address);
      return work({ browser }).finally(() => browser.disconnect());
    });
  }
  const openAnd = async () => {
    const bounds = { memoryMib: chromiumMemoryMib, diskMib: PROFILE_MIB_MAX };
    const browser = await openChromium(chromiumPath, { ...internet, bytesMax: BROWSER_BYTES_MAX, bounds });
    return work(browser).finally(() => browser.close());
  };
  const { done } = await calls.own({
    name: OWN_BROWSER,
    countsNano: OWN_BROWSER_NANO,
    // A failed scene cost us work too: returning its fault as a value makes it a leg.
    run: (): Promise<Tried<T>> =>
      openAnd().then(
        (made) => ({ made }),
        (fault: unknown) => ({ fault }),
      ),
    outcome: (tried) => ("fault" in tried ? "provider_malformed" : "answered"),
  });
  if ("fault" in done) throw done.fault;
  return done.made;
}

function liveStudio(parts: StudioParts, path: string): Studio {
  const { clock } = parts;
  return {
    record: (wanted, { calls, signal: ended }, keep) =>
      inFolder(SCENE_MS_MAX, ended, async (folder, signal) => {
        const { pictures, ms } = await withBrowser(parts, calls, (browser) =>
          withPage(browser, wanted.size, (page) => recorded(wanted, page, { folder, clock, signal })),
        );
        const { narration, size, scene } = wanted;
        const seconds = Math.max(scene.seconds, (ms + END_MS_MIN) / 1_000);
        return keep(await makeClip({ pictures, seconds, narration, size }, { path, folder, signal }));
      }),
    // Has no job signal: even a job whose time is over joins the clips that it has.
    join: (clips, _, keep) =>
      inFolder(JOIN_MS_MAX, null, async (folder, signal) => keep(await joinClips(clips, { path, folder, signal }))),
  };
}

/** Calls and pays for a vendor's browser as usual, but shows nothing in it. */
function playedStudio({ maker, play }: StudioParts): Studio {
  const played = (each: readonly number[], size: Size): Video => {
    const whole = play(each, size);
    const seconds = each.reduce((sum, one) => sum + one, 0);
    return { sizeBytes: whole.length, seconds, bytes: () => once(whole) };
  };
  return {
    async record({ scene, size }, { calls }, keep) {
      await withVendorBrowser(maker(), calls, async () => {});
      return keep(played([scene.seconds], size));
    },
    async join(clips, size, keep) {
      return keep(
        played(
          clips.map(({ seconds }) => seconds),
          size,
        ),
      );
    },
  };
}

/** Null where this gateway makes no real demos. */
export function openStudio(parts: StudioParts, { sandbox }: { readonly sandbox: boolean }): Studio | null {
  if (sandbox) return playedStudio(parts);
  return parts.ffmpegPath === null ? null : liveStudio(parts, parts.ffmpegPath);
}
