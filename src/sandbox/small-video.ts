// The video that a sandbox's demos end in: a still picture of 800 bytes (H.264 in MP4), made as long as it has to be.
import { readFileSync } from "node:fs";

const MS = 1_000;
/** Where the boxes of the file have the length, in ms, counted from their names. */
const LENGTHS_AT = { mvhd: 20, tkhd: 24, mdhd: 20, stts: 16 } as const;

/** A still of so many seconds together, in the shape of the size: 16:9, 9:16 or 1:1. */
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
