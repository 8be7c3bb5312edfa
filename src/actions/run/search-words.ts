// How words are made equal for the search: what is left out, what is the same word in another form, what means the same.

/** Words that say nothing about which action is meant. */
const SILENT = new Set(
  (
    "a about all an and any are as at be been behind by can could did do does for from get give given had has have how i in into " +
    "is it its let like make me my need not of on one or our out please should so some somebody someone something than that the " +
    "their them then there these they this those to up us use using via want was way we were what when where which who whose " +
    "why will with without would yet you your also always any also am anything around best because but d dont don done else even " +
    "ever everything give go going gonna got id im isn just know known let ll lot m many me more most much need nice now ok please " +
    "put really right s say so t tell than thing things too very wanna want wants we well whats while"
  ).split(" "),
);

/** Words for one thing: the first stands for them all. */
const SAME: readonly string[] = [
  "image picture photo photograph",
  "video clip",
  "speech voice tts",
  "music song",
  "website site webpage",
  "url link",
  "company firm corporation",
  "lawsuit litigation",
  "nonprofit charity ngo",
  "drug medicine medication",
  "car vehicle automobile",
  "delete remove erase",
  "upload store save",
  "twitter tweet",
  "reddit subreddit",
  "subtitle caption",
  "researcher scientist scholar",
];

/** Words that mean something near when a caller looks for an action. Each is found by the others, at less weight. */
const SYNONYMS: readonly string[] = [
  "image illustration drawing artwork painting draw",
  "image screenshot capture",
  "speech audio sound aloud mp3 wav listen",
  "transcribe transcript dictation recording audio",
  "email mail address",
  "mailbox inbox",
  "agent bot assistant",
  "phone telephone mobile cell",
  "letter post envelope postal",
  "home house property apartment flat building",
  "rent lease tenant rental",
  "owner own landlord",
  "value worth valuation appraisal estimate",
  "harmful hate toxic offensive abusive unsafe nsfw",
  "memory remember recall",
  "conversation chat dialogue",
  "trend trending popular popularity growing rising interest",
  "statistic number figure data indicator",
  "economy economic macroeconomic",
  "adverse side effect reaction",
  "recall recalled defect hazard",
  "token coin crypto cryptocurrency",
  "machine server vm computer sandbox container",
  "cancel stop abort end kill terminate",
  "limit ceiling cap budget bound",
  "event notify notification alert webhook",
  "balance money credit fund",
  "cost price charge spend expense",
  "receipt invoice bill",
  "tool action service api",
  "rank sort order rerank",
  "company employer organisation",
  "delay late delayed",
  "sneaker shoe footwear",
  "encyclopedia wiki fact",
  "video movie film animation",
  "speech narration speak",
  "music soundtrack",
  "generate create draw produce",
  "page url website",
  "scrape read fetch open",
  "crawl spider",
  "search find look google query",
  "company business startup organization",
  "person people human",
  "paper article publication study scholarly academic",
  "author researcher",
  "cite citation reference",
  "news press headline journalism media",
  "court lawsuit judge sue case",
  "opinion decision ruling judgment",
  "nonprofit foundation",
  "regulation rule law cfr statute",
  "drug prescription pharmaceutical",
  "patent invention",
  "archive old past history historical snapshot",
  "upload put keep",
  "finished done status ready progress",
  "subtitle transcript",
  "follower follow fan",
  "comment reply",
  "block bot antibot cloudflare captcha unblock",
  "country geo location region germany france city",
  "deep depth thorough comprehensive",
  "answer question",
  "source cited",
  "semantic similar meaning neural",
  "stock ticker listed share",
  "revenue financial income profit earnings",
  "filing filed sec edgar",
  "trial study",
  "encyclopedia biography",
  "fact knowledge entity",
  "summary summarise summarize",
  "definition explain meaning",
  // Everyday words for what is sold here, by subject.
  "homepage website site landing",
  "walkthrough tour demo presentation showcase",
  "movie film footage reel",
  "cut trim edit join merge stitch splice combine assemble",
  "export render produce output",
  "melody tune jingle beat track song",
  "picture snapshot selfie snap shot pic image photo",
  "sketch draw illustrate doodle",
  "erase remove hide cut",
  "paragraph passage document text excerpt",
  "best fit match relevant suitable",
  "line note message mail",
  "drop send write",
  "vendor supplier seller business merchant",
  "dev developer programmer engineer coder",
  "living based located resident",
  "staff employee team worker colleague people",
  "boss manager head lead chief director",
  "doctor physician surgeon dentist specialist",
  "candidate applicant talent hire recruit",
  "lead prospect customer client buyer",
  "customer user client",
  "job position role work career vacancy",
  "money cash dough fund buck dollar",
  "cheap cheapest inexpensive affordable low",
  "expensive dear costly high",
  "price rate quote fee cost worth",
  "buy purchase order get shop acquire",
  "sell sold resell sale flip",
  "gift present surprise",
  "jewelry jewellery jewel ring necklace earring bracelet",
  "wine bottle vineyard winery",
  "shoe sneaker trainer kick jordan",
  "car auto vehicle automobile suv truck pickup motor",
  "spec specification feature detail horsepower engine",
  "trim variant version model",
  "flight plane aircraft airline",
  "terminal gate airport",
  "arrive land arrival",
  "time schedule delay",
  "shelter rescue animal pet",
  "charity nonprofit donation donate",
  "tax irs levy",
  "study trial experiment research",
  "cancer tumor oncology disease illness condition",
  "patient volunteer participant",
  "ingredient active substance contain compound",
  "pill tablet capsule drug medicine",
  "brake airbag tire engine defect fault problem issue",
  "dangerous unsafe hazard risk safety",
  "food grocery snack",
  "weather forecast temperature rain snow storm wind",
  "quake earthquake seismic tremor",
  "country nation state",
  "america us usa united",
  "inflation cpi price consumer",
  "unemployment jobless employment labor job",
  "mortgage loan interest rate",
  "growth growing increase rise change",
  "army military defense pentagon",
  "contract agreement deal",
  "government federal public official",
  "law regulation rule act legal statute",
  "forbidden banned illegal prohibited allowed",
  "requirement require must obligation",
  "proposal proposed draft",
  "emission pollution exhaust climate",
  "lawsuit suit sue case litigation trial",
  "verdict judgment ruling decision opinion",
  "invent invention patent patented idea",
  "own owner belong hold holder title",
  "neighbour neighbor nearby similar comparable",
  "house home place property flat apartment condo",
  "flat apartment room studio",
  "let rent rental lease tenant",
  "plot parcel lot land farm field boundary",
  "boundary border line edge limit",
  "distressed motivated foreclosure vacant",
  "worth value valuation appraise estimate",
  "coin crypto bitcoin ether ethereum token",
  "wallet address account holding",
  "whale smart trader",
  "stock share equity ticker",
  "profit earnings income revenue margin",
  "report statement filing",
  "quarter quarterly yearly annual",
  "investor vc venture angel backer fund",
  "startup company founder",
  "bounce undeliverable invalid valid deliverable",
  "mailbox inbox email",
  "reach contact",
  "phone cell mobile number call",
  "blog post article essay",
  "author writer journalist",
  "newsletter substack subscription",
  "paywall subscription paid",
  "newspaper press media news",
  "coverage reporting press",
  "negative positive tone sentiment mood",
  "talk say said write speak",
  "folk people person",
  "comment reply reaction",
  "clip video reel short",
  "view watch play",
  "creator influencer streamer channel",
  "popular trending hot viral famous",
  "googling google search query",
  "remember recall memory forget memorize keep",
  "told tell said mention",
  "bot agent assistant ai",
  "chore task job work errand",
  "freelancer contractor hire",
  "script code program python javascript",
  "run execute start launch",
  "box machine server computer vm",
  "throwaway temporary disposable",
  "gpu a100 h100 nvidia graphics",
  "train fine tune model",
  "repository repo git code",
  "source code",
  "browser chrome firefox",
  "puppeteer playwright selenium",
  "robot bot human captcha",
  "puzzle captcha challenge",
  "wall block blocked forbidden denied",
  "grab get fetch read copy take",
  "download fetch save get",
  "everything whole all entire full",
  "address url link",
  "deleted gone removed lost dead",
  "old past earlier former ancient",
  "json structured data table field csv",
  "pull extract take out",
  "product item good article",
  "spoken voice speech aloud loud",
  "interview podcast meeting call recording lecture",
  "spanish german french english language translate",
  "shorter shorten summary brief summarize",
  "longer lengthen expand",
  "nasty rude mean toxic harmful insulting",
  "vectorise vector embed embedding",
  "note document text",
  "spend spent blow burn cost",
  "left remaining balance",
  "stop end kill cancel close shut",
  "ping notify tell alert warn",
  "intern colleague employee",
  "done finished ready complete over",
  "postcard card letter",
  "grandma mother aunt family friend",
  "funny joke roast tease prank",
  "mail post letter send",
  "file document pdf",
  "keep store save hold",
  "firm company business corporation",
  "sanction blacklist embargo",
  "iban bank account",
  "vat tax number",
  "quoted cited citation",
  "deep deeply thorough detailed",
];

/** Endings and what stands in their place, longest first. Crude, but the same for what is asked and what is searched. */
const ENDINGS: readonly (readonly [RegExp, string])[] = [
  [/(ss|[xz]|[cs]h)es$/, "$1"],
  [/([a-z]{2})ies$/, "$1y"],
  [/([^s])s$/, "$1"],
];
const FORMS: readonly RegExp[] = [
  /(?<=[a-z]{3})ful$/,
  /(?<=[a-z]{3})ly$/,
  /(?<=[a-z]{3})ations?$/,
  /(?<=[a-z]{4})ate$/,
  /(?<=[a-z]{3})ing$/,
  /(?<=[a-z]{3})ed$/,
];

/** A word without its ending: `charities`, `charity` -> `charity`; `scraping`, `scraped`, `scrape` -> `scrap`. */
export function stem(word: string): string {
  if (word.length < 4 || /\d/.test(word)) return word;
  let stemmed = word;
  const plural = ENDINGS.find(([ending]) => ending.test(stemmed));
  if (plural !== undefined && !/(us|is)$/.test(stemmed)) stemmed = stemmed.replace(plural[0], plural[1]);
  const form = FORMS.find((ending) => ending.test(stemmed));
  if (form !== undefined) stemmed = stemmed.replace(form, "");
  stemmed = stemmed.replace(/([bdgmnprt])\1$/, "$1");
  return stemmed.length > 3 ? stemmed.replace(/e$/, "") : stemmed;
}

/** The words of a text, in lower case and without accents: `camelCase` and `snake_case` are two, `10-K` is one. */
export function wordsOf(text: string): readonly string[] {
  const plain = text
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
  return plain.replace(/\b(\d+)-([a-z])\b/g, "$1$2").match(/[\p{L}\p{N}]+/gu) ?? [];
}

const FIRST_OF_SAME: ReadonlyMap<string, string> = new Map(
  SAME.flatMap((group) => {
    const [first = "", ...others] = group.split(" ").map(stem);
    return others.map((other) => [other, first] as const);
  }),
);

/** A word as the search knows it; null: it says nothing. */
export function termOf(word: string): string | null {
  if (SILENT.has(word)) return null;
  const stemmed = stem(word);
  return FIRST_OF_SAME.get(stemmed) ?? stemmed;
}

/** The words of a text as the search knows them, as often as they stand there. `known`: how words were read before, where many texts share them. */
export function allTermsOf(text: string, known = new Map<string, string | null>()): readonly string[] {
  return wordsOf(text).flatMap((word) => {
    const read = known.get(word);
    const term = read === undefined ? termOf(word) : read;
    if (read === undefined) known.set(word, term);
    return term ?? [];
  });
}

/** The same, each once. */
export function termsOf(text: string): readonly string[] {
  return [...new Set(allTermsOf(text))];
}

function synonymsByTerm(): ReadonlyMap<string, readonly string[]> {
  const byTerm = new Map<string, readonly string[]>();
  for (const group of SYNONYMS) {
    const terms = [...new Set(group.split(" ").flatMap((word) => termOf(word) ?? []))];
    for (const term of terms) {
      byTerm.set(term, [...(byTerm.get(term) ?? []), ...terms.filter((other) => other !== term)]);
    }
  }
  return byTerm;
}

/** Terms that mean something near a term. */
export const SYNONYM_TERMS = synonymsByTerm();
