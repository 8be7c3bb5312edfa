// The video that the sandbox's demos produce: a still image of 800 bytes (H.264 in MP4), with an adjustable length.
import { readFileSync } from "node:fs";

const MS = 1_000;
/** The boxes of the file that hold its length (in ms), with the length's offset from the box's name. */
const LENGTHS_AT = { mvhd: 20, tkhd: 24, mdhd: 20, stts: 16 } as const;

/** Makes a still that is as long as these seconds together, in the aspect ratio of the size: 16:9, 9:16 or 1:1. */
export function smallVideo(
  seconds: readonly number[],
  { width, height }: { readonly width: number; readonly height: number },
): Buffer {
  const shape = width === height ? "1x1" : width > height ? "16x9" : "9x16";
  const video = readFileSync(new URL(`./still-${shape}.mp4`, import.meta.url));
  const ms = Math.round(seconds.reduce((sum, one) => sum + one, 0) * MS);
  for (const [name, at] of Object.entries(LENGTHS_AT)) video.writeUInt32BE(ms, video.indexOf(name) + at);
  return video;
}
