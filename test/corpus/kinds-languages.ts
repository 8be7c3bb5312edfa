// A kind of page for each of twenty languages: articles in their own words, scripts and directions.
import { type CorpusPage, Draft } from "./draft.ts";
import { framed } from "./layouts.ts";

const LANGUAGES: readonly (readonly [string, ...string[]])[] = [
  [
    "de",
    "Die alte Brücke wurde von denen bezahlt, die sie überquerten.",
    "Im Winter fror der Fluss so fest zu, dass niemand mehr Zoll bezahlte.",
    "Das Buch des Wärters liegt noch immer im Archiv der Stadt.",
  ],
  [
    "fr",
    "Le vieux pont fut payé par ceux qui le traversaient chaque jour.",
    "L'hiver, la rivière gelait et personne ne payait plus le péage.",
    "Le livre du gardien se trouve encore aux archives de la ville.",
  ],
  [
    "es",
    "El viejo puente lo pagaron quienes lo cruzaban cada mañana.",
    "En invierno el río se helaba y nadie pagaba el peaje.",
    "El libro del guarda sigue guardado en el archivo de la ciudad.",
  ],
  [
    "pt",
    "A velha ponte foi paga por aqueles que a atravessavam.",
    "No inverno o rio gelava e ninguém pagava a portagem.",
    "O livro do guarda continua guardado no arquivo da cidade.",
  ],
  [
    "it",
    "Il vecchio ponte fu pagato da chi lo attraversava ogni giorno.",
    "D'inverno il fiume gelava e nessuno pagava più il pedaggio.",
    "Il libro del custode si trova ancora nell'archivio della città.",
  ],
  [
    "nl",
    "De oude brug werd betaald door wie haar overstak.",
    "In de winter vroor de rivier dicht en betaalde niemand tol.",
    "Het boek van de wachter ligt nog altijd in het archief.",
  ],
  [
    "sv",
    "Den gamla bron betalades av dem som gick över den.",
    "På vintern frös floden och ingen betalade längre tull.",
    "Brovaktens bok ligger fortfarande kvar i stadens arkiv.",
  ],
  [
    "pl",
    "Stary most został opłacony przez tych, którzy przez niego przechodzili.",
    "Zimą rzeka zamarzała i nikt nie płacił już myta.",
    "Księga strażnika wciąż leży w miejskim archiwum.",
  ],
  [
    "cs",
    "Starý most zaplatili ti, kdo po něm denně přecházeli.",
    "V zimě řeka zamrzala a nikdo už mýto neplatil.",
    "Kniha mýtného dodnes leží v městském archivu.",
  ],
  [
    "hu",
    "A régi hidat azok fizették meg, akik átkeltek rajta.",
    "Télen a folyó befagyott, és senki sem fizetett vámot.",
    "Az őr könyve ma is a városi levéltárban fekszik.",
  ],
  [
    "fi",
    "Vanhan sillan maksoivat ne, jotka kulkivat sen yli.",
    "Talvella joki jäätyi eikä kukaan enää maksanut tullia.",
    "Vartijan kirja on yhä tallessa kaupungin arkistossa.",
  ],
  [
    "tr",
    "Eski köprünün parasını üzerinden geçenler ödedi.",
    "Kışın nehir donar ve kimse geçiş ücreti ödemezdi.",
    "Bekçinin defteri hâlâ şehrin arşivinde duruyor.",
  ],
  [
    "ru",
    "Старый мост оплатили те, кто по нему ходил.",
    "Зимой река замерзала, и никто больше не платил пошлину.",
    "Книга смотрителя до сих пор лежит в городском архиве.",
  ],
  [
    "el",
    "Την παλιά γέφυρα την πλήρωσαν όσοι την περνούσαν.",
    "Τον χειμώνα το ποτάμι πάγωνε και κανείς δεν πλήρωνε διόδια.",
    "Το βιβλίο του φύλακα βρίσκεται ακόμη στο αρχείο.",
  ],
  [
    "ar",
    "دفع ثمن الجسر القديم أولئك الذين كانوا يعبرونه.",
    "في الشتاء كان النهر يتجمد فلا يدفع أحد الرسوم.",
    "لا يزال دفتر الحارس محفوظا في أرشيف المدينة.",
  ],
  [
    "he",
    "את הגשר הישן שילמו אלה שחצו אותו מדי יום.",
    "בחורף קפא הנהר ואיש לא שילם עוד את המכס.",
    "ספרו של השומר עדיין מונח בארכיון העיר.",
  ],
  [
    "hi",
    "पुराने पुल का खर्च उन्होंने दिया जो उसे पार करते थे।",
    "सर्दियों में नदी जम जाती थी और कोई शुल्क नहीं देता था।",
    "पहरेदार की बही आज भी नगर के अभिलेखागार में रखी है।",
  ],
  [
    "zh",
    "旧桥的费用是由每天过桥的人支付的。",
    "冬天河水结冰，再也没有人交过桥费。",
    "守桥人的账本至今还保存在市档案馆里。",
  ],
  [
    "ja",
    "古い橋の費用は、そこを渡る人々が払っていました。",
    "冬になると川が凍り、誰も通行料を払わなくなりました。",
    "番人の帳簿は今も市の文書館に残されています。",
  ],
  [
    "ko",
    "옛 다리의 비용은 그 다리를 건너던 사람들이 냈습니다.",
    "겨울이면 강이 얼어 아무도 통행료를 내지 않았습니다.",
    "다리지기의 장부는 지금도 시 기록 보관소에 있습니다.",
  ],
];

export function language(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const [lang, ...sentences] = LANGUAGES[at % LANGUAGES.length] ?? ["en"];
  // With a number each, a sentence stands once on its page.
  const numbered = Array.from({ length: draft.chance.whole(1, 4) }, (_, round) =>
    sentences.map((one) => `${one} (${at}${round})`),
  ).flat();
  draft.must.push(...numbered);
  if (lang === "ja") draft.must.push("漢字(かんじ)");
  const ruby = lang === "ja" ? "<p><ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を読む。</p>" : "";
  const dir = lang === "ar" || lang === "he" ? ' dir="rtl"' : "";
  const main = `<div${dir}>${numbered.map((one) => `<p>${one}</p>`).join("\n")}${ruby}</div>`;
  return draft.end({
    kind: "language",
    name: `language-${lang}`,
    html: framed(draft, at, { title: sentences[0] ?? "", main, lang }),
  });
}
