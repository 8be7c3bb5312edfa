// The job behind core/produce_demo and core/produce_autodemo: a storyboard, its scenes one by one, and what they come to.

import type { DemoMakerSpec } from "../../catalog/demo-maker.ts";
import { type JobEnd, type JobKind, NoLongerPaid, type RunningJob } from "../../catalog/job-kind.ts";
import { GatewayError } from "../../errors.ts";
import type { Files, FileView } from "../../files/files.ts";
import { add, centsDown, centsUp, most, type Nano, nanoFromCents, ZERO } from "../../money.ts";
import { endedBy } from "../ended-by.ts";
import { type RowDone, type RowsDeps, RowsJob } from "../rows-job.ts";
import { type Aspect, type Clip, SIZES, type Size } from "./clip.ts";
import { RecordingFault } from "./devtools.ts";
import type { Scene, Storyboard } from "./storyboard.ts";
import { openStudio, type Studio, type StudioParts } from "./studio.ts";
import { writeBoard } from "./write-storyboard.ts";

export const DEMO_JOB = "demo";
const MS_MAX = 15 * 60_000;
const SPEECH_MS_MAX = 60_000;
/** The least that a scene costs which is shown: the machine that records it is the operator's. */
export const SCENE_CENTS_MIN = 2;

/** What a launch gives it: a scene as it is, or what a storyboard is to be written for. */
export interface DemoStart {
  readonly action: "produce_demo" | "produce_autodemo";
  readonly url: string;
  readonly board: Storyboard | null;
  readonly brief: string;
  readonly seconds: number;
  readonly language: string;
  readonly aspect: Aspect;
  /** Absent: the model's own. */
  readonly voice?: string;
}

interface Done extends RowDone {
  /** What it is charged: what its parts were priced at, nothing where it is left out. */
  readonly nano: Nano;
  /** The file of its clip, until the video is made; null: it is left out. */
  readonly clip: FileSaid | null;
  readonly seconds: number;
}

type FileSaid = Pick<FileView, "file_id" | "filename" | "size_bytes" | "mime">;

interface Before {
  readonly board: { readonly storyboard: Storyboard; readonly nano: Nano } | null;
  /** The end of its work, once it is kept. */
  readonly video: { readonly video: FileSaid & { readonly seconds: number }; readonly storyboard: FileSaid } | null;
}

export interface DemoDeps extends RowsDeps {
  /** Of sandbox accounts, whose scenes may be slow for nothing and keep no browser waiting. */
  readonly sandboxPlaces: RowsDeps["places"];
  readonly studio: StudioParts;
  readonly maker: () => DemoMakerSpec;
  /** Asked at each call: they are opened with the actions. */
  readonly files: () => Pick<Files, "keep" | "read" | "delete">;
  /** Why a recording has failed, for the operator. */
  readonly onFault: (fault: RecordingFault, jobId: string) => void;
}

interface Failure {
  readonly error: string;
  readonly message: string;
}

interface MadeScene {
  readonly clip: FileSaid;
  readonly seconds: number;
  readonly silent: { readonly narration_error?: string };
}

/** One job, from wherever it stands. */
class DemoJob {
  readonly #job: RunningJob;
  readonly #deps: DemoDeps;
  readonly #start: DemoStart;
  readonly #size: Size;
  readonly #rows: RowsJob<Done, Before>;

  constructor(job: RunningJob, deps: DemoDeps) {
    this.#job = job;
    this.#deps = deps;
    this.#start = job.start as DemoStart;
    this.#size = SIZES[this.#start.aspect];
    this.#rows = new RowsJob<Done, Before>(job, deps, { board: null, video: null }, ({ board }) =>
      centsDown(board?.nano ?? ZERO),
    );
  }

  async run(): Promise<JobEnd> {
    const studio = openStudio(this.#deps.studio, this.#job.payer);
    if (studio === null)
      return failed({ error: "upstream_not_configured", message: "No demos are made here any more." });
    try {
      const board = await this.#board();
      if ("error" in board) return failed(board);
      await this.#rows.each(board.scenes, (scene, at) => this.#scene(scene, at, studio));
      return await this.#end(board, studio);
    } catch (error) {
      if (!(error instanceof NoLongerPaid)) throw error;
      await this.#dropClips();
      const end = this.#rows.end("failed", 0, { error: "stopped", message: "Its key or its account may pay no more." });
      return { ...end, chargeNano: this.#partsNano, stopped: error.why };
    }
  }

  async #board(): Promise<Storyboard | Failure> {
    const { board, ...wanted } = this.#start;
    if (board !== null) return board;
    const before = this.#rows.before.board;
    if (before !== null) return before.storyboard;
    const calls = this.#job.part();
    const how = { writer: this.#deps.maker().writer, plays: this.#job.payer.sandbox };
    const written = await writeBoard(wanted, calls, how);
    if ("error" in written) return written;
    const nano = calls.spentNano;
    calls.end();
    await this.#rows.save({ board: { storyboard: written, nano }, video: null }, { total: written.scenes.length });
    return written;
  }

  async #scene(scene: Scene, at: number, studio: Studio): Promise<void> {
    const calls = this.#job.part();
    const { url, caption } = scene;
    const ended = endedBy(this.#job.signal);
    const made =
      ended === null
        ? await this.#made(scene, at, { calls, studio })
        : { error: ended, message: "The job ended before its turn." };
    const isMade = "clip" in made;
    const nano = isMade ? calls.spentNano : ZERO;
    const cents = centsUp(nano);
    const said = isMade ? { seconds: made.seconds, ...made.silent } : { error: made.error, message: made.message };
    const name = await this.#rows.put({ scene: at + 1, url, caption, ok: isMade, charged_cents: cents, ...said });
    calls.end();
    const kept = isMade ? { clip: made.clip, seconds: made.seconds } : { clip: null, seconds: 0 };
    await this.#rows.keep({ name, cents, nano, ...kept }, at);
  }

  /** Its clip as a file of the payer's, or why it is left out. */
  async #made(
    scene: Scene,
    at: number,
    { calls, studio }: { readonly calls: ReturnType<RunningJob["part"]>; readonly studio: Studio },
  ): Promise<MadeScene | Failure> {
    const { speaker } = this.#deps.maker();
    const { voice = speaker.voice } = this.#start;
    const spoken =
      scene.narration.trim() === ""
        ? null
        : await calls.speak({ model: speaker.model, text: scene.narration, voice, msMax: SPEECH_MS_MAX });
    const narration = spoken?.ok === true ? spoken.bytes : null;
    try {
      const clip = await studio.record({ scene, size: this.#size, narration }, calls, this.#job.signal);
      const file = await this.#keep(clip.bytes, `scene-${at + 1}.mp4`, "video/mp4");
      if (file instanceof GatewayError) return { error: file.code, message: file.message };
      // A scene is shown without its voice rather than left out, and says so.
      const silent = spoken?.ok === false ? { narration_error: spoken.error.code } : {};
      return { clip: file, seconds: rounded(clip.seconds), silent };
    } catch (error) {
      if (!(error instanceof RecordingFault)) throw error;
      this.#deps.onFault(error, this.#job.id);
      return { error: endedBy(this.#job.signal) ?? "scene_failed", message: error.message };
    }
  }

  async #keep(bytes: Buffer, filename: string, mime: string): Promise<FileSaid | GatewayError> {
    const source = `core/${this.#start.action}`;
    const file = { filename, mime, source, tags: [], note: this.#job.id, sizeBytes: bytes.length };
    const kept = await this.#job.stored(() => this.#deps.files().keep(this.#job.payer.id, file, once(bytes)));
    if (kept instanceof GatewayError) return kept;
    const { file_id, size_bytes } = kept;
    return { file_id, filename, size_bytes, mime };
  }

  async #clipOf({ clip, seconds }: Done): Promise<readonly Clip[]> {
    const bytes = clip === null ? null : await this.#job.stored(() => this.#deps.files().read(clip.file_id, null));
    if (bytes === null) return [];
    const parts: Uint8Array[] = [];
    for await (const part of bytes) parts.push(part);
    return [{ bytes: Buffer.concat(parts), seconds }];
  }

  /** Clips that are in the video, or in none, are no files of the payer's any more. */
  async #dropClips(): Promise<void> {
    const files = this.#deps.files();
    for (const { clip } of this.#rows.done) {
      if (clip !== null) await this.#job.stored(() => files.delete(this.#job.payer.id, clip.file_id));
    }
  }

  get #partsNano(): Nano {
    return this.#rows.done.map(({ nano }) => nano).reduce(add, this.#rows.before.board?.nano ?? ZERO);
  }

  async #end(board: Storyboard, studio: Studio): Promise<JobEnd> {
    const rows = this.#rows;
    const count = rows.count(({ clip }) => clip !== null);
    if (count === 0) {
      const message = "None of its scenes could be recorded.";
      return rows.end("failed", 0, { error: endedBy(this.#job.signal) ?? "no_scene", message });
    }
    const made = this.#start.board === null ? await this.#video(board, studio) : { clip: rows.done[0]?.clip };
    if ("error" in made) return rows.end("failed", 0, made);
    const chargeNano = most(this.#partsNano, nanoFromCents(count * SCENE_CENTS_MIN));
    const end = rows.end("succeeded", 0, {
      ...made,
      scene_count: count,
      left_out_count: rows.done.length - count,
      spent_cents: centsUp(chargeNano),
      budget_cents: rows.budget.limitCents,
    });
    return { ...end, chargeNano };
  }

  /** The video of all clips and the storyboard, kept once; then the clips go. */
  async #video(board: Storyboard, studio: Studio): Promise<NonNullable<Before["video"]> | Failure> {
    const before = this.#rows.before.video;
    if (before !== null) return before;
    const clips: Clip[] = [];
    for (const done of this.#rows.done) clips.push(...(await this.#clipOf(done)));
    const whole = await this.#joined(clips, studio);
    if ("error" in whole) return whole;
    const [video, storyboard] = [
      await this.#keep(whole.bytes, "demo.mp4", "video/mp4"),
      await this.#keep(Buffer.from(JSON.stringify(board, null, 2)), "storyboard.json", "application/json"),
    ];
    const refused = [video, storyboard].find((one) => one instanceof GatewayError);
    if (refused !== undefined) return { error: refused.code, message: refused.message };
    const kept = {
      video: { ...(video as FileSaid), seconds: rounded(whole.seconds) },
      storyboard: storyboard as FileSaid,
    };
    await this.#rows.save({ board: this.#rows.before.board, video: kept });
    await this.#dropClips();
    return kept;
  }

  async #joined(clips: readonly Clip[], studio: Studio): Promise<Clip | Failure> {
    if (clips.length === 0) return { error: "no_scene", message: "The files of its scenes are no more." };
    try {
      return await studio.join(clips, this.#size);
    } catch (error) {
      if (!(error instanceof RecordingFault)) throw error;
      this.#deps.onFault(error, this.#job.id);
      return { error: "scene_failed", message: error.message };
    }
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const rounded = (seconds: number) => Math.round(seconds * 100) / 100;

/** Nothing was made, and nothing is charged. */
function failed(failure: Failure): JobEnd {
  return { status: "failed", result: failure, chargeNano: ZERO };
}

export function demoJob(deps: DemoDeps): JobKind {
  const run: JobKind["run"] = (job) => {
    const places = job.payer.sandbox ? deps.sandboxPlaces : deps.places;
    return new DemoJob(job, { ...deps, places }).run();
  };
  return { name: DEMO_JOB, msMax: MS_MAX, counted: "price", run };
}
