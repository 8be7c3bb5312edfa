// The text of a body: for a bound everything that is sent, for an estimate only what the model reads.
import { type Place, placeOf } from "./allow-list.ts";
import { readMedia } from "./media.ts";

function isData(value: string, place: Place): boolean {
  return place.media !== null && (place.typedBy !== null || readMedia(value, place.media).isData);
}

/** Adds every string, number and key that is sent. What has no place is counted too: nothing can be missed by being new. */
function addSent(value: unknown, place: Place | null, texts: string[]): void {
  if (typeof value === "string") {
    if (place === null || !isData(value, place)) texts.push(place?.quoted ? JSON.stringify(value) : value);
  } else if (typeof value !== "object" || value === null) {
    texts.push(String(value));
  } else if (place === null || place.free || place.asJson) {
    texts.push(JSON.stringify(value));
  } else if (Array.isArray(value)) {
    for (const inner of value) addSent(inner, place.items, texts);
  } else {
    const object = value as Record<string, unknown>;
    const own = placeOf(object, place);
    if (own === "unknown") texts.push(JSON.stringify(object));
    else for (const key of Object.keys(object)) addSent(object[key], own.fields?.get(key) ?? null, texts);
  }
}

function addRead(value: unknown, place: Place, texts: string[]): void {
  if (typeof value === "string") {
    if (place.read) texts.push(value);
  } else if (typeof value !== "object" || value === null) {
    return;
  } else if (place.read && (place.free || place.asJson)) {
    texts.push(JSON.stringify(value));
  } else if (Array.isArray(value)) {
    if (place.items !== null) for (const inner of value) addRead(inner, place.items, texts);
  } else {
    const object = value as Record<string, unknown>;
    const own = placeOf(object, place);
    if (own !== "unknown" && own.read && own.free) texts.push(JSON.stringify(object));
    if (own === "unknown" || own.fields === null) return;
    for (const [key, inner] of own.fields) if (object[key] !== undefined) addRead(object[key], inner, texts);
  }
}

/** All the text of a sifted body that is sent, but for encoded media: for a bound. */
export function sentText(body: Readonly<Record<string, unknown>>, allowed: Place): string {
  const texts: string[] = [];
  addSent(body, allowed, texts);
  return texts.join("\n");
}

/** What the model reads of a sifted body, but for media: for an estimate where no usage came. */
export function readText(body: Readonly<Record<string, unknown>>, allowed: Place): string {
  const texts: string[] = [];
  addRead(body, allowed, texts);
  return texts.join("\n");
}
