// Makes clips from a page's pictures and sound, and a video from clips, with the operator's ffmpeg, which reads only our files.
import { execFile } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import type { CDPSession } from "puppeteer-core";
import type { Clock } from "../../../core/clock.ts";
import { RecordingFault } from "./browser-page.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

export const ASPECTS = ["16:9", "9:16", "1:1"] as const;
export type Aspect = (typeof ASPECTS)[number];
export const SIZES: Readonly<Record<Aspect, Size>> = {
  "16:9": { width: 1_280, height: 720 },
  "9:16": { width: 720, height: 1_280 },
  "1:1": { width: 960, height: 960 },
};

/** An MP4, read in chunks while its folder exists. */
export interface Video {
  readonly sizeBytes: number;
  readonly seconds: number;
  bytes(): AsyncIterable<Uint8Array>;
}

export interface KeptClip {
  readonly seconds: number;
  /** Null: it has been deleted. */
  bytes(): Promise<AsyncIterable<Uint8Array> | null>;
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const FRAMES_A_SECOND = 25;
const SAMPLES_A_SECOND = 48_000;
const SAMPLE_BYTES = 2;
/** The clips of the longest storyboard fit into one file, whatever its pages show. */
const CLIP_BYTES_MAX = 9 * 1_048_576;
/** What text and a moving page need at the sizes above. A long clip gets less, to stay within its bytes. */
const BITS_A_SECOND_MAX = 2_500_000;
const SOUND_BITS_A_SECOND = 96_000;
const MS_MAX = 120_000;
/** Longer than the longest narration. */
const NARRATION_SECONDS_MAX = 90;
const SECONDS_AFTER_NARRATION = 0.4;
const run = promisify(execFile);

export interface Ffmpeg {
  readonly path: string;
  /** Contains all files that it reads and writes. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Rejects with a RecordingFault where it fails, or the job ends. */
async function ffmpeg({ path, folder, signal }: Ffmpeg, args: readonly string[]): Promise<void> {
  const given = ["-nostdin", "-hide_banner", "-v", "error", "-y", ...args];
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: folder, LANG: "C.UTF-8" };
  const how = { env, cwd: folder, timeout: MS_MAX, signal, killSignal: "SIGKILL", maxBuffer: 1_048_576 } as const;
  await run(path, given, how).catch((cause: unknown) => {
    throw new RecordingFault("the pictures could not be made a video", { cause });
  });
}

/** The sound as PCM, whose size gives its length. */
async function samplesOf(
  narration: Buffer,
  made: Ffmpeg,
): Promise<{ readonly file: string; readonly seconds: number }> {
  const [said, file] = [join(made.folder, "said"), join(made.folder, "said.pcm")];
  await writeFile(said, narration);
  const plain = ["-ar", String(SAMPLES_A_SECOND), "-ac", "1", "-f", "s16le", "-t", String(NARRATION_SECONDS_MAX)];
  await ffmpeg(made, ["-protocol_whitelist", "file,pipe", "-i", said, ...plain, file]);
  return { file, seconds: (await stat(file)).size / (SAMPLES_A_SECOND * SAMPLE_BYTES) };
}

export interface ClipParts {
  readonly pictures: readonly Picture[];
  /** The clip's minimum length. */
  readonly seconds: number;
  /** Null: a silent clip. */
  readonly narration: Buffer | null;
  readonly size: Size;
}

async function videoOf(file: string, seconds: number): Promise<Video> {
  const { size } = await stat(file);
  return { sizeBytes: size, seconds, bytes: () => createReadStream(file) };
}

/** The best picture quality that fits into a clip. */
function pictureArgs(seconds: number): string[] {
  const fits = (CLIP_BYTES_MAX * 8 * 0.9) / seconds - SOUND_BITS_A_SECOND;
  const most = Math.floor(Math.min(BITS_A_SECOND_MAX, fits));
  const bound = ["-maxrate", String(most), "-bufsize", String(most)];
  return ["-c:v", "libx264", "-preset", "veryfast", "-crf", "23", ...bound, "-threads", "2"];
}

/** One clip. Clips of one size share an encoding, so that they can be joined without encoding them again. */
export async function makeClip({ pictures, seconds: least, narration, size }: ClipParts, made: Ffmpeg): Promise<Video> {
  const sound = narration === null ? null : await samplesOf(narration, made);
  const seconds = Math.max(least, sound === null ? 0 : sound.seconds + SECONDS_AFTER_NARRATION);
  const lines = pictures.flatMap(({ file, atMs }, at) => {
    const from = at === 0 ? 0 : atMs / 1_000;
    const next = pictures[at + 1];
    const until = next === undefined ? Math.max(seconds, from + 1) : next.atMs / 1_000;
    return [`file '${file}'`, `duration ${Math.max(0.001, until - from).toFixed(3)}`];
  });
  // ffmpeg ignores the last duration unless another picture follows.
  const last = pictures.at(-1);
  const list = join(made.folder, "pictures.txt");
  await writeFile(list, `ffconcat version 1.0\n${lines.join("\n")}\nfile '${last?.file ?? ""}'\n`);
  const file = join(made.folder, "clip.mp4");
  const { width, height } = size;
  const fit = `scale=${width}:${height}:force_original_aspect_ratio=decrease,pad=${width}:${height}:-1:-1,setsar=1`;
  const plain = ["-f", "s16le", "-ar", String(SAMPLES_A_SECOND), "-ac", "1"];
  const silence = ["-f", "lavfi", "-i", `anullsrc=r=${SAMPLES_A_SECOND}:cl=mono`];
  await ffmpeg(made, [
    ...["-f", "concat", "-safe", "0", "-protocol_whitelist", "file,pipe", "-i", list],
    ...(sound === null ? silence : [...plain, "-i", sound.file]),
    ...["-filter:v", `fps=${FRAMES_A_SECOND},${fit},format=yuv420p`, "-filter:a", "apad", "-t", seconds.toFixed(3)],
    ...[...pictureArgs(seconds), "-video_track_timescale", "12800"],
    ...["-c:a", "aac", "-b:a", String(SOUND_BITS_A_SECOND), "-fs", String(CLIP_BYTES_MAX), "-movflags", "+faststart"],
    file,
  ]);
  return videoOf(file, seconds);
}

/** Joins clips of one size, each copied into the folder first. Deleted ones are skipped. */
export async function joinClips(clips: readonly KeptClip[], made: Ffmpeg): Promise<Video> {
  const files: string[] = [];
  let seconds = 0;
  for (const clip of clips) {
    const bytes = await clip.bytes();
    if (bytes === null) continue;
    const file = join(made.folder, `${files.length}.mp4`);
    await pipeline(Readable.from(bytes), createWriteStream(file), { signal: made.signal }).catch((cause: unknown) => {
      if (!made.signal.aborted) throw cause;
      throw new RecordingFault("its scenes could not be brought together in time", { cause });
    });
    files.push(file);
    seconds += clip.seconds;
  }
  if (files.length === 0) throw new RecordingFault("the files of its scenes are no more");
  const list = join(made.folder, "clips.txt");
  await writeFile(list, `ffconcat version 1.0\n${files.map((file) => `file '${file}'`).join("\n")}\n`);
  const whole = join(made.folder, "whole.mp4");
  const from = ["-f", "concat", "-safe", "0", "-protocol_whitelist", "file,pipe", "-i", list];
  await ffmpeg(made, [...from, "-c", "copy", "-movflags", "+faststart", whole]);
  return videoOf(whole, seconds);
}

const JPEG = { format: "jpeg", quality: 80 } as const;
const PICTURES_MAX = 4_000;
const PICTURES_MIB_MAX = 128;

interface Picture {
  readonly file: string;
  /** Since the recording began. */
  readonly atMs: number;
}

export class Screencast {
  readonly #session: CDPSession;
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #pictures: Picture[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Why the recording has stopped. */
  #fault: RecordingFault | null = null;
  #beganMs = 0;
  #bytes = 0;

  constructor(session: CDPSession, folder: string, clock: Clock) {
    this.#session = session;
    this.#folder = folder;
    this.#clock = clock;
  }

  async begin({ width, height }: Size): Promise<void> {
    this.#beganMs = this.#clock.elapsedMs();
    // The first frame of a screencast may come after the first step, so the beginning is a screenshot.
    await this.#shoot();
    this.#session.on("Page.screencastFrame", ({ data, sessionId }) => {
      this.#take(data);
      void this.#next(sessionId).catch(() => {});
    });
    const options = { ...JPEG, maxWidth: width, maxHeight: height, everyNthFrame: 2 };
    await this.#session.send("Page.startScreencast", options);
  }

  /** Asks for the next frame once the last is written. */
  async #next(sessionId: number): Promise<void> {
    await this.#writing;
    if (this.#fault === null) await this.#session.send("Page.screencastFrameAck", { sessionId });
  }

  async #shoot(): Promise<void> {
    const { data } = await this.#session.send("Page.captureScreenshot", JPEG);
    this.#take(data);
  }

  #take(base64: string): void {
    const bytes = Buffer.from(base64, "base64");
    const isJpeg = bytes[0] === 0xff && bytes[1] === 0xd8;
    if (!isJpeg || this.#fault !== null) return;
    this.#bytes += bytes.length;
    if (this.#pictures.length >= PICTURES_MAX || this.#bytes > PICTURES_MIB_MAX * 1_048_576) {
      this.#fault = new RecordingFault(`its pictures came to more than ${PICTURES_MIB_MAX} MB`);
      return;
    }
    const file = join(this.#folder, `${this.#pictures.length}.jpg`);
    this.#pictures.push({ file, atMs: this.#clock.elapsedMs() - this.#beganMs });
    this.#writing = this.#writing
      .then(() => writeFile(file, bytes))
      .catch((cause: unknown) => {
        this.#fault ??= new RecordingFault("its pictures could not be kept", { cause });
      });
  }

  /** Takes a last picture, because a page that does not change sends none; returns all pictures. */
  async end(): Promise<{ readonly pictures: readonly Picture[]; readonly ms: number }> {
    await this.#session.send("Page.stopScreencast");
    await this.#shoot();
    const ms = this.#clock.elapsedMs() - this.#beganMs;
    await this.#writing;
    if (this.#fault !== null) throw this.#fault;
    return { pictures: this.#pictures, ms };
  }
}
