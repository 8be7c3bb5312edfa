// Where scenes are recorded: with a browser and ffmpeg for live accounts; in the sandbox played, with a small video that is real.
import { rm } from "node:fs/promises";
import type { DemoMakerSpec } from "../../../catalog/demo-maker.ts";
import type { JobPart } from "../../../catalog/job-kind.ts";
import type { Clock } from "../../../core/clock.ts";
import { nanoFromCents } from "../../../core/money.ts";
import { atPointer } from "../../../upstream/json-pointer.ts";
import type { PublicAddressesOptions } from "../../../upstream/public-addresses.ts";
import { openChromium } from "./chromium.ts";
import { joinClips, type KeptClip, makeClip, once, type Size, type Video } from "./clip.ts";
import { Devtools, lineTo, RecordingFault } from "./devtools.ts";
import { doStep, openPage, PageLoad, pause, preparePage, type ShownPage } from "./page-steps.ts";
import { Screencast } from "./screencast.ts";
import type { Scene } from "./storyboard.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** What legs call the operator's browser. */
const OWN_BROWSER = "direct/browser";
/** What a scene by it counts as its cost, whatever came of it: minutes of a machine, and traffic of up to the bytes below. */
const OWN_BROWSER_NANO = nanoFromCents(0.5);
/** All that one browser may send and be sent. */
const BROWSER_BYTES_MAX = 200 * 1_048_576;
/** What the profile of one holds on the disk. */
const PROFILE_MIB_MAX = 512;
/** Of one scene, with everything that its steps wait for. */
const SCENE_MS_MAX = 120_000;
/** How long the end is to be seen. */
const END_MS_MIN = 800;
/** Within the time that a job has to end in when it is told to. */
const JOIN_MS_MAX = 20_000;

export interface StudioParts {
  readonly clock: Clock;
  readonly maker: () => DemoMakerSpec;
  /** Null: a vendor's browser is asked for. */
  readonly chromiumPath: string | null;
  /** What one Chromium of the operator's may take of memory, with all its processes. */
  readonly chromiumMemoryMib: number;
  /** Null: nothing is recorded but in the sandbox. */
  readonly ffmpegPath: string | null;
  /** How the internet is reached in tests. */
  readonly internet: PublicAddressesOptions;
  /** A small video, one still picture for each so many seconds. */
  readonly play: (seconds: readonly number[], size: Size) => Buffer;
}

export interface SceneWanted {
  readonly scene: Scene;
  readonly size: Size;
  /** Null: it is silent. */
  readonly narration: Buffer | null;
}

/** What pays for a scene, and when it is to stop. */
export interface Recording {
  readonly calls: JobPart;
  readonly signal: AbortSignal;
}

type Keep<T> = (video: Video) => Promise<T>;

export interface Studio {
  /** Has the clip kept, which is there for as long as that takes. Rejects with a RecordingFault where the scene cannot be recorded. */
  record<T>(wanted: SceneWanted, by: Recording, keep: Keep<T>): Promise<T>;
  /** Has the whole kept. Rejects with a RecordingFault where the clips cannot be put together. */
  join<T>(clips: readonly KeptClip[], size: Size, keep: Keep<T>): Promise<T>;
}

/** Work with a folder of its own, which goes with it; its signal is aborted when its time is over, or that of the job is. */
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

/** A page of a browser that is there, shown and recorded from its beginning to the end of its steps. */
async function shown({ scene, size }: SceneWanted, devtools: Devtools, folder: string, how: Shown) {
  const made = await devtools.ask("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await devtools.ask("Target.attachToTarget", { targetId: made.targetId, flatten: true });
  const page: ShownPage = {
    devtools,
    session: String(sessionId),
    signal: AbortSignal.any([how.signal, devtools.gone]),
    caption: scene.caption,
    load: new PageLoad(devtools),
  };
  const { width, height } = size;
  const metrics = { width, height, deviceScaleFactor: 1, mobile: false };
  await devtools.ask("Browser.setDownloadBehavior", { behavior: "deny" });
  await devtools.ask("Emulation.setDeviceMetricsOverride", metrics, page.session);
  await preparePage(page);
  await openPage(page, scene.url);
  const cast = new Screencast(page, folder, how.clock);
  const beganMs = how.clock.elapsedMs();
  await cast.begin(size);
  for (const step of scene.steps) await doStep(page, step);
  const leftMs = scene.seconds * 1_000 - (how.clock.elapsedMs() - beganMs);
  await pause(Math.max(0, leftMs), page.signal);
  return cast.end();
}

interface Shown {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Has a vendor's browser for as long as the work takes. */
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

class LiveStudio implements Studio {
  readonly #parts: StudioParts;
  readonly #ffmpeg: string;

  constructor(parts: StudioParts, ffmpeg: string) {
    this.#parts = parts;
    this.#ffmpeg = ffmpeg;
  }

  async record<T>(wanted: SceneWanted, { calls, signal: ended }: Recording, keep: Keep<T>): Promise<T> {
    const { clock } = this.#parts;
    return inFolder(SCENE_MS_MAX, ended, async (folder, signal) => {
      const record = (devtools: Devtools) => shown(wanted, devtools, folder, { clock, signal });
      const { pictures, ms } = await this.#withBrowser(calls, record);
      const { narration, size, scene } = wanted;
      const seconds = Math.max(scene.seconds, (ms + END_MS_MIN) / 1_000);
      return keep(await makeClip({ pictures, seconds, narration, size }, { path: this.#ffmpeg, folder, signal }));
    });
  }

  async #withBrowser<T>(calls: JobPart, work: (devtools: Devtools) => Promise<T>): Promise<T> {
    const { chromiumPath, chromiumMemoryMib, internet, maker } = this.#parts;
    if (chromiumPath === null) {
      return withVendorBrowser(maker(), calls, async (address) => {
        const devtools = new Devtools(await lineTo(address));
        return work(devtools).finally(() => devtools.close());
      });
    }
    const openAnd = async () => {
      const bounds = { memoryMib: chromiumMemoryMib, diskMib: PROFILE_MIB_MAX };
      const browser = await openChromium(chromiumPath, { ...internet, bytesMax: BROWSER_BYTES_MAX, bounds });
      return work(browser.devtools).finally(() => browser.close());
    };
    const { done } = await calls.own({
      name: OWN_BROWSER,
      countsNano: OWN_BROWSER_NANO,
      // A scene that fails has been worked on as well: its fault is a value here, so that it leaves a leg.
      run: (): Promise<Tried<T>> =>
        openAnd().then(
          (made) => ({ made }),
          (fault: unknown) => ({ fault }),
        ),
      outcome: (done) => ("fault" in done ? "provider_malformed" : "answered"),
    });
    if ("fault" in done) throw done.fault;
    return done.made;
  }

  /** Even a job whose time is over is put together of what it has. */
  join<T>(clips: readonly KeptClip[], _size: Size, keep: Keep<T>): Promise<T> {
    return inFolder(JOIN_MS_MAX, null, async (folder, signal) =>
      keep(await joinClips(clips, { path: this.#ffmpeg, folder, signal })),
    );
  }
}

/** A vendor's browser is paid as in earnest, and nothing is shown in it. */
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

/** Null: this gateway makes no demos in earnest. */
export function openStudio(parts: StudioParts, { sandbox }: { readonly sandbox: boolean }): Studio | null {
  if (sandbox) return playedStudio(parts);
  return parts.ffmpegPath === null ? null : new LiveStudio(parts, parts.ffmpegPath);
}
