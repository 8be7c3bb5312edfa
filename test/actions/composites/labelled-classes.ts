// Pages that are easily taken for what they are not: skeletons that scripts are to fill, short pages that servers have filled, short pages
// that mention a wall, and walls of many words.

import type { LabelledPage } from "./labelled-pages.ts";

const page = (head: string, body: string) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8">${head}</head><body>${body}</body></html>`;
const SCRIPTS =
  '<script src="/static/chunks/main.js" defer></script><script src="/static/chunks/app.js" defer></script>';
const mounted = (id: string, title: string, body: string) =>
  page(`<title>${title}</title>`, `<div id="${id}">${body}</div>${SCRIPTS}`);
const plain = (title: string, body: string) => page(`<title>${title}</title>`, body);
const of = (name: string, html: string, isPage: boolean): LabelledPage => ({ name, html, isPage, status: 200 });

const CARDS =
  '<div class="skeleton-card"><div class="skeleton-line"></div><div class="skeleton-line"></div></div>'.repeat(6);

/** There is something to see, and nothing to read. */
export const SKELETONS: readonly LabelledPage[] = [
  of(
    "skeleton: a header alone",
    mounted("__next", "Shop", `<div class="skeleton"><header>Shop</header>${CARDS}</div>`),
    false,
  ),
  of("skeleton: a dashboard", mounted("root", "Dashboard", "<div>Loading your dashboard…</div>"), false),
  of(
    "skeleton: a header and a line",
    mounted("root", "Mail", "<header>Mail</header><main><p>Loading your messages...</p></main>"),
    false,
  ),
  of(
    "skeleton: a bar of links",
    mounted(
      "__nuxt",
      "Store",
      `<nav><a href="/">Home</a><a href="/cart">Cart</a><a href="/help">Help</a></nav>${CARDS}<footer>© Store 2026</footer>`,
    ),
    false,
  ),
  of(
    "skeleton: shimmer",
    mounted("app", "Feed", `<h1>Feed</h1><ul>${'<li class="shimmer"></li>'.repeat(12)}</ul>`),
    false,
  ),
  of(
    "skeleton: a busy place",
    mounted(
      "root",
      "Orders",
      '<h1>Orders</h1><section aria-busy="true"><span class="sr-only">Please wait</span></section>',
    ),
    false,
  ),
  of(
    "skeleton: a spinner",
    mounted("root", "App", '<div class="spinner"></div><p>Just a second, we are getting things ready…</p>'),
    false,
  ),
  of(
    "skeleton: no known place for it",
    page(
      "<title>Flights</title>",
      `<div class="page"><header>Flights</header><div class="ant-skeleton ant-skeleton-active"><ul><li></li></ul></div></div>${SCRIPTS}`,
    ),
    false,
  ),
  of(
    "skeleton: placeholders",
    page(
      "<title>News</title>",
      `<div class="wrap"><h2>News</h2><div class="placeholder-glow"><span class="placeholder col-6"></span></div></div>${SCRIPTS}`,
    ),
    false,
  ),
  of(
    "skeleton: an element of its own",
    page("<title>Bank</title>", `<app-root><header>Bank</header><p>Loading...</p></app-root>${SCRIPTS}`),
    false,
  ),
  of(
    "skeleton: words in German",
    mounted("root", "Konto", "<header>Konto</header><p>Ihre Daten werden geladen…</p>"),
    false,
  ),
  of(
    "skeleton: words in Japanese",
    mounted("app", "ニュース", "<header>ニュース</header><p>読み込み中です…</p>"),
    false,
  ),
];

/** Their servers have filled what scripts will take over. */
export const FILLED: readonly LabelledPage[] = [
  of(
    "filled: hours",
    mounted(
      "__next",
      "Hours",
      "<header>Toll House</header><main><h1>Hours</h1><p>Open from nine to five, closed on Sunday.</p></main>",
    ),
    true,
  ),
  of(
    "filled: an address",
    mounted(
      "root",
      "Contact",
      "<nav><a href='/'>Home</a></nav><p>Write to us at 1 Bridge Street, or call 555 0100.</p>",
    ),
    true,
  ),
  of(
    "filled: a product",
    mounted(
      "__nuxt",
      "Kettle",
      "<h1>Kettle, 1.5 litres</h1><p>Boils in three minutes. 29 euros.</p><button>Add to cart</button>",
    ),
    true,
  ),
  of(
    "filled: Chinese",
    mounted("app", "营业时间", "<h1>营业时间</h1><p>本办公室营业时间为九点至五点，欢迎来电咨询。</p>"),
    true,
  ),
  of(
    "filled: a table",
    mounted("root", "Rates", "<table><tr><td>Car</td><td>2.00</td></tr><tr><td>Lorry</td><td>5.50</td></tr></table>"),
    true,
  ),
  of(
    "filled: docks",
    mounted(
      "root",
      "Loading docks",
      "<h1>Loading docks</h1><p>Docks 4 to 9 are for lorries. Ring the bell at the gate.</p>",
    ),
    true,
  ),
  of(
    "filled: a lazy picture",
    mounted(
      "__next",
      "Bridge",
      '<h1>The old bridge</h1><img class="placeholder" src="/b.jpg"><p>Built in 1904 by those who crossed it, and paid for at the gate.</p>',
    ),
    true,
  ),
];

const LIMITS =
  "<h2>Limits</h2><p>Requests are rate limited to 60 a minute for each key. Above that we answer 429, and the header Retry-After says when to try again.</p>";
const CHANGES =
  "<h2>4.2.1</h2><ul><li>The sign-in form shows its captcha again in narrow windows.</li><li>Exports of more than 10,000 rows no longer lose their last line.</li><li>Dates are shown in the reader's own time zone.</li></ul><h2>4.2.0</h2><ul><li>Reports can be sent each week.</li><li>Faster search in long lists.</li></ul>";
const THREAD =
  "<h1>Which oil for a 1998 gearbox?</h1><p><b>ada</b>: Mine grinds in second when it is cold. The book says 75W-90, the dealer says anything will do.</p><p><b>bob</b>: Use what the book says, and change it once a year. Mine went quiet after the second change.</p><p>You must be logged in to reply.</p>";
const ANSWERS =
  "<h1>Questions</h1><h3>Why do I see a captcha?</h3><p>Too many people share your address. Wait an hour, or use another network.</p><h3>Can I pay by card?</h3><p>Yes, at the gate and on the web.</p><h3>Do you deliver on Saturday?</h3><p>Until noon, in the city.</p>";

/** They mention a wall, and are none. */
export const MENTIONS: readonly LabelledPage[] = [
  of("mention: limits of an API", plain("API", `<main>${LIMITS}</main>`), true),
  of(
    "mention: limits under their own title",
    plain(
      "Rate limits",
      `<main><h1>Rate limits</h1>${LIMITS}<p>Ask us where you need more; we raise them for free.</p></main>`,
    ),
    true,
  ),
  of("mention: a changelog", plain("Changes", CHANGES), true),
  of("mention: a thread", plain("Gearbox", THREAD), true),
  of("mention: questions and answers", plain("Help", ANSWERS), true),
  of(
    "mention: a table of codes",
    plain(
      "Codes",
      "<table><tr><td>400</td><td>A field is wrong; the message names it.</td></tr><tr><td>401 Unauthorized</td><td>The key is missing or unknown.</td></tr><tr><td>403 Forbidden</td><td>The key may not do this.</td></tr><tr><td>429 Too Many Requests</td><td>Wait for Retry-After.</td></tr><tr><td>500</td><td>Our fault; try again.</td></tr></table>",
    ),
    true,
  ),
  of(
    "mention: a note of a release",
    plain(
      "Notes",
      "<h1>Release 7</h1><p>Uploads go on after a pause. Fixed: the upload page said access denied to owners of shared folders. Thanks to all who wrote to us.</p>",
    ),
    true,
  ),
  of(
    "mention: comments",
    plain(
      "Soup",
      "<article><h1>Onion soup</h1><p>Slice six onions, and let them brown in butter for forty minutes. Add a litre of stock, simmer, and pour it over toasted bread with cheese.</p><p>Please log in to leave a comment.</p></article>",
    ),
    true,
  ),
  of(
    "mention: a shop",
    plain(
      "Locks",
      "<h1>Door lock 40</h1><p>Steel, for doors up to 70 mm, with five keys. 49 euros, on stock.</p><p>Please sign in to see your own price.</p>",
    ),
    true,
  ),
  of(
    "mention: a dictionary",
    plain(
      "captcha",
      "<h1>captcha</h1><p><i>noun</i>. A small puzzle on a web page that people can solve and programs cannot. Plural captchas. First used in 2003, of English origin.</p>",
    ),
    true,
  ),
  of(
    "mention: a status page",
    plain(
      "Status",
      "<h1>All systems normal</h1><p>12 March, 09:10: some callers saw too many requests for four minutes. The limiter had lost its clock. Mended at 09:14.</p><p>2 March: nothing to tell.</p>",
    ),
    true,
  ),
  of(
    "mention: a library",
    plain(
      "Reader",
      "<h1>Reading room</h1><p>Open on weekdays from ten to six. Access is restricted to members on Mondays. Bring your card, and leave bags at the door.</p>",
    ),
    true,
  ),
  of(
    "mention: German thread",
    plain(
      "Getriebe",
      "<h1>Welches Öl für das Getriebe?</h1><p>Meines kracht im zweiten Gang, wenn es kalt ist. Im Buch steht 75W-90, der Händler sagt, jedes sei recht.</p><p>Nimm, was im Buch steht, und wechsle es jedes Jahr.</p><p>Bitte melden Sie sich an, um zu antworten.</p>",
    ),
    true,
  ),
  of(
    "mention: Spanish help",
    plain(
      "Ayuda",
      "<h1>Ayuda</h1><p>Si la puerta muestra acceso denegado, su tarjeta ha caducado: pida otra en la oficina, de nueve a cinco.</p><p>Las tarjetas valen dos años. La primera es gratis y las siguientes cuestan tres euros.</p>",
    ),
    true,
  ),
  of(
    "mention: French notes",
    plain(
      "Notes",
      "<h1>Version 3</h1><p>La recherche est deux fois plus rapide. Les dates suivent le fuseau de chacun.</p><p>Corrigé : accès refusé aux dossiers partagés. Merci à ceux qui nous ont écrit.</p>",
    ),
    true,
  ),
  of(
    "mention: a job",
    plain(
      "Guard",
      "<h1>Night guard</h1><p>You walk the yard twice a night and note who comes. A security check of your record is made before you begin. Twelve euros an hour, meals included.</p>",
    ),
    true,
  ),
  of(
    "mention: a course",
    plain(
      "Course",
      "<h1>Bots for beginners</h1><p>Four evenings in May. We write a program that answers letters, and talk about bot detection on the last evening. Bring a laptop.</p>",
    ),
    true,
  ),
];

/** Walls that say more than their one sentence. */
export const WORDY_WALLS: readonly LabelledPage[] = [
  of(
    "wordy wall: a block",
    plain(
      "Attention Required! | Cloudflare",
      "<h1>Sorry, you have been blocked</h1><h2>You are unable to access example.com</h2><h2>Why have I been blocked?</h2><p>This website is using a security service to protect itself from online attacks. The action you just performed triggered the security solution. There are several actions that could trigger this block including submitting a certain word or phrase, a SQL command or malformed data.</p><h2>What can I do to resolve this?</h2><p>You can email the site owner to let them know you were blocked. Please include what you were doing when this page came up and the Cloudflare Ray ID found at the bottom of this page.</p><p>Cloudflare Ray ID: 8a1b2c3d4e5f • Your IP: 203.0.113.7 • Performance & security by Cloudflare</p>",
    ),
    false,
  ),
  of(
    "wordy wall: an interruption",
    plain(
      "Pardon Our Interruption",
      "<h1>Pardon Our Interruption</h1><p>As you were browsing something about your browser made us think you were a bot. There are a few reasons this might happen:</p><ul><li>You've disabled JavaScript in your web browser.</li><li>You're a power user moving through this website with super-human speed.</li><li>You've disabled cookies in your web browser.</li><li>A third-party browser plugin, such as Ghostery or NoScript, is preventing JavaScript from running.</li></ul><p>To regain access, please make sure that cookies and JavaScript are enabled before reloading the page.</p>",
    ),
    false,
  ),
  of(
    "wordy wall: unusual traffic",
    plain(
      "https://example.com/search",
      "<p>About this page</p><p>Our systems have detected unusual traffic from your computer network. This page checks to see if it's really you sending the requests, and not a robot. Why did this happen?</p><p>This page appears when requests coming from your computer network appear to be in violation of the Terms of Service. The block will expire shortly after those requests stop. IP address: 203.0.113.7 Time: 2026-03-12T09:10:00Z</p>",
    ),
    false,
  ),
  of(
    "wordy wall: characters",
    plain(
      "Shop",
      "<h4>Enter the characters you see below</h4><p>Sorry, we just need to make sure you're not a robot. For best results, please make sure your browser is accepting cookies.</p><p>Type the characters you see in this image:</p><form><input name='c'><button>Continue shopping</button></form><p>Conditions of Use</p><p>Privacy Policy</p>",
    ),
    false,
  ),
  of(
    "wordy wall: members",
    plain(
      "Story | Daily",
      "<h1>The bridge that paid for itself</h1><p>Ada Keeper, 4 min read</p><p>For a hundred years nobody asked who had…</p><h2>Sign in to continue reading</h2><p>Create a free account to read this story and three more each month. You need to log in to read it. Already a member? Sign in.</p>",
    ),
    false,
  ),
  of(
    "wordy wall: a network",
    plain(
      "Sign up | Net",
      "<h1>Join to see who you know</h1><p>Agree & Join</p><p>By clicking Agree & Join, you agree to the User Agreement, Privacy Policy, and Cookie Policy.</p><p>Please sign in to view this profile. You must be logged in. New here? Join now</p>",
    ),
    false,
  ),
  of(
    "wordy wall: denied at the edge",
    plain(
      "Access Denied",
      '<h1>Access Denied</h1><p>You don\'t have permission to access "http://www.example.com/shop/kettles" on this server.</p><p>Reference #18.9f0b3e17.1710234600.1a2b3c4d</p><p>https://errors.edgesuite.net/18.9f0b3e17.1710234600.1a2b3c4d</p>',
    ),
    false,
  ),
  of(
    "wordy wall: a firewall",
    plain(
      "Request Rejected",
      "<p>The requested URL was rejected. Please consult with your administrator.</p><p>Your support ID is: 1234567890123456789</p><p><a href='javascript:history.back();'>[Go Back]</a></p>",
    ),
    false,
  ),
  of(
    "wordy wall: forum of bots",
    plain(
      "Blocked",
      "<h1>You've been blocked by network security.</h1><p>To continue, log in to your account or use your developer token. If you think you've been blocked by mistake, file a ticket below and we'll look into it.</p><p>Log in</p><p>File a ticket</p>",
    ),
    false,
  ),
  of(
    "wordy wall: German",
    plain(
      "Einen Moment…",
      "<h1>example.de</h1><p>Bestätigen Sie, dass Sie ein Mensch sind. Dies kann einige Sekunden dauern.</p><p>example.de muss die Sicherheit Ihrer Verbindung überprüfen, bevor Sie fortfahren können. Ungewöhnlichen Datenverkehr aus Ihrem Netz haben wir vor kurzem bemerkt.</p>",
    ),
    false,
  ),
];

/** Written after the rules were, and judged by them at once. */
export const UNSEEN: readonly LabelledPage[] = [
  of(
    "unseen: pricing",
    plain(
      "Plans",
      "<h1>Plans</h1><p>Free: ten calls a minute. Team: 20 euros, a thousand calls a minute, and no captcha for your guests. Ask for more.</p>",
    ),
    true,
  ),
  of(
    "unseen: a manual",
    plain(
      "curl: (22)",
      "<h1>What exit code 22 means</h1><p>With --fail, curl ends so where the server answers 400 or more, such as 403 Forbidden. Look at the headers with -v to see why.</p>",
    ),
    true,
  ),
  of(
    "unseen: a wiki's stub",
    plain(
      "Rate limiting",
      "<p>In networks, rate limiting controls how many requests are sent or received. A caller beyond the limit is rate limited: it is told 429, or waits. See also: token bucket.</p>",
    ),
    true,
  ),
  of(
    "unseen: an event",
    plain(
      "Open day",
      "<h1>Open day</h1><p>Saturday, ten to four. Visitors pass a security check at the gate; please leave large bags at home. Coffee is free.</p>",
    ),
    true,
  ),
  of(
    "unseen: a review",
    plain(
      "Film",
      "<h1>Access Denied (1997)</h1><p>A guard loses his key and finds a friend. Slow at first, then very funny. Ninety minutes, three stars of five.</p>",
    ),
    true,
  ),
  of(
    "unseen: Italian shop",
    plain(
      "Chiavi",
      "<h1>Chiavi</h1><p>Copie in cinque minuti, quattro euro l'una. Accedi per vedere i tuoi ordini, oppure passa in negozio dal lunedì al venerdì.</p>",
    ),
    true,
  ),
  of(
    "unseen: Polish note",
    plain(
      "Notatki",
      "<h1>Wersja 2</h1><p>Poprawiono błąd, przez który odmowa dostępu pojawiała się u właścicieli folderów. Wyszukiwanie jest szybsze, a daty są w strefie czytelnika.</p>",
    ),
    true,
  ),
  of(
    "unseen: Japanese help",
    plain(
      "ヘルプ",
      "<h1>ヘルプ</h1><p>料金所の営業時間は九時から五時までです。カードの有効期限が切れると、アクセスが拒否と表示されますので、窓口で新しいカードをお求めください。最初の一枚は無料です。</p>",
    ),
    true,
  ),
  of(
    "unseen: a question",
    plain(
      "Is it a bot?",
      "<h1>Who writes these letters?</h1><p>Are you a robot? asked one reader. No: three people and a cat, since 2011, every second Thursday. Write back, we answer all of it.</p>",
    ),
    true,
  ),
  of(
    "unseen: a filled recipe",
    mounted("__next", "Tea", "<header>Kitchen</header><main><h2>Tea</h2><p>Boil, pour, wait four minutes.</p></main>"),
    true,
  ),
  of(
    "unseen: a filled list",
    mounted("root", "Stops", "<ul><li>Gate</li><li>Bridge</li><li>Mill</li><li>Harbour</li></ul>"),
    true,
  ),
  of(
    "unseen: a filled page while some of it waits",
    mounted(
      "app",
      "Weather",
      "<h1>Weather</h1><p>Dry until evening, eleven degrees.</p><div class='skeleton'></div><p>Loading map…</p>",
    ),
    true,
  ),
  of(
    "unseen: a skeleton of tabs",
    mounted(
      "root",
      "Wallet",
      "<header>Wallet</header><nav>Home Pay Cards</nav><div class='MuiSkeleton-root'></div><p>Please wait while we load your cards...</p>",
    ),
    false,
  ),
  of(
    "unseen: a skeleton in French",
    mounted("root", "Compte", "<header>Compte</header><p>Chargement de vos commandes…</p>"),
    false,
  ),
  of(
    "unseen: a skeleton's footer",
    mounted("__next", "Jobs", "<div aria-busy='true'></div><footer>Imprint Privacy</footer>"),
    false,
  ),
  of("unseen: a bare mount", page("<title>Go</title>", `<main id="app"><h2>Go</h2></main>${SCRIPTS}`), false),
  of(
    "unseen: a wall that waits",
    plain(
      "One moment, please...",
      "<h1>One moment, please...</h1><p>Please wait while your request is being verified...</p>",
    ),
    false,
  ),
  of(
    "unseen: a wall of cookies",
    plain(
      "example.com",
      "<p>Please enable cookies. Checking your browser before accessing example.com. This process is automatic. Your browser will redirect to your requested content shortly. Ray ID: 12ab34cd</p>",
    ),
    false,
  ),
  of(
    "unseen: a wall of an office",
    plain(
      "Security",
      "<p>Your access to this site has been limited by the site owner. Your access has been blocked. If you think you have been blocked in error, contact the owner of this site for assistance.</p>",
    ),
    false,
  ),
  of(
    "unseen: a wall in Portuguese",
    plain(
      "Verificação",
      "<h1>Só mais um passo</h1><p>Confirme que você não é um robô para continuar. Se o problema persistir, fale com o suporte.</p>",
    ),
    false,
  ),
  of(
    "unseen: a wall for subscribers",
    plain(
      "Paper",
      "<h1>Tolls will rise in May</h1><p>The council voted nine to four.</p><p>This content is for subscribers only. Subscribe to read the full story, or log in to continue.</p>",
    ),
    false,
  ),
  of(
    "unseen: a wall of a service",
    plain(
      "Human Verification",
      "<h1>Let's confirm you are human</h1><p>Complete the security check before continuing. This step verifies that you are not a bot, which helps to protect your account.</p>",
    ),
    false,
  ),
];

export const CLASSES: readonly LabelledPage[] = [...SKELETONS, ...FILLED, ...MENTIONS, ...WORDY_WALLS, ...UNSEEN];
