// Pages that were written by hand in the markup of the sites that the web is made of: wikis, threads, documentation, shops, filings. The words are ours.
import { readFileSync } from "node:fs";
import type { CorpusPage, PageClass } from "./draft.ts";

interface Due {
  readonly is?: PageClass;
  readonly must?: readonly string[];
  readonly mustNot?: readonly string[];
  readonly exact?: readonly string[];
}

/** By the name of its file in the folder beside this one. */
const PAGES: Readonly<Record<string, Due>> = {
  wiki: {
    must: [
      "For the village, see Aldermoor",
      "built in 1794 to carry limestone past the weir",
      "Enoch Salt, kept a diary of every boat",
      "Oak gates being lifted in 1931",
      "Locks of the Wend",
    ],
    mustNot: [
      "Random article",
      "Jump to content",
      "Talk",
      "edit",
      "Pell Lock",
      "This page was last edited",
      "Locks built in 1794",
    ],
    exact: [
      "# Aldermoor Lock\n",
      "## History\n",
      "| Waterway | [River Wend](https://by-hand.example/wiki/River_Wend) |",
      "$" + "{\\displaystyle t=2A/(a{\\sqrt {2g}})}$",
      "Boats a year\n\n| Year | Up | Down |\n| --- | --- | --- |\n| 1800 | 1,204 | 1,198 |",
      "https://upload.wikipages.example/thumb/g/Gates.jpg/220px-Gates.jpg",
    ],
  },
  question: {
    must: [
      "it yields exactly one path",
      "asked Apr 2, 2021 at 9:14",
      "Mirela Stan",
      "Does it also happen with a flat tree?",
      "Oskar Lind",
      "Delegate to it instead",
      "answered Apr 2, 2021 at 9:31",
      "Tamar Gelashvili",
    ],
    mustNot: [
      "flatten a list of lists",
      "Can a wizard copy",
      "Post Your Answer",
      "store cookies on your device",
      "CC BY-SA",
    ],
    exact: [
      "# Why does my generator stop after the first item?\n",
      "```python\ndef walk(node):\n    yield node.path\n    for child in node.children:\n        walk(child)  # <- here?\n```",
      "```py\n    for child in node.children:\n        yield from walk(child)\n```",
      "- `yield from` hands on",
    ],
  },
  issue: {
    must: [
      "a rename shows up as a delete and nothing else",
      "yusuf-d commented Feb 11, 2024",
      "hanneke commented Feb 12, 2024",
      "it sends two notifications",
    ],
    mustNot: ["Product", "No one assigned", "Sign up for free", "Quote reply", "Terms"],
    exact: [
      "# Watcher misses renames on network drives",
      "1. Mount the share with `cache=none`.\n2. Run the watcher.",
      '```shell\ntidewatch --json /mnt/share | jq .event\n# "delete"\n```',
      "- [x] Linux 6.6\n- [ ] macOS 14",
      "(https://by-hand.example/pelago/tidewatch/blob/main/src/smb.c#L88)",
    ],
  },
  "comments-tree": {
    must: [
      "A tide clock that runs on a single coin cell",
      "saltmarsh",
      "Every driver I tried idles at fifty",
      "ostrava",
      "off by an hour each spring tide",
    ],
    mustNot: ["Guidelines", "login", "submit"],
    exact: ["```\n  while (1) {\n    sleep_until(next_tick);\n    gpio_set(DRV_EN);   // 2 ms\n    step();\n  }\n```"],
  },
  "thread-forms": {
    must: [
      "nobody has lit since 2014",
      "coldhearth",
      "42 points 1 year ago",
      "Smoke finds the gap before the flue is warm",
      "Thank you, the rope is on its way",
    ],
    mustNot: ["No adverts for pellets", "Want to join", "User Agreement", "48,210"],
    exact: ["**Franklin 17**", "1. Replace the rope, it is eleven euros.\n2. Then three small fires"],
  },
  "web-reference": {
    must: [
      "plays a short tone once the page has been idle",
      "Values below 200 are raised to 200",
      "A page in the background is never idle",
    ],
    mustNot: [
      "Build faster with Hollow Cloud",
      "Skip to main content",
      "Was this page helpful",
      "In this article",
      "Copy to Clipboard",
    ],
    exact: [
      "# Window: idleTone() method\n",
      "```js\nidleTone(ms)\nidleTone(ms, { gain: 0.2 })\n```",
      "`ms`\n: How long",
      "|  | Corvid | Vixen |",
      "| `idleTone` | Full support Corvid 118 | No support |",
    ],
  },
  "module-docs": {
    must: ["Take each tenth reading", "numbers, oldest first", "Readings of a frozen pond are all zero"],
    mustNot: ["Installing Pondlife", "Made with", "Hide navigation sidebar", "View this page", "source"],
    exact: [
      "# pondlife.sampling\n",
      "pondlife.sampling.draw(_readings_, _every=10_)",
      "```\n  >>> list(draw(range(40), every=20))\n  [0, 20]\n  ```",
      "```toml\n[pond]\ndepth_m = 1.5  # *not* feet\n```",
    ],
  },
  "tabbed-docs": {
    must: [
      "speaks over one serial line at 4,800 baud",
      "On Windows the port is called COM3",
      "Most buoys sleep between two waves",
    ],
    mustNot: ["read the launch post", "Getting your feet wet", "Edit this page", "Predicting tides", "Built with"],
    exact: [
      "## Install\n",
      "```bash\nnpm install @swell/buoy\n```",
      "```bash\npnpm add @swell/buoy\n```",
      '```ts\nimport { open } from "@swell/buoy";\n\nconst buoy = await open("/dev/ttyUSB0");\n```',
    ],
  },
  "crate-docs": {
    must: [
      "Sorts grains by size through N meshes",
      "The width of the coarsest mesh",
      "nothing where the sieve is clogged",
    ],
    mustNot: ["unsupported and will most likely", "Copy item path", "§"],
    exact: [
      "# Struct Sieve\n",
      "```\npub struct Sieve<const N: usize> {\n    pub width: u32,\n    /* private fields */\n}\n```",
      "`width: u32`",
      "## Examples\n",
    ],
  },
  news: {
    must: [
      "have voted by 212 to 40 to go back to work",
      "what we can live with",
      "Isla Farquhar",
      "Tickets bought for cancelled sailings",
      "Murdo Campbell, shopkeeper",
      "The Morag has lain at its berth",
    ],
    mustNot: [
      "Advertisement",
      "fog closes the airport",
      "Islanders fly in milk",
      "four years late",
      "external sites",
      "grey-placeholder",
    ],
    exact: [
      "# Ferry crews vote to end three-week strike\n",
      "![A ferry at its berth with its bow doors shut](https://ichef.northshore.example/news/480/ferry.jpg.webp)",
      "> We ran out of bread twice, and of patience once.",
    ],
  },
  "live-blog": {
    must: [
      "from red to amber, effective at once",
      "10.40 Red warning lifted",
      "09.15",
      "Nine hundred homes in the valley",
      "Trains between Holm and Vik",
      "Waves reach the lamps of the pier",
    ],
    mustNot: ["two euros a week", "Advertisement", "four thousand snails", "How storms get their names", "Share"],
    exact: ["## Red warning lifted\n", "## Good morning\n", "> We hope to have the last line up by four o'clock."],
  },
  letter: {
    must: [
      "how loud a quiet hive is",
      "A goat fears nothing, and leans",
      "more stings than spoons",
      "a fridge in the next room",
      "The hive, before the goat",
    ],
    mustNot: ["reader-supported publication", "Start writing today", "Share"],
    exact: [
      "# On keeping bees badly\n",
      "## The goat\n",
      "https://letterstackcdn.example/image/fetch/w_1456/hive.jpeg",
    ],
  },
  story: {
    must: [
      "two hundred and eleven direct calls",
      "a slow service was asked three times",
      "7 min read Sep 9, 2024",
      "We pay 31% less",
    ],
    mustNot: ["Sign up", "Follow", "Why we deleted our cache", "A calendar is not a plan"],
    exact: [
      "## Where the money went\n",
      "```\nfunc retry(n int) {\n    for i := 0; i < n; i++ {\n        call()\n    }\n}\n```",
      "1. Count your retries before you count your servers.",
      "> The cheapest call is the one you do not make.",
    ],
  },
  shop: {
    must: [
      "Harbour Jumper in Undyed Wool",
      "within nine miles of the sheep",
      "€96,00",
      "Weight 840 g in size M",
      "dry it flat on a towel",
    ],
    mustNot: ["Free shipping", "Your cart is empty", "Moorland Green", "Subscribe to our emails", "Add to cart"],
    exact: ["# Harbour Jumper in Undyed Wool\n", "~~€120,00~~", "## Care\n"],
  },
  marketplace: {
    must: ["under seven minutes on gas", "$44.95", "1,873 ratings", "Delphine", "Two years of daily tea"],
    mustNot: ["Today's Deals", "Copperline", "Back to top", "Careers", "Add to Cart"],
    exact: ["# Riverstone Enamel Kettle, 2.2 Liter\n", "| Material | \u200eEnamelled steel |"],
  },
  recipe: {
    must: [
      "on the first morning of frost, and only then",
      "180 g dark rye flour",
      "2 eggs beaten",
      "Fry in butter until the edge lifts",
      "Marit says",
      "November 12, 2023 at 8:01 am",
      "Used buttermilk in place of milk",
    ],
    mustNot: [
      "Recipe Index",
      "Advertisement",
      "five free recipes",
      "Your email address will not be published",
      "I cook in a lighthouse",
      "Jump to Recipe",
    ],
    exact: [
      "# Rye Pancakes with Sour Cherries\n",
      "- Whisk flour, milk and eggs",
      "![A stack of dark pancakes](https://slowlarder.example/wp-content/uploads/rye-680x1020.jpg)",
    ],
  },
  job: {
    must: ["We look after 340 footbridges", "most of them by boat", "52,000 to 61,000 euros a year", "Porto, Portugal"],
    mustNot: ["View all jobs", "First Name", "authorised to work", "government reporting purposes", "Powered by"],
    exact: ["# Bridge Engineer\n", "- Write reports that a mayor can read."],
  },
  "public-guide": {
    must: [
      "before it leaves inland waters",
      "stamped on the stern",
      "which keeps a copy for six years",
      "Anchor Court",
    ],
    mustNot: [
      "essential cookies",
      "Boats and waterways",
      "Find a mooring near you",
      "Is this page useful",
      "Open Licence",
    ],
    exact: ["### Fees\n", "| 9 to 24 metres | £49 | £88 |", "1. A bill of sale."],
  },
  filing: {
    must: [
      "TILLER HOLDINGS, INC.",
      "in thousands, except per share data",
      "Sales are recorded when a rudder leaves the yard",
    ],
    mustNot: ["0009990001"],
    exact: [
      "|  | Year Ended December 31, 2024 | Year Ended December 31, 2023 |",
      "| Net sales | $482,119 | $455,870 |",
      "| Cost of sales | (301,004) | (298,416) |",
    ],
  },
  paper: {
    must: [
      "drinks a cloudburst",
      "Rain on sand is older than rivers",
      "By some three billion years",
      "The first storm",
    ],
    mustNot: ["uselogo", "Generated on"],
    exact: ["$d_{50}$", "$$z(t)=\\sqrt{2Kt/\\phi},$$", "| Dune A | 112.4 |", "## 1 Introduction"],
  },
  memo: {
    must: ["A bird that leaves without a reply", "Ring No MUST NOT be zero"],
    mustNot: ["Tracker of memos", "Active groups"],
    exact: ["   |   Wing Span   |     Ring No   |\n   +-+-+-+"],
  },
  "list-mail": {
    must: ["Greta Lindqvist", "Fri Sep 12 07:31:44 UTC 2003", "It wraps a bit later"],
    exact: ["    warp 12, weft 65535 -> 0\n", "(https://by-hand.example/a/000101.html)"],
  },
  nineties: {
    must: ["a yard sale in Duluth", "never had the heart to fix it", "Call your airport", "hers has a bird in it"],
    mustNot: ["visitor number", "800 x 600"],
    exact: ["### How to set one\n", "1. Call your airport", "| 1971 | Aneroid | $4 |"],
  },
  streamed: {
    must: ["stands on the east mole", "had sunk by nine millimetres", "Heights are corrected for air pressure"],
    mustNot: ["Loading readings", "Built by sailors", "Pricing"],
    exact: ["# Tide station 14\n", "## Datum\n", "| 12:24 | 4.07 m |"],
  },
  shadow: {
    must: ["for masts above eleven metres", "when the schools begin", "Note: Call channel 12"],
    mustNot: ["Berths", "open daily"],
    exact: ["# Drawbridge opening times\n", "| Monday | 6:00 | 21:30 |"],
  },
  landing: {
    must: [
      "before you have put the kettle on",
      "Polite on day ten, firm on day thirty",
      "€9/month",
      "No limit of invoices",
      "Can I leave at any time?",
      "A company in Ghent",
    ],
    mustNot: ["Log in", "All rights reserved"],
    exact: ["# Invoices that write themselves\n", "### Solo\n", "- 20 invoices\n- One calendar"],
  },
  "posts-app": {
    must: [
      "one very annoyed lobster",
      "Nils Aune",
      "Agnes Marr @bellfounder Jun 2",
      "Do not dry it quickly!",
      "5:00 PM · Jun 2, 2025",
    ],
    mustNot: ["Explore", "Create account", "#LobsterThursday", "Terms of Service", "People on Chirp"],
    exact: ["![A bronze bell on a deck](https://pbs.chirpimg.example/media/bell?format=jpg&name=small)"],
  },
  arabic: {
    must: ["يبلغ طوله 212 متراً", "John Barrow", "تقصر المسافة إلى المدرسة", "سلمى الخطيب 18 فبراير 2025"],
    mustNot: ["الرئيسية", "قصة الجسر القديم", "أسعار السمك", "جميع الحقوق"],
    exact: ["# افتتاح جسر المشاة الجديد في حي النهر\n", "> انتظرنا هذا اليوم طويلاً."],
  },
  japanese: {
    must: ["霧ヶ浜(きりがはま)の灯台は", "職人は七人だった", "毎月第一日曜日"],
    mustNot: ["交通案内", "漁師の朝ごはん", "All Rights Reserved"],
    exact: ["## 霧ヶ浜灯台の歴史", "| 1952年 | 電化 |"],
  },
  "chinese-forum": {
    must: ["梅子姐", "2022-3-9 20:14:05", "缝厚布的时候总是跳线", "老周修机", "针要用十六号的"],
    mustNot: ["设为首页", "登录后才可以回帖", "X3.4"],
    exact: ["# 老式缝纫机跳线怎么办？", "> 换过两种针，都没有用。"],
  },
  releases: {
    must: ["All notable changes are listed here", "stop when the chuck is open", "Profiles of version 2 are refused"],
    mustNot: ["Turning your first bowl", "Last updated", "Previous page", "On this page"],
    exact: [
      "# Changelog\n",
      "## [v3.2.0](https://codehub.example/compare/v3.1.4...v3.2.0) (2025-08-01)\n",
      "- new flags\n  - `--rpm-max` bounds the speed\n  - `--dry` moves nothing",
      "```diff\n- profile: 2\n+ profile: 3\n```",
    ],
  },
  amp: {
    must: ["cuarenta metros tierra adentro", "1,2 millones de euros", "Lucía Ferrer"],
    mustNot: ["Política", "cookies propias", "Publicidad", "acantilados", "derechos reservados"],
    exact: ["# El faro que cambió de sitio\n", "![El faro sobre raíles](https://by-hand.example/fotos/faro.jpg)"],
  },
  "shared-doc": {
    must: ["We leave on Friday with the 14:20 boat", "Nobody cooks on the moor", "Packing list"],
    exact: ["1. Tents on the lee side of the chapel.", "| Stove and two cartridges | Ivo |"],
  },
  timetable: {
    must: ["Gültig ab 15. Dezember 2024", "Fahrräder fahren nach 9 Uhr kostenlos mit"],
    mustNot: ["Leichte Sprache", "Neue Züge ab Ostern", "Impressum"],
    exact: [
      "| Halt | Montag bis Freitag früh | Montag bis Freitag spät | Samstag ganztags |",
      "| Leuchtturm | 6:19 | 18:19 | 9:01 |",
      "| Ohne Gewähr |  |  |  |",
    ],
  },
  "limits-note": {
    must: ["rate limited to 60 requests a minute", "You must be logged in to see your own figures"],
    exact: ["# Rate limits\n"],
  },
  "sign-in": { is: "wall" },
  checking: { is: "wall" },
  "empty-app": { is: "shell" },
};

export const BY_HAND: readonly CorpusPage[] = Object.entries(PAGES).map(
  ([name, { is = "content", must = [], mustNot = [], exact = [] }]) => ({
    name,
    kind: "by hand",
    url: "https://by-hand.example/a/page",
    html: readFileSync(new URL(`by-hand/${name}.html`, import.meta.url), "utf8"),
    status: 200,
    is,
    must,
    mustNot,
    exact,
  }),
);
