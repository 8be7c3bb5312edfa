// Records a page as pictures with timestamps. Each picture is a file, which keeps memory small.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CDPSession } from "puppeteer-core";
import type { Clock } from "../../../core/clock.ts";
import { RecordingFault } from "./browser-page.ts";
import type { Size } from "./clip.ts";

const JPEG = { format: "jpeg", quality: 80 } as const;
const PICTURES_MAX = 4_000;
const PICTURES_MIB_MAX = 128;

export interface Picture {
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
