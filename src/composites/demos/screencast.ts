// Takes down what a page looks like, picture by picture, each with when it was to be seen; a picture is a file, so that memory stays small.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import type { Size } from "./clip.ts";
import type { ShownPage } from "./page-steps.ts";

const QUALITY = 80;
/** Of one recording. */
const PICTURES_MAX = 1_500;
const BYTES_MAX = 128 * 1_048_576;

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
  /** Why one could not be written. */
  #fault: unknown = null;
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
    devtools.on("Page.screencastFrame", ({ data, sessionId }) => {
      if (typeof data === "string") this.#take(Buffer.from(data, "base64"));
      // The next one comes once this one has been written.
      void this.#writing.then(() => devtools.ask("Page.screencastFrameAck", { sessionId }, session)).catch(() => {});
    });
    const bounds = { maxWidth: width, maxHeight: height };
    await devtools.ask(
      "Page.startScreencast",
      { format: "jpeg", quality: QUALITY, ...bounds, everyNthFrame: 2 },
      session,
    );
  }

  #take(bytes: Buffer): void {
    const isJpeg = bytes[0] === 0xff && bytes[1] === 0xd8;
    this.#bytes += bytes.length;
    if (!isJpeg || this.#pictures.length >= PICTURES_MAX || this.#bytes > BYTES_MAX) return;
    const file = join(this.#folder, `${this.#pictures.length}.jpg`);
    this.#pictures.push({ file, atMs: this.#clock.elapsedMs() - this.#beganMs });
    this.#writing = this.#writing
      .then(() => writeFile(file, bytes))
      .catch((fault: unknown) => {
        this.#fault ??= fault;
      });
  }

  /** One more as it stands, and all of them: a page that does not change brings no picture by itself. */
  async end(): Promise<{ readonly pictures: readonly Picture[]; readonly ms: number }> {
    const { devtools, session } = this.#page;
    await devtools.ask("Page.stopScreencast", {}, session);
    const shot = await devtools.ask("Page.captureScreenshot", { format: "jpeg", quality: QUALITY }, session);
    const ms = this.#clock.elapsedMs() - this.#beganMs;
    if (typeof shot.data === "string") this.#take(Buffer.from(shot.data, "base64"));
    await this.#writing;
    if (this.#fault !== null) throw this.#fault;
    return { pictures: this.#pictures, ms };
  }
}
