// What may stand in a request's body, as data: an allow-list is a tree of places, and what has no place is not sent to a vendor.

/** What a part of a prompt is, beside text. */
export type MediaKind = "image" | "audio" | "file";

/** One place of an allow-list as its file writes it. A bare value may stand at any place; objects and lists only where it says so. */
export interface PlaceSpec {
  /** The model reads what stands here. The rest only steers the call. */
  readonly read?: true;
  /** Meant for us: it is not sent, and not worth a word. */
  readonly ours?: true;
  /** Below here everything rides, whatever it is called: schemas, arguments, metadata. */
  readonly free?: true;
  /** An object or a list that vendors write as JSON into the prompt: it is counted with its keys and brackets. */
  readonly asJson?: true;
  /** A string that some vendors write inside of JSON, or take apart as JSON and write anew. */
  readonly quoted?: true;
  /** Encoded media or an address of it: not text, but bounded by its kind. */
  readonly media?: MediaKind;
  /** The field beside it that says of what type encoded media is, where it does not say so itself. */
  readonly typedBy?: string;
  /** It changes the price, or cannot be served. Refused unless null, or one of the values that change nothing. */
  readonly refused?: { readonly why: string; readonly neutral?: (value: unknown) => boolean };
  readonly fields?: Readonly<Record<string, PlaceSpec>>;
  readonly items?: PlaceSpec;
  /** An object whose fields depend on the word in one of them. */
  readonly by?: {
    readonly field: string;
    readonly cases: Readonly<Record<string, PlaceSpec>>;
    /** What an object without the word is; left out: there must be one. */
    readonly missing?: PlaceSpec;
    /** What any other word means; `unknown`: the plan says what it thinks of it. */
    readonly otherwise: PlaceSpec | "unknown";
  };
}

/** A place, ready to be walked: fields in maps, because callers name them and `constructor` must find nothing. */
export interface Place {
  /** Such as `messages.*.content`, with a star for every list. */
  readonly path: string;
  readonly read: boolean;
  readonly ours: boolean;
  readonly free: boolean;
  readonly asJson: boolean;
  readonly quoted: boolean;
  readonly media: MediaKind | null;
  readonly typedBy: string | null;
  readonly refused: NonNullable<PlaceSpec["refused"]> | null;
  readonly fields: ReadonlyMap<string, Place> | null;
  readonly items: Place | null;
  readonly by: {
    readonly field: string;
    readonly cases: ReadonlyMap<string, Place>;
    readonly missing: Place | null;
    readonly otherwise: Place | "unknown";
  } | null;
}

function below(path: string, field: string): string {
  return path === "" ? field : `${path}.${field}`;
}

function placesOf(specs: Readonly<Record<string, PlaceSpec>>, pathOf: (name: string) => string) {
  return new Map(Object.entries(specs).map(([name, spec]) => [name, compilePlace(spec, pathOf(name))]));
}

/** Makes the tree that bodies are walked with. */
export function compilePlace(spec: PlaceSpec, path = ""): Place {
  const { by } = spec;
  return {
    path,
    read: spec.read === true,
    ours: spec.ours === true,
    free: spec.free === true,
    asJson: spec.asJson === true,
    quoted: spec.quoted === true,
    media: spec.media ?? null,
    typedBy: spec.typedBy ?? null,
    refused: spec.refused ?? null,
    fields: spec.fields === undefined ? null : placesOf(spec.fields, (field) => below(path, field)),
    items: spec.items === undefined ? null : compilePlace(spec.items, below(path, "*")),
    by:
      by === undefined
        ? null
        : {
            field: by.field,
            cases: placesOf(by.cases, () => path),
            missing: by.missing === undefined ? null : compilePlace(by.missing, path),
            otherwise: by.otherwise === "unknown" ? "unknown" : compilePlace(by.otherwise, path),
          },
  };
}

/** The place of an object: by the word in one of its fields, where that decides. */
export function placeOf(object: Readonly<Record<string, unknown>>, place: Place): Place | "unknown" {
  const { by } = place;
  if (by === null) return place;
  const word = object[by.field];
  if ((word === undefined || word === null) && by.missing !== null) return by.missing;
  return (typeof word === "string" ? by.cases.get(word) : undefined) ?? by.otherwise;
}
