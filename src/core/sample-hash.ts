// A cheap hash to recognize equal requests: of all bytes of a short one, of samples of a long one, and of the length.

const SAMPLES = 512;
/** FNV-1a, 32 bits. */
const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

export function sampleHash(bytes: Uint8Array): string {
  const step = Math.max(1, Math.floor(bytes.length / SAMPLES));
  let hash = BASIS;
  for (let at = 0; at < bytes.length; at += step) hash = Math.imul(hash ^ (bytes[at] ?? 0), PRIME);
  return `${bytes.length.toString(36)}.${(hash >>> 0).toString(36)}`;
}
