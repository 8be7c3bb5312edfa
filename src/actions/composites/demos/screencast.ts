// Takes down what a page looks like, picture by picture, each with when it was to be seen; a picture is a file, so that memory stays small.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import type { Size } from "./clip.ts";
import { RecordingFault } from "./devtools.ts";
import type { ShownPage } from "./page-steps.ts";

const QUALITY = 80;
/** Of one recording, on the disk. */
const PICTURES_MAX = 4_000;
const PICTURES_MIB_MAX = 128;

export interface Picture {
  readonly file: string;
  /** Since the recording began. */
  readonly atMs: number;
}

export class Screencast {
  readonly #page: ShownPage;
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #pictures: Picture[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Why there will be no more of them. */
  #fault: RecordingFault | null = null;
  #beganMs = 0;
  #bytes = 0;

  constructor(page: ShownPage, folder: string, clock: Clock) {
    this.#page = page;
    this.#folder = folder;
    this.#clock = clock;
  }

  async begin({ width, height }: Size): Promise<void> {
    const { devtools, session } = this.#page;
    this.#beganMs = this.#clock.elapsedMs();
    // What is seen at the beginning is seen for certain: the first one that the page brings by itself may come after its first step.
    await this.#shoot();
    devtools.on("Page.screencastFrame", ({ data, sessionId }) => {
      if (typeof data === "string") this.#take(Buffer.from(data, "base64"));
      void this.#next(sessionId).catch(() => {});
    });
    const bounds = { maxWidth: width, maxHeight: height };
    await devtools.ask(
      "Page.startScreencast",
      { format: "jpeg", quality: QUALITY, ...bounds, everyNthFrame: 2 },
      session,
    );
  }

  /** The next one comes once the last has been written, and there is room for it. */
  async #next(sessionId: unknown): Promise<void> {
    await this.#writing;
    const { devtools, session } = this.#page;
    if (this.#fault === null) await devtools.ask("Page.screencastFrameAck", { sessionId }, session);
  }

  async #shoot(): Promise<void> {
    const { devtools, session } = this.#page;
    const shot = await devtools.ask("Page.captureScreenshot", { format: "jpeg", quality: QUALITY }, session);
    if (typeof shot.data === "string") this.#take(Buffer.from(shot.data, "base64"));
  }

  #take(bytes: Buffer): void {
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

  /** One more as it stands, and all of them: a page that does not change brings no picture by itself. */
  async end(): Promise<{ readonly pictures: readonly Picture[]; readonly ms: number }> {
    const { devtools, session } = this.#page;
    await devtools.ask("Page.stopScreencast", {}, session);
    await this.#shoot();
    const ms = this.#clock.elapsedMs() - this.#beganMs;
    await this.#writing;
    if (this.#fault !== null) throw this.#fault;
    return { pictures: this.#pictures, ms };
  }
}
