// Regular expressions that the checker cannot prove to be linear, by file, each with the reason why it may stay.

type ByFile = Readonly<Record<string, Readonly<Record<string, string>>>>;

const PAGES = "reads a text of at most 1,200 characters and a title of 500";

export const EXCEPTIONS: ByFile = {
  "src/models/formats/media.ts": {
    "/^data:([^;,]{0,100})[^,]{0,100};base64,/i": "anchored, and of two bounded repetitions",
  },
  "src/actions/composites/pages/wall-words.ts": {
    "/(enable|requires?|turn on|need|without|doesn('|’)t work[a-z ]*) (to enable )?java ?script|java ?script (is |must be |to be )?(disabled|enabled|required|aktivieren|erforderlich)|javascript (aktivieren|erforderlich|activer|necesario|requerido)|(activez|activar|activa|habilite|habilita|attiva(re)?|włącz|aktivera|aktiver|ota) javascript|javascript('?i|'ı)? etkinleştir|(включите|увімкніть|вимкнено|отключен) javascript|(启用|啟用|开启)\\s?java ?script|javascript\\s?(を有効|を有効に|를 활성화|사용)|^(loading|please wait|wird geladen|bitte warten|chargement|cargando|carregando|caricamento|laden|ładowanie|загрузка|завантаження|yükleniyor|読み込み中|加载中|載入中|로딩 중|đang tải|กำลังโหลด|memuat|जारी है|جار التحميل|טוען)[\\s.…]*$/i":
      PAGES,
  },
  "src/sandbox/dialects/images.ts": {
    "/\\/models\\/([^/:]*-image[^/:]*):generateContent$/":
      "reads the path of a request of ours, whose model is one that the sandbox sells",
  },
};

/** Those built at run time. */
export const MADE: ByFile = {
  "src/catalog/price-check.ts": { "new RegExp(word)": "words of a price, out of an adapter" },
  "src/models/formats/known-fields.ts": {
    'new RegExp(EXPONENT, "g")': "the same as one that is judged, for all of its places",
  },
  "src/edge/http/head-lines.ts": { 'new RegExp(UNSAFE, "g")': "one class of characters" },
  "src/edge/http/match-endpoint.ts": {
    'new RegExp(`^${source.join("/")}$`)': "the path of an endpoint of ours, whose places end at a slash",
  },
  "src/sandbox/action-faults.ts": {
    "new RegExp(`^${source}(?:@(\\\\d))?$`)": "the name of a fault, with one number in it",
  },
  "src/sandbox/action-path.ts": {
    'new RegExp(`^${source}$`, "s")':
      "an adapter's path, whose places end at a slash; reads the paths of our own requests",
  },
  "src/sandbox/answer.ts": {
    'new RegExp(`[\\\\s\\\\S]{1,${FRAGMENT_CHARS}}`, "gu")': "cuts into pieces of one length",
  },
  "src/sandbox/faults.ts": {
    "new RegExp(`^(.+)-at-${NUMBER}$`)": "the name of a fault, with one number in it",
    "new RegExp(`^${fault.name.replaceAll(/<\\w>/g, NUMBER)}$`)": "the name of a fault, with one number in it",
  },
  "src/money/ledger/redis/script.ts": {
    'new RegExp(`\\\\b${definition.name.replace(".", "\\\\.")}\\\\b`)': "reads a script of ours, at the start",
  },
  "adapters/brave.ts": {
    "new RegExp(`^(${FILTERS})(,(${FILTERS}))*$`)": "words without repetition in them, anchored and apart by commas",
  },
};
