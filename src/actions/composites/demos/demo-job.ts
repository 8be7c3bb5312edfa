// The job behind core/produce_demo and core/produce_autodemo: writes a storyboard, records its scenes and joins them.

import { type EndedJob, type JobEnd, type JobKind, NoLongerPaid, type RunningJob } from "../../../catalog/job-kind.ts";
import type { DemoMakerSpec } from "../../../catalog/tier.ts";
import { GatewayError, isOwnFault } from "../../../core/errors.ts";
import { add, centsDown, centsUp, most, type Nano, nanoFromCents, ZERO } from "../../../core/money.ts";
import type { Files, FileView } from "../../files/files.ts";
import { endedBy, failed, type RowDone, type RowsDeps, RowsJob } from "../rows-job.ts";
import { RecordingFault } from "./browser-page.ts";
import { type Aspect, type KeptClip, once, SIZES, type Size, type Video } from "./clip.ts";
import type { Scene, Storyboard } from "./storyboard.ts";
import { openStudio, type Studio, type StudioParts } from "./studio.ts";
import { writeBoard } from "./write-storyboard.ts";

export const DEMO_JOB = "demo";
const MS_MAX = 15 * 60_000;
const SPEECH_MS_MAX = 60_000;
/** The minimum price of a recorded scene, because the operator's machine records it. */
export const SCENE_CENTS_MIN = 2;

/** A scene to record, or a brief to write a storyboard for. */
export interface DemoStart {
  readonly action: "produce_demo" | "produce_autodemo";
  readonly url: string;
  readonly board: Storyboard | null;
  readonly brief: string;
  readonly seconds: number;
  readonly language: string;
  readonly aspect: Aspect;
  /** Absent: the model's own. */
  readonly voice?: string | undefined;
}

interface Done extends RowDone {
  /** The sum of its parts' prices; zero where it is left out. */
  readonly nano: Nano;
  /** The file of its clip, until the video is made; null: it is left out. */
  readonly clip: StoredFile | null;
  readonly seconds: number;
}

type StoredFile = Pick<FileView, "file_id" | "filename" | "size_bytes" | "mime">;

interface Before {
  /** Every file of the job, noted before its bytes arrive. Those that the result does not name are deleted at the end. */
  readonly files: readonly string[];
  readonly board: { readonly storyboard: Storyboard; readonly nano: Nano } | null;
  readonly video: { readonly video: StoredFile & { readonly seconds: number }; readonly storyboard: StoredFile } | null;
}

/** Why a file is not stored. A full disk is final: a retry would pay for the scene again. Rethrows a ledger outage, so the job retries later. */
function refusal(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError && (thrown.code === "storage_unavailable" || !isOwnFault(thrown))) return thrown;
  throw thrown;
}

export interface DemoDeps extends RowsDeps {
  /** For joining scenes, which must not wait behind recordings, because a job has little time to end. */
  readonly joinPlaces: RowsDeps["places"];
  /** For sandbox accounts, whose scenes cost nothing and may wait. */
  readonly sandboxPlaces: RowsDeps["places"];
  readonly studio: StudioParts;
  readonly maker: () => DemoMakerSpec;
  /** A function, because files are opened together with the actions. */
  readonly files: () => Pick<Files, "announce" | "receive" | "read" | "delete">;
  /** Reports why a recording failed, for the operator. */
  readonly onFault: (fault: RecordingFault, jobId: string) => void;
}

interface Failure {
  readonly error: string;
  readonly message: string;
}

type Content = Pick<Video, "sizeBytes" | "bytes">;

interface MadeScene {
  readonly clip: StoredFile;
  readonly seconds: number;
  readonly silent: { readonly narration_error?: string };
}

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
    this.#rows = new RowsJob<Done, Before>(job, deps, { files: [], board: null, video: null }, ({ board }) =>
      centsDown(board?.nano ?? ZERO),
    );
  }

  async run(): Promise<JobEnd> {
    const studio = openStudio(this.#deps.studio, this.#job.payer);
    if (studio === null) return failed("upstream_not_configured", "No demos are made here any more.");
    try {
      const board = await this.#board();
      if ("error" in board) return failed(board.error, board.message);
      await this.#rows.each(board.scenes, (scene, at) => this.#scene(scene, at, studio));
      return await this.#end(board, studio);
    } catch (error) {
      if (!(error instanceof NoLongerPaid)) throw error;
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
    await this.#rows.save({ board: { storyboard: written, nano } }, { total: written.scenes.length });
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

  /** Records a scene, and stores its clip as one of the payer's files; or returns why it is left out. */
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
      const wanted = { scene, size: this.#size, narration };
      return await studio.record(wanted, { calls, signal: this.#job.signal }, async (video) => {
        const clip = await this.#keep(video, `scene-${at + 1}.mp4`, "video/mp4");
        if (clip instanceof GatewayError) return { error: clip.code, message: clip.message };
        // Keep a scene whose narration failed, without its voice; its row says so.
        const silent = spoken?.ok === false ? { narration_error: spoken.error.code } : {};
        return { clip, seconds: rounded(video.seconds), silent };
      });
    } catch (error) {
      if (!(error instanceof RecordingFault)) throw error;
      this.#deps.onFault(error, this.#job.id);
      return { error: endedBy(this.#job.signal) ?? "scene_failed", message: error.message };
    }
  }

  /** Stores one of the payer's files; records its id in the job first. */
  async #keep(made: Content, filename: string, mime: string): Promise<StoredFile | GatewayError> {
    const { id: job, payer } = this.#job;
    const files = this.#deps.files();
    const source = `core/${this.#start.action}`;
    const file = { filename, mime, source, tags: [], note: job, sizeBytes: made.sizeBytes };
    const announced = await this.#job.stored(() => files.announce(payer.id, file).catch(refusal));
    if (announced instanceof GatewayError) return announced;
    const { file_id } = announced;
    await this.#rows.save({ files: [...this.#rows.before.files, file_id] });
    const kept = await this.#job.stored(() => files.receive(file_id, made.bytes(), made.sizeBytes).catch(refusal));
    return kept instanceof GatewayError ? kept : { file_id, filename, size_bytes: made.sizeBytes, mime };
  }

  #clips(): KeptClip[] {
    const { read } = this.#deps.files();
    return this.#rows.done.flatMap(({ clip, seconds }) =>
      clip === null ? [] : [{ seconds, bytes: () => this.#job.stored(() => read(clip.file_id, null)) }],
    );
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

  async #video(board: Storyboard, studio: Studio): Promise<NonNullable<Before["video"]> | Failure> {
    const before = this.#rows.before.video;
    if (before !== null) return before;
    const text = Buffer.from(JSON.stringify(board, null, 2));
    const written = { sizeBytes: text.length, bytes: () => once(text) };
    const storyboard = await this.#keep(written, "storyboard.json", "application/json");
    if (storyboard instanceof GatewayError) return { error: storyboard.code, message: storyboard.message };
    const video = await this.#deps.joinPlaces.run(this.#job.payer.id, () => this.#joined(studio));
    if ("error" in video) return video;
    const kept = { video, storyboard };
    await this.#rows.save({ video: kept });
    return kept;
  }

  async #joined(studio: Studio): Promise<NonNullable<Before["video"]>["video"] | Failure> {
    try {
      return await studio.join(this.#clips(), this.#size, async (whole) => {
        const file = await this.#keep(whole, "demo.mp4", "video/mp4");
        if (file instanceof GatewayError) return { error: file.code, message: file.message };
        return { ...file, seconds: rounded(whole.seconds) };
      });
    } catch (error) {
      if (!(error instanceof RecordingFault)) throw error;
      this.#deps.onFault(error, this.#job.id);
      return { error: "scene_failed", message: error.message };
    }
  }
}

/** Deletes every file of the job that its result does not name. */
async function clear({ payer, progress, end }: EndedJob, files: Pick<Files, "delete">): Promise<void> {
  const made = (progress as Before | null)?.files ?? [];
  const { clip, video, storyboard } = (end.result ?? {}) as Readonly<Record<string, StoredFile | undefined>>;
  const given = new Set(end.status === "succeeded" ? [clip, video, storyboard].map((file) => file?.file_id) : []);
  for (const file of made) {
    if (given.has(file)) continue;
    await files.delete(payer.id, file).catch((thrown: unknown) => {
      // The payer, or an earlier try, has deleted it.
      if (isOwnFault(thrown)) throw thrown;
    });
  }
}

const rounded = (seconds: number) => Math.round(seconds * 100) / 100;

export function demoJob(deps: DemoDeps): JobKind {
  const run: JobKind["run"] = (job) => {
    const played = { places: deps.sandboxPlaces, joinPlaces: deps.sandboxPlaces };
    return new DemoJob(job, { ...deps, ...(job.payer.sandbox ? played : {}) }).run();
  };
  const clearIt = (job: EndedJob) => clear(job, deps.files());
  return { name: DEMO_JOB, msMax: MS_MAX, counted: "price", run, clear: clearIt };
}
