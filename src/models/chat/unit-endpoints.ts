// The endpoints for unit-priced models, under the language-model path.
import { tmpdir } from "node:os";
import type { EndpointSpec } from "../../core/endpoint.ts";
import { type BodyBytes, createBodyBytes } from "../../platform/limits/body-bytes.ts";
import { type FormRules, spooledForm } from "../../platform/uploads/spooled-upload.ts";
import type { NamedBy } from "../formats/call-tags.ts";
import { parseJson } from "../formats/parse-json.ts";
import type { ChatDeps } from "./deps.ts";
import type { UnitEndpoint } from "./unit-endpoint.ts";
import { unitPlan } from "./unit-plan.ts";
import { completions } from "./units/completions.ts";
import { embeddings } from "./units/embeddings.ts";
import { imageEdits, imageGenerations } from "./units/images.ts";
import { moderations } from "./units/moderations.ts";
import { rerank } from "./units/rerank.ts";
import { soundSecondsMax } from "./units/sound-seconds.ts";
import { spoken } from "./units/spoken.ts";
import { transcriptions, translations } from "./units/transcriptions.ts";
import { PAID } from "./wire-endpoints.ts";

const MIB = 1024 * 1024;
/** The most disk space for uploaded files of running calls. */
const SPOOLED_BYTES_MAX = 4_096 * MIB;
const SPOOLED_ACCOUNT_BYTES_MAX = 512 * MIB;
const AUDIO_BYTES_MAX = 25 * MIB;
const IMAGE_BYTES_MAX = 25 * MIB;

type Modelled = NamedBy & { readonly model?: string | null | undefined };

function json<Body extends Modelled>(
  path: string,
  bodyBytesMax: number,
  endpoint: UnitEndpoint<Body>,
  deps: ChatDeps,
): EndpointSpec {
  return {
    ...PAID,
    path,
    bodyBytesMax,
    plan(call) {
      const sent = parseJson(call.request.body);
      return unitPlan(endpoint, { sent, files: [], fingerprinted: sent }, call, deps);
    },
  };
}

/** Form fields are strings; converts our own numeric field so that it validates as in JSON. */
function withNumber(fields: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> {
  const value = fields[name];
  return { ...fields, ...(typeof value === "string" && /^\d+$/.test(value) ? { [name]: Number(value) } : {}) };
}

function form<Body extends Modelled>(
  path: string,
  rules: Omit<FormRules, "folder">,
  endpoint: UnitEndpoint<Body>,
  { deps, disk }: { readonly deps: ChatDeps; readonly disk: BodyBytes },
): EndpointSpec {
  return {
    ...PAID,
    path,
    bodyBytesMax: rules.bodyBytesMax,
    upload: true,
    async plan(call) {
      const { request, audience } = call;
      const share = disk.open();
      const full = audience.payer === null ? null : share.belongTo(audience.payer.id);
      if (full !== null) throw full;
      const type = request.headers.get("content-type") ?? "";
      const came = await spooledForm(request.incoming, type, { ...rules, folder: tmpdir() }, share);
      const { fields, files } = came;
      try {
        const [sound] = endpoint.kind === "transcription" ? files : [];
        const heard = sound === undefined ? {} : { secondsMax: await soundSecondsMax(sound, audience.strictBounds) };
        const fingerprinted = { ...fields, files: files.map(({ field, sha256 }) => [field, sha256]) };
        const made = unitPlan(
          endpoint,
          { sent: withNumber(fields, "max_cost_cents"), files, fingerprinted, ...heard },
          call,
          deps,
        );
        return { ...made, ended: came.close };
      } catch (cause) {
        came.close();
        throw cause;
      }
    },
  };
}

export function unitEndpoints(deps: ChatDeps): readonly EndpointSpec[] {
  const spooling = {
    deps,
    disk: createBodyBytes({ bytesMax: SPOOLED_BYTES_MAX, accountBytesMax: SPOOLED_ACCOUNT_BYTES_MAX }),
  };
  const sound = { fileBytesMax: AUDIO_BYTES_MAX, bodyBytesMax: AUDIO_BYTES_MAX + MIB, filesMax: 1 };
  const pictures = { fileBytesMax: IMAGE_BYTES_MAX, bodyBytesMax: 100 * MIB, filesMax: 17 };
  return [
    json("/embeddings", PAID.bodyBytesMax, embeddings, deps),
    json("/images/generations", MIB, imageGenerations, deps),
    form("/images/edits", pictures, imageEdits, spooling),
    form("/audio/transcriptions", sound, transcriptions, spooling),
    form("/audio/translations", sound, translations, spooling),
    json("/audio/speech", MIB, spoken, deps),
    json("/completions", 8 * MIB, completions, deps),
    json("/rerank", 8 * MIB, rerank, deps),
    json("/moderations", 2 * MIB, moderations, deps),
  ];
}
