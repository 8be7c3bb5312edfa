// What a vendor keeps between calls, as data of its actions: the sandbox keeps it in the vendor's place.
import type { Json } from "./action.ts";

/**
 * JSON in whose texts `{place}` stands for a value. A text that is one place is the value as it is; what has no value is left out.
 * `{name}` is what was sent as a param, `{name/0/inside}` a part of it; `{/pointer}` a value of the answer; `{kind:/pointer}` one of
 * the resource of that kind that the call uses; `{each}` and `{each/inside}` the one of `each`; `{now}` the time.
 */
export type Template = Json;

/**
 * What the sandbox keeps in the vendor's place: what a call has made, later calls find, until one ends it. It happens when the
 * answer is good.
 */
export interface StateSpec {
  /**
   * Resources that the call names; one that was never made, or has ended, is refused. Those of `requires` need not be named
   * again but to say how they are refused.
   */
  readonly uses?: readonly ResourceUse[];
  /** Put into the answer, by JSON pointer: the first of these that has a value; without one the example's stays. */
  readonly puts?: Readonly<Record<string, Template | readonly Template[]>>;
  /** What `issues` says is made; here are the others, and what is kept of each. */
  readonly makes?: readonly ResourceMade[];
  /** Lists of what is kept, put into the answer. */
  readonly lists?: readonly ResourceList[];
  /** By the kind of a used resource: put into what is kept of it. */
  readonly sets?: Readonly<Record<string, Readonly<Record<string, Template>>>>;
  /** Kinds of used resources that are over with this call, and all that was made in them. */
  readonly ends?: readonly string[];
  /** The request that all but `uses` is about, counted as in a fault's `@1`. Default 0. */
  readonly at?: number;
  /** Of a script: templates of its requests' paths, as in `request.path`, so that what stands in them is known. */
  readonly paths?: readonly string[];
}

export interface ResourceUse {
  readonly kind: string;
  readonly param: string;
  /** The ids are the texts of this name in what the param holds. */
  readonly inside?: string;
  /** What its id is unique within, such as `{inbox_id}`, where `makes` says so too. */
  readonly within?: string;
  /** How the vendor refuses one that was never made. Default 404. */
  readonly unknown?: VendorRefusal;
  /** How it refuses one that has ended. Default: as one that was never made. */
  readonly ended?: VendorRefusal;
  /** Also one that has ended: it can still be looked at. */
  readonly evenEnded?: boolean;
  /** Put into the answer while work that was launched with the fault `poll-<n>` still goes on. */
  readonly early?: Readonly<Record<string, Template>>;
}

export interface VendorRefusal {
  readonly status: number;
  /** Default: the usual words of that status. */
  readonly body?: Json;
}

export interface ResourceMade {
  readonly kind: string;
  /** Default: a new UUID. One at a pointer of the answer is new in each call. */
  readonly id?: string;
  /** What its id is unique within. Default: all of its kind. */
  readonly within?: string;
  /** Made once for each item of this param, or of the list. */
  readonly each?: string | readonly Json[];
  /** The resources that it is part of, whether or not they were made here, by kind. */
  readonly in?: Readonly<Record<string, string>>;
  /** What is kept of it, and shown in lists. Default: nothing. */
  readonly item?: Template;
  /** Where its id goes in the item. */
  readonly idAt?: string;
  /** How the vendor refuses an id that is there already. Default: it is made anew. */
  readonly taken?: VendorRefusal;
  /** It ends by itself after so many seconds. */
  readonly endsAfterS?: Template;
}

export interface ResourceList {
  readonly kind: string;
  /** Only those in this resource, by its kind. */
  readonly in?: Readonly<Record<string, string>>;
  /** Where the list goes in the answer, newest first; a template. */
  readonly at: string;
  readonly oldestFirst?: boolean;
  /** The param whose words are looked for: what has most of them comes first. */
  readonly by?: string;
  /** The param that says how many at most. */
  readonly limit?: string;
  /** Where the rest of a list begins: the param that takes it, and where the answer says it. */
  readonly page?: { readonly param: string; readonly at: string };
  readonly countAt?: string;
  /** One text of all items, of what stands at a pointer in each. */
  readonly asText?: { readonly of?: string; readonly before: string; readonly between: string; readonly after: string };
}
