// The tight bound holds for other tokenizers than ours: measured with several, over scripts that ours handles better.
import { get_encoding } from "tiktoken";
import { afterAll, describe, expect, it } from "vitest";
import { createTokenCounter } from "../../../src/models/chat/token-counter.ts";

const counter = createTokenCounter();
const OTHERS = (["cl100k_base", "p50k_base", "r50k_base", "gpt2"] as const).map((name) => ({
  name,
  encoding: get_encoding(name),
}));
const o200k = get_encoding("o200k_base");

afterAll(async () => {
  await counter.close();
  for (const { encoding } of OTHERS) encoding.free();
  o200k.free();
});

/** The first article of the Universal Declaration of Human Rights, or a similar text. */
const SCRIPTS = {
  Latin: "All human beings are born free and equal in dignity and rights.",
  "Latin with marks": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.",
  Zulu: "Bonke abantu bazalwa bekhululekile belingana ngesithunzi nangamalungelo.",
  Turkish: "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.",
  Finnish: "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan.",
  Cyrillic: "Все люди рождаются свободными и равными в своем достоинстве и правах.",
  Greek: "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
  Georgian: "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
  Armenian: "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։",
  Hebrew: "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
  Arabic: "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق.",
  Devanagari: "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
  Bengali: "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।",
  Tamil: "மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்.",
  Malayalam: "മനുഷ്യരെല്ലാവരും തുല്യാവകാശങ്ങളോടും അന്തസ്സോടും സ്വാതന്ത്ര്യത്തോടുംകൂടി ജനിച്ചിട്ടുള്ളവരാണ്.",
  Telugu: "ప్రతిపత్తిస్వత్వముల విషయమున మానవులెల్లరును జన్మతః స్వతంత్రులును సమానులును.",
  Thai: "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
  Khmer: "មនុស្សទាំងអស់កើតមកមានសេរីភាពនិងភាពស្មើៗគ្នា",
  Ethiopic: "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።",
  Han: "人人生而自由，在尊严和权利上一律平等。",
  Japanese: "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
  Hangul: "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
  Emoji: "👩‍👩‍👧‍👦 🏳️‍🌈 🤷🏽‍♀️ ✅ ",
};

const OTHER_TEXTS = {
  TypeScript: "export function keyOf(chat) {\n    for (const x of [1, 2]) {\n        out[x] ??= a[x - 1];\n    }\n}\n",
  "code with tabs": "\t\t\tif (x) {\n\t\t\t\treturn\n\t\t\t}\n",
  JSON: '{"type":"object","properties":{"city":{"type":"string"},"days":{"minimum":1,"maximum":7}},"required":["city"]}',
  base64: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "hexadecimal digits": "3f5a9c0e7d1b2846ffab09cd17e3a5b84c2d6e9f0a1b3c5d7e8f9a0b1c2d3e4f ",
  digits: "31415926535897932384626433832795028841971693993751 ",
  "every mark": "!@#$%^&*()_+-=[]{}|;':\",./<>?~` ",
  "rows of marks": `${"=".repeat(80)}\n${"-".repeat(80)}\n${"#+".repeat(30)}\n`,
  "white space of all kinds": " \t \t \t \n \n \t\n \r\n  \n\n\n",
  spaces: " ".repeat(200),
  capitals: "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG ",
  "names of code": "get_current_user_account_balance_remaining_cents ",
  "scripts in turn": "a1b2c3 é x ü 9z ი b ი c  ი  d 字e字f ",
};

describe("a text that is asked of another tokenizer", () => {
  it.each(Object.entries({ ...SCRIPTS, ...OTHER_TEXTS }))("%s", async (_, sample) => {
    const text = sample.repeat(20);
    const bound = await counter.countMax(text, "unknown");
    for (const { name, encoding } of OTHERS) {
      expect(bound, name).toBeGreaterThanOrEqual(encoding.encode_ordinary(text).length);
    }
    expect(bound).toBeLessThanOrEqual(Buffer.byteLength(text));
  });

  it("of the Latin alphabet is bounded well below its bytes", async () => {
    const text = SCRIPTS.Latin.repeat(50);
    expect(await counter.countMax(text, "unknown")).toBeLessThan(0.7 * text.length);
  });

  it("of words that ours has a token for and others have none is bounded nearly", async () => {
    for (const word of [" Ljubl", " oqarpoq", " sijhawm", "neqarpoq", " responsabilidade", "Kwam"]) {
      const text = word.repeat(200);
      const bound = await counter.countMax(text, "unknown");
      const [cl100k] = OTHERS;
      expect(bound * 1.26).toBeGreaterThanOrEqual(cl100k?.encoding.encode_ordinary(text).length ?? 0);
    }
  });
});

describe("a text that is asked of our tokenizer", () => {
  it.each(Object.entries({ ...SCRIPTS, ...OTHER_TEXTS }))("%s", async (_, sample) => {
    const text = sample.repeat(20);
    expect(await counter.countMax(text, "o200k")).toBeGreaterThanOrEqual(o200k.encode_ordinary(text).length);
  });
});

it("a text too long to count is bounded by its bytes from there on, whatever its beginning is", async () => {
  const text = " ".repeat(500_000) + "river stone ".repeat(10_000);
  for (const tokenizer of ["o200k", "unknown"] as const) {
    const bound = await counter.countMax(text, tokenizer);
    expect(bound).toBeGreaterThan(120_000);
    expect(bound).toBeLessThanOrEqual(text.length);
  }
});

it("an estimate of a text too long to count is not misled by its beginning", async () => {
  const text = " ".repeat(500_000) + "river stone ".repeat(100_000);
  const estimate = await counter.count(text);
  const exact = o200k.encode_ordinary("river stone ".repeat(100)).length * 1_000;
  expect(estimate / exact).toBeGreaterThan(0.9);
  expect(estimate / exact).toBeLessThan(1.15);
});
