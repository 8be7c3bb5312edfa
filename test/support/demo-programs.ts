// The real programs that make demo videos, for tests: Debian's ffmpeg and chromium, installed where they are missing if possible.
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { installed } from "./apt-install.ts";
import { browserPath } from "./browser.ts";

const PLACES = ["/usr/bin/ffmpeg", "/usr/local/bin/ffmpeg"];
const run = promisify(execFile);

export interface DemoPrograms {
  readonly ffmpeg: string;
  /** A wrapper as an operator would write it: Chromium's own sandbox does not run as root, and tests in a container run as root. */
  readonly chromium: string;
}

export async function demoPrograms(): Promise<DemoPrograms> {
  const ffmpeg = await installed(() => PLACES.find((place) => existsSync(place)), "ffmpeg", "ffmpeg");
  const browser = await browserPath();
  const chromium = join(mkdtempSync(join(tmpdir(), "tollgate-chromium-")), "chromium");
  // Its last argument identifies it among all processes of the machine.
  writeFileSync(chromium, `#!/bin/sh\nexec ${browser} --no-sandbox "$@" --started-by=${chromium}\n`);
  chmodSync(chromium, 0o755);
  return { ffmpeg, chromium };
}

/** A sound of the given length, as an MP3. */
export async function beep(ffmpeg: string, seconds: number): Promise<Buffer> {
  const made = ["-f", "lavfi", "-i", `sine=frequency=440:duration=${seconds}`, "-f", "mp3", "-"];
  const { stdout } = await run(ffmpeg, ["-v", "error", ...made], { encoding: "buffer" });
  return stdout;
}

/** A video's properties, as ffprobe reports them. */
export async function probed(ffmpeg: string, file: string) {
  const args = ["-v", "error", "-show_format", "-show_streams", "-of", "json", file];
  const { stdout } = await run(ffmpeg.replace(/ffmpeg$/, "ffprobe"), args);
  const { streams, format } = JSON.parse(stdout) as {
    streams: { codec_name: string; width?: number; height?: number }[];
    format: { duration: string };
  };
  return { streams, seconds: Number(format.duration) };
}

/** The colours at a place in the picture, ten times a second from the first frame on, each as [red, green, blue]. */
export async function coloursAt(ffmpeg: string, file: string, { x, y }: { x: number; y: number }) {
  const how = ["-vf", `fps=10,crop=2:2:${x}:${y},scale=1:1`, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"];
  const { stdout } = await run(ffmpeg, ["-v", "error", "-i", file, ...how], { encoding: "buffer" });
  return Array.from({ length: stdout.length / 3 }, (_, at) => [...stdout.subarray(3 * at, 3 * at + 3)]);
}
