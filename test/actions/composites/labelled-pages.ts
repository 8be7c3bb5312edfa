// Pages of which it is known what they are: walls, empty shells, short ones and long ones, in twenty languages and as services make them.

export interface LabelledPage {
  readonly name: string;
  readonly html: string;
  readonly status: number;
  /** Whether there is something to read on it. */
  readonly isPage: boolean;
}

interface Language {
  /** A sentence of an article. */
  readonly sentence: string;
  /** A short page of a shop or an office. */
  readonly short: string;
  /** As a check of browsers says it. */
  readonly human: string;
  /** As a server says it that turns somebody away. */
  readonly denied: string;
  /** As a site says it that wants an account. */
  readonly login: string;
  /** As an application says it that has not begun. */
  readonly script: string;
  readonly loading: string;
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  en: {
    sentence:
      "The old bridge was paid for by those who crossed it, and the book of the keeper still lies in the archive.",
    short: "Our office is open from nine to five. Call us on 555 0100.",
    human:
      "Verifying you are human. This may take a few seconds. example.com needs to review the security of your connection before proceeding.",
    denied: "Access Denied. You don't have permission to access this resource on this server.",
    login: "Please log in to continue reading this article.",
    script: "You need to enable JavaScript to run this app.",
    loading: "Loading...",
  },
  de: {
    sentence:
      "Die alte Brücke wurde von denen bezahlt, die sie überquerten, und das Buch des Wärters liegt noch im Archiv.",
    short: "Unser Büro ist von neun bis fünf geöffnet. Rufen Sie uns an.",
    human:
      "Bestätigen Sie, dass Sie ein Mensch sind, indem Sie die folgende Aktion ausführen. Die Sicherheit Ihrer Verbindung wird überprüft.",
    denied: "Zugriff verweigert. Sie haben keine Berechtigung, auf diese Seite zuzugreifen.",
    login: "Bitte melden Sie sich an, um weiterzulesen.",
    script: "Bitte JavaScript aktivieren, um diese Anwendung zu nutzen.",
    loading: "Wird geladen…",
  },
  fr: {
    sentence:
      "Le vieux pont fut payé par ceux qui le traversaient, et le livre du gardien se trouve encore aux archives.",
    short: "Notre bureau est ouvert de neuf heures à dix-sept heures. Appelez-nous.",
    human:
      "Vérifiez que vous êtes humain en effectuant l'action ci-dessous. La sécurité de votre connexion doit être examinée.",
    denied: "Accès refusé. Vous n'avez pas l'autorisation d'accéder à cette page.",
    login: "Connectez-vous pour lire la suite de cet article.",
    script: "Veuillez activer JavaScript : activez JavaScript pour utiliser cette application.",
    loading: "Chargement...",
  },
  es: {
    sentence: "El viejo puente lo pagaron quienes lo cruzaban, y el libro del guarda sigue guardado en el archivo.",
    short: "Nuestra oficina abre de nueve a cinco. Llámenos cuando quiera.",
    human:
      "Verifica que eres un humano completando la acción siguiente. Es necesario revisar la seguridad de tu conexión.",
    denied: "Acceso denegado. No tiene permiso para acceder a este recurso.",
    login: "Inicia sesión para seguir leyendo.",
    script: "Activa JavaScript para usar esta aplicación.",
    loading: "Loading…",
  },
  pt: {
    sentence: "A velha ponte foi paga por quem a atravessava, e o livro do guarda ainda está no arquivo da cidade.",
    short: "O nosso escritório abre das nove às cinco. Ligue para nós.",
    human: "Confirme que você é humano realizando a ação abaixo. Verificação de segurança em andamento.",
    denied: "Acesso negado. Você não tem permissão para acessar esta página.",
    login: "Faça login para continuar lendo.",
    script: "Habilite JavaScript para executar este aplicativo.",
    loading: "Carregando...",
  },
  it: {
    sentence:
      "Il vecchio ponte fu pagato da chi lo attraversava, e il libro del custode si trova ancora nell'archivio.",
    short: "Il nostro ufficio è aperto dalle nove alle cinque. Chiamateci.",
    human: "Verifica che sei umano completando l'azione seguente. Controllo di sicurezza in corso.",
    denied: "Accesso negato. Non hai l'autorizzazione per accedere a questa pagina.",
    login: "Accedi per continuare a leggere l'articolo.",
    script: "Attiva JavaScript per usare questa applicazione.",
    loading: "Caricamento...",
  },
  nl: {
    sentence: "De oude brug werd betaald door wie haar overstak, en het boek van de wachter ligt nog in het archief.",
    short: "Ons kantoor is open van negen tot vijf. Bel ons gerust.",
    human: "Bevestig dat u een mens bent door de onderstaande actie uit te voeren. Beveiligingscontrole.",
    denied: "Toegang geweigerd. U hebt geen toestemming om deze pagina te bekijken.",
    login: "Log in om verder te lezen.",
    script: "JavaScript is required: you need to enable JavaScript to run this app.",
    loading: "Loading",
  },
  sv: {
    sentence: "Den gamla bron betalades av dem som gick över den, och vaktens bok ligger ännu kvar i arkivet.",
    short: "Vårt kontor är öppet från nio till fem. Ring oss gärna.",
    human: "Bekräfta att du är människa genom att slutföra åtgärden nedan. Säkerhetskontroll pågår.",
    denied: "Åtkomst nekad. Du har inte behörighet att visa den här sidan.",
    login: "Logga in för att läsa vidare.",
    script: "Aktivera JavaScript för att köra appen.",
    loading: "Loading...",
  },
  pl: {
    sentence: "Stary most opłacili ci, którzy przez niego przechodzili, a księga strażnika wciąż leży w archiwum.",
    short: "Nasze biuro jest czynne od dziewiątej do piątej. Zapraszamy.",
    human: "Potwierdź, że jesteś człowiekiem, wykonując poniższą czynność. Kontrola bezpieczeństwa.",
    denied: "Odmowa dostępu. Nie masz uprawnień do wyświetlenia tej strony.",
    login: "Zaloguj się, aby czytać dalej.",
    script: "Włącz JavaScript, aby uruchomić tę aplikację.",
    loading: "Ładowanie...",
  },
  cs: {
    sentence: "Starý most zaplatili ti, kdo po něm přecházeli, a kniha strážce dosud leží v městském archivu.",
    short: "Naše kancelář je otevřena od devíti do pěti. Zavolejte nám.",
    human: "Ověřte, že jste člověk, provedením níže uvedené akce. Bezpečnostní kontrola.",
    denied: "Přístup byl odepřen. Nemáte oprávnění k zobrazení této stránky.",
    login: "Přihlaste se a čtěte dál.",
    script: "You need to enable JavaScript to run this app.",
    loading: "Loading…",
  },
  fi: {
    sentence: "Vanhan sillan maksoivat ne, jotka sen ylittivät, ja vartijan kirja on yhä kaupungin arkistossa.",
    short: "Toimistomme on avoinna yhdeksästä viiteen. Soita meille.",
    human: "Vahvista, että olet ihminen, suorittamalla alla oleva toimi. Turvatarkistus.",
    denied: "Pääsy estetty. Sinulla ei ole oikeutta nähdä tätä sivua.",
    login: "Kirjaudu sisään jatkaaksesi lukemista.",
    script: "Ota JavaScript käyttöön.",
    loading: "Loading...",
  },
  ru: {
    sentence: "Старый мост оплатили те, кто по нему проходил, а книга сторожа до сих пор лежит в городском архиве.",
    short: "Наш офис открыт с девяти до пяти. Позвоните нам.",
    human: "Подтвердите, что вы человек, выполнив указанное действие. Проверка безопасности соединения.",
    denied: "Доступ запрещён. У вас нет прав на просмотр этой страницы.",
    login: "Войдите, чтобы читать дальше.",
    script: "Включите JavaScript, чтобы запустить приложение.",
    loading: "Загрузка...",
  },
  uk: {
    sentence: "Старий міст оплатили ті, хто по ньому проходив, а книга сторожа й досі лежить у міському архіві.",
    short: "Наш офіс відчинено з дев'ятої до п'ятої. Телефонуйте.",
    human: "Підтвердьте, що ви людина, виконавши дію нижче. Перевірка безпеки з'єднання.",
    denied: "Доступ заборонено. У вас немає прав на перегляд цієї сторінки.",
    login: "Увійдіть, щоб читати далі.",
    script: "Увімкніть JavaScript, щоб запустити застосунок.",
    loading: "Завантаження...",
  },
  el: {
    sentence: "Την παλιά γέφυρα την πλήρωσαν όσοι τη διέσχιζαν, και το βιβλίο του φύλακα βρίσκεται ακόμη στο αρχείο.",
    short: "Το γραφείο μας είναι ανοιχτό από τις εννέα ως τις πέντε.",
    human: "Επαληθεύστε ότι είστε άνθρωπος ολοκληρώνοντας την παρακάτω ενέργεια. Έλεγχος ασφαλείας.",
    denied: "Δεν επιτρέπεται η πρόσβαση σε αυτή τη σελίδα.",
    login: "Συνδεθείτε για να συνεχίσετε την ανάγνωση.",
    script: "You need to enable JavaScript to run this app.",
    loading: "Loading...",
  },
  tr: {
    sentence: "Eski köprünün parasını üzerinden geçenler ödedi ve bekçinin defteri hâlâ şehir arşivinde duruyor.",
    short: "Ofisimiz dokuzdan beşe kadar açıktır. Bizi arayın.",
    human: "Aşağıdaki işlemi tamamlayarak insan olduğunuzu doğrulayın. Güvenlik kontrolü.",
    denied: "Erişim engellendi. Bu sayfayı görüntüleme izniniz yok.",
    login: "Okumaya devam etmek için giriş yapın.",
    script: "Bu uygulama için JavaScript'i etkinleştirin.",
    loading: "Yükleniyor...",
  },
  ar: {
    sentence: "دفع ثمن الجسر القديم من عبروا عليه، ولا يزال دفتر الحارس محفوظا في أرشيف المدينة حتى اليوم.",
    short: "مكتبنا مفتوح من التاسعة حتى الخامسة. اتصل بنا.",
    human: "تحقق من أنك إنسان بإكمال الإجراء أدناه. فحص أمني للاتصال.",
    denied: "تم رفض الوصول. ليس لديك إذن لعرض هذه الصفحة.",
    login: "تسجيل الدخول للمتابعة في القراءة.",
    script: "You need to enable JavaScript to run this app.",
    loading: "جار التحميل...",
  },
  he: {
    sentence: "את הגשר הישן מימנו אלה שחצו אותו, וספרו של השומר עדיין מונח בארכיון העיר עד היום הזה.",
    short: "המשרד שלנו פתוח מתשע עד חמש. התקשרו אלינו.",
    human: "אמת שאתה אנושי על ידי השלמת הפעולה שלהלן. בדיקת אבטחה.",
    denied: "הגישה נדחתה. אין לך הרשאה לצפות בדף זה.",
    login: "התחבר כדי להמשיך לקרוא.",
    script: "You need to enable JavaScript to run this app.",
    loading: "Loading...",
  },
  zh: {
    sentence: "那座老桥是由过桥的人出钱修建的，守桥人的账簿至今仍保存在城市档案馆里，供人查阅。",
    short: "本办公室营业时间为九点至五点，欢迎来电咨询。",
    human: "请完成以下操作，验证您是真人。正在进行安全检查。",
    denied: "访问被拒绝。您没有权限查看此页面。",
    login: "请登录后继续阅读。",
    script: "请启用 JavaScript 以运行此应用。",
    loading: "加载中...",
  },
  ja: {
    sentence: "古い橋は渡る人々の通行料で建てられ、番人の帳簿は今も市の文書館に大切に保管されている。",
    short: "営業時間は九時から五時までです。お電話ください。",
    human: "以下の操作を完了して、人間であることを確認してください。セキュリティチェックを行っています。",
    denied: "アクセスが拒否されました。このページを表示する権限がありません。",
    login: "続きを読むにはログインしてください。",
    script: "JavaScriptを有効にしてください。",
    loading: "読み込み中...",
  },
  ko: {
    sentence: "오래된 다리는 건너는 사람들이 낸 돈으로 지어졌고, 문지기의 장부는 지금도 시 기록관에 보관되어 있다.",
    short: "저희 사무실은 아홉 시부터 다섯 시까지 엽니다.",
    human: "아래 작업을 완료하여 사람인지 확인하십시오. 보안 확인을 수행하고 있습니다.",
    denied: "접근이 거부되었습니다. 이 페이지를 볼 권한이 없습니다.",
    login: "계속 읽으려면 로그인하세요.",
    script: "JavaScript를 활성화하세요. You need to enable JavaScript to run this app.",
    loading: "로딩 중...",
  },
  vi: {
    sentence:
      "Cây cầu cũ được xây bằng tiền của những người đi qua, và cuốn sổ của người gác vẫn nằm trong kho lưu trữ.",
    short: "Văn phòng mở cửa từ chín giờ đến năm giờ. Hãy gọi cho chúng tôi.",
    human: "Xác minh bạn là con người bằng cách hoàn tất thao tác bên dưới. Kiểm tra bảo mật.",
    denied: "Truy cập bị từ chối. Bạn không có quyền xem trang này.",
    login: "Vui lòng đăng nhập để đọc tiếp.",
    script: "You need to enable JavaScript to run this app.",
    loading: "Đang tải...",
  },
  th: {
    sentence: "สะพานเก่าสร้างขึ้นด้วยเงินของผู้ที่เดินข้าม และสมุดบัญชีของผู้เฝ้าสะพานยังเก็บไว้ในหอจดหมายเหตุของเมือง",
    short: "สำนักงานของเราเปิดตั้งแต่เก้าโมงถึงห้าโมงเย็น โทรหาเราได้",
    human: "ยืนยันว่าคุณเป็นมนุษย์โดยดำเนินการด้านล่างให้เสร็จสิ้น การตรวจสอบความปลอดภัย",
    denied: "การเข้าถึงถูกปฏิเสธ คุณไม่มีสิทธิ์ดูหน้านี้",
    login: "โปรดเข้าสู่ระบบเพื่ออ่านต่อ",
    script: "You need to enable JavaScript to run this app.",
    loading: "กำลังโหลด...",
  },
};

const page = (head: string, body: string, lang = "en") =>
  `<!doctype html><html lang="${lang}"><head><meta charset="utf-8">${head}</head><body>${body}</body></html>`;
const app = (body: string, noscript: string) =>
  page(
    "<title>App</title>",
    `<noscript>${noscript}</noscript><div id="root">${body}</div><script src="/static/main.js"></script>`,
  );

function paragraphs(sentence: string, charsMin: number): string {
  const count = Math.ceil(charsMin / sentence.length);
  return Array.from({ length: Math.ceil(count / 4) }, () => `<p>${`${sentence} `.repeat(4)}</p>`).join("");
}

function pagesIn(lang: string, words: Language): LabelledPage[] {
  const { sentence, short, human, denied, login, script, loading } = words;
  const of = (name: string, html: string, isPage: boolean, status = 200) => ({
    name: `${lang} ${name}`,
    html,
    isPage,
    status,
  });
  const long = paragraphs(sentence, 1_500);
  const around = `<header><nav><a href="/">1</a><a href="/2">2</a></nav></header>`;
  return [
    of(
      "article",
      page(`<title>${short}</title>`, `${around}<article><h1>${short}</h1>${long}</article><footer>©</footer>`, lang),
      true,
    ),
    of("short page", page("<title>1</title>", `<h1>1</h1><p>${short}</p>`, lang), true),
    of(
      "short page with a script for counting",
      page("<title>1</title>", `<p>${short}</p><script async src="/count.js"></script>`, lang),
      true,
    ),
    of(
      "check of the browser",
      page("<title>example.com</title>", `<h1>example.com</h1><p>${human}</p><script src="/x.js"></script>`, lang),
      false,
    ),
    of("check of the browser, status 403", page("<title>example.com</title>", `<p>${human}</p>`, lang), false, 403),
    of(
      "denial with status 200",
      page("<title>403</title>", `<h1>${denied}</h1><hr><p>Reference #18.2f</p>`, lang),
      false,
    ),
    of(
      "login wall",
      page("<title>1</title>", `<h2>${short}</h2><p>${login}</p><form><input name="u"><input name="p"></form>`, lang),
      false,
    ),
    of(
      "article about walls",
      page("<title>1</title>", `<article>${long}<p>${human} ${denied} ${login}</p>${long}</article>`, lang),
      true,
    ),
    of("empty app", app("", script), false),
    of("loading app", app(`<div>${loading}</div>`, script), false),
    of("app that its server has filled", app(`<main>${long}</main>`, script), true),
    of(
      "list of links",
      page(
        "<title>1</title>",
        `<ul>${Array.from({ length: 30 }, (_, n) => `<li><a href="/${n}">${short} ${n}</a></li>`).join("")}</ul>`,
        lang,
      ),
      true,
    ),
  ];
}

/** As services make them, whose words are English wherever they stand. */
const SERVICES: readonly LabelledPage[] = [
  [
    "managed challenge",
    page(
      "<title>Just a moment...</title>",
      '<noscript><span id="challenge-error-text">Enable JavaScript and cookies to continue</span></noscript><script>window._cf_chl_opt={}</script>',
    ),
    false,
    403,
  ],
  [
    "managed challenge with 200",
    page(
      "<title>Just a moment...</title>",
      "<p>Enable JavaScript and cookies to continue</p><script>window._cf_chl_opt={}</script>",
    ),
    false,
    200,
  ],
  [
    "ray id block",
    page(
      "<title>Attention Required!</title>",
      "<h1>Sorry, you have been blocked</h1><p>You are unable to access example.com. Why have I been blocked? This website is using a security service to protect itself from online attacks.</p>",
    ),
    false,
    200,
  ],
  [
    "press and hold",
    page(
      "<title>Access to this page has been denied</title>",
      '<div id="px-captcha"></div><p>Press & Hold to confirm you are a human (and not a bot).</p>',
    ),
    false,
    200,
  ],
  [
    "slider",
    page(
      "<title>example.com</title>",
      '<script src="https://geo.captcha-delivery.com/captcha/x.js"></script><p>Please enable JS and disable any ad blocker</p>',
    ),
    false,
    200,
  ],
  [
    "incident",
    page("", '<iframe src="/_Incapsula_Resource?x=1"></iframe><p>Request unsuccessful. Incident ID: 1234</p>'),
    false,
    200,
  ],
  [
    "edge denial",
    page(
      "<title>Access Denied</title>",
      "<h1>Access Denied</h1>You don't have permission to access this on this server.<p>Reference #18.abc</p>",
    ),
    false,
    200,
  ],
  [
    "unusual traffic",
    page(
      "<title>Sorry...</title>",
      "<p>Our systems have detected unusual traffic from your computer network. Please try your request again later.</p>",
    ),
    false,
    200,
  ],
  [
    "rate",
    page(
      "<title>429</title>",
      "<h1>Too Many Requests</h1><p>You have sent too many requests in a given amount of time.</p>",
    ),
    false,
    429,
  ],
  ["rate with 200", page("<title>Slow down</title>", "<h1>Too Many Requests</h1>"), false, 200],
  [
    "pardon",
    page(
      "<title>Pardon Our Interruption</title>",
      "<p>As you were browsing something about your browser made us think you were a bot.</p>",
    ),
    false,
    200,
  ],
  [
    "robot or human",
    page(
      "<title>Robot or human?</title>",
      "<p>Activate and hold the button to confirm that you're human. Thank you!</p>",
    ),
    false,
    200,
  ],
  [
    "captcha form",
    page(
      "<title>Verify</title>",
      '<form action="/captcha"><div class="g-recaptcha" data-sitekey="x"></div></form><p>Please complete the captcha below.</p>',
    ),
    false,
    200,
  ],
  [
    "token page",
    page(
      "",
      "<script>window.gokuProps={};</script><script src='https://x.awswaf.com/challenge.js'></script><noscript><h1>JavaScript is disabled</h1>In order to continue, we need to verify that you're not a robot.</noscript>",
    ),
    false,
    202,
  ],
  ["not found", page("<title>404</title>", "<h1>Page not found</h1><p>It may have moved.</p>"), false, 404],
  ["server error", page("<title>500</title>", "<h1>Internal Server Error</h1>"), false, 500],
  ["nothing at all", "", false, 200],
  ["empty body", page("<title>1</title>", ""), false, 200],
  [
    "only navigation by script",
    page("<title>1</title>", '<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{}</script>'),
    false,
    200,
  ],
  ["nuxt shell", page("<title>1</title>", '<div id="__nuxt"></div><script>window.__NUXT__={}</script>'), false, 200],
  ["angular shell", page("<title>1</title>", "<app-root></app-root><script src='main.js'></script>"), false, 200],
  [
    "paywall stub",
    page("<title>News</title>", "<h1>Markets fall</h1><p>Shares fell today.</p><p>Subscribe to continue reading.</p>"),
    false,
    200,
  ],
  [
    "contact form with a check",
    page(
      "<title>Contact</title>",
      '<h1>Contact</h1><p>Write to us, or visit 1 Bridge Street. We answer within two days.</p><form><textarea></textarea><div class="g-recaptcha" data-sitekey="k"></div></form><script src="https://www.google.com/recaptcha/api.js"></script>',
    ),
    true,
    200,
  ],
  [
    "example.com",
    page(
      "<title>Example Domain</title>",
      "<div><h1>Example Domain</h1><p>This domain is for use in documentation examples without needing permission.</p><p><a href='/more'>Learn more</a></p></div>",
    ),
    true,
    200,
  ],
  [
    "plain old page",
    "<html><head><title>cgi</title></head><body bgcolor=white><center>Welcome to my homepage<br>Last change: 1998</center></body></html>",
    true,
    200,
  ],
  [
    "page of a table",
    page("<title>Prices</title>", `<table>${"<tr><td>Toll</td><td>2.00</td></tr>".repeat(40)}</table>`),
    true,
    200,
  ],
  [
    "cookie banner and text",
    page(
      "<title>A</title>",
      `<div role="dialog"><p>We use cookies.</p></div><main>${paragraphs("Tolls are paid at the gate.", 1_500)}</main>`,
    ),
    true,
    200,
  ],
  ["code", page("<title>Code</title>", `<pre><code>${"const toll = 2;\n".repeat(100)}</code></pre>`), true, 200],
  [
    "login documentation",
    page(
      "<title>How to sign in</title>",
      `<article><h1>How to sign in</h1>${paragraphs("Open the settings, choose your provider and press the button that you see there.", 1_500)}<p>Please sign in.</p></article>`,
    ),
    true,
    200,
  ],
  [
    "short with a login link around it",
    page(
      "<title>Hours</title>",
      "<header><a href='/login'>Log in</a></header><p>Open from nine to five, closed on Sunday.</p>",
    ),
    true,
    200,
  ],
].map(([name, html, isPage, status]) => ({ name, html, isPage, status }) as LabelledPage);

export const LABELLED: readonly LabelledPage[] = [
  ...Object.entries(LANGUAGES).flatMap(([lang, words]) => pagesIn(lang, words)),
  ...SERVICES,
];
