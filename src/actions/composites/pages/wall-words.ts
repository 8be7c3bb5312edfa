// Words, in many languages, and code marks of pages that turn readers away or only wait for a script.

/** Code marks of pages that demand proof of a person; found nowhere else. */
const WALL_MARKS =
  /\b_?cf[-_]chl[-_]|\/cdn-cgi\/challenge-platform\/h\/|id="px-captcha"|_pxAppId|captcha-delivery\.com|_Incapsula_Resource|awsWafCookieDomainList|gokuProps|\/akam-sw|sec-if-cpt-container|kpsdk|ak-challenge|ddos-guard\/js-challenge|geo\.captcha/i;
const CAPTCHA_CALLBACK = /data-callback="?(?:onCaptcha|captchaPassed)/i;

/** Whether a page's code demands proof of a person. Looks at each tag once. */
export function hasWallMark(html: string, tags: readonly string[]): boolean {
  if (WALL_MARKS.test(html)) return true;
  return tags.some((tag) => /data-sitekey/i.test(tag) && CAPTCHA_CALLBACK.test(tag));
}

/** Phrases that only walls use; for languages other than English, the most common ones. */
export const WALL_PHRASES: readonly RegExp[] = [
  /just a moment\.\.\.|one moment, please\.\.\.|request is being verified|checking (if the site connection|your browser)|attention required!|pardon our interruption|access to this page has been denied/gi,
  /\bpress (and|&) hold\b|unusual traffic from|made us think (that )?you were a bot|\bthe characters you see\b|(complete|solve) (the|this) captcha|enable javascript and cookies to continue/gi,
  /(you['’]re|(you|we|they) are|are you|is) (not )?a (robot|bot)\b|\bnot a (robot|bot)\b|\brobot or human\b/gi,
  /(prove|verify|verifying|verifies|confirm) (that )?you(['’]re| are) (a |indeed )?(real )?(human|person)|human verification/gi,
  /\baccess (is |was |has been )?denied|you(['’]ve| have| were)( been)? blocked( by mistake)?|request (was |has been )?(blocked|rejected)|requested url was rejected|error 1020|do(n['’]t| not) have permission to (access|view)/gi,
  /\bray id\b|performance (&|and) security by|triggered the security solution|protect itself from online attacks|\breference #? ?\d[\da-f.]*|\bincident id\b|\bsupport id is\b|blocked by network security/gi,
  /(sign|log) ?in (to|or create an account to) (continue( reading)?|view|read|see (this|the|more|all))|subscribe to (continue( reading)?|read)|this content is for (members|subscribers)/gi,
  // German, Dutch, Swedish, Danish, Norwegian
  /\b(kein|ein) (roboter|bot)\b|zugriff (wurde )?(verweigert|gesperrt|blockiert)|sicherheitsüberprüfung|dass sie ein mensch sind|melden sie sich an, um (fortzufahren|weiter)|anmelden, um|ungewöhnlichen datenverkehr/gi,
  /\bgeen robot\b|toegang (geweigerd|geblokkeerd)|dat u een mens bent|log in om( verder)?( te lezen)?|ongebruikelijk verkeer|beveiligingscontrole/gi,
  /\b(inte|ikke|ikkje) en? robot|åtkomst nekad|adgang nægtet|(ingen tilgang|tilgang nektet)|att du är (en )?människa|at du er (et )?menneske|logga in för att|log ind for at|logg inn for å|säkerhetskontroll|sikkerhedskontrol|sikkerhetskontroll/gi,
  // French, Spanish, Portuguese, Italian, Romanian
  /\b(pas|un) robot\b|accès (refusé|interdit|bloqué)|que vous êtes (un )?humain|connectez[ -]vous pour( lire( la suite)?)?|vérification de sécurité|trafic inhabituel/gi,
  /\b(no|un) (eres |soy )?(un )?robot\b|acceso (denegado|bloqueado|restringido)|que eres (un )?humano|que es (usted )?humano|inicia(r)? sesión para|comprobación de seguridad|verificación de seguridad|tráfico inusual/gi,
  /\bnão (é|sou) um robô( para continuar)?|acesso (negado|bloqueado|restrito)|que (você )?é (um )?humano|(faça|inicie) (o )?(login|sessão) para|verificação de segurança|tráfego incomum/gi,
  /\bnon (sei|sono) un robot|accesso (negato|bloccato|vietato)|che sei (un )?(umano|essere umano)|accedi per( (continuare|leggere)( a leggere)?)?|controllo di sicurezza|verifica di sicurezza|traffico insolito/gi,
  /\bnu (ești|sunteți|sunt) (un )?robot|acces (interzis|refuzat|blocat)|că ești om|autentific\S{1,12} pentru|verificare de securitate/gi,
  // Polish, Czech, Slovak, Hungarian, Finnish
  /\bnie jest(eś|em) robotem|dostęp (zabroniony|zablokowany)|odmowa dostępu|że jesteś człowiekiem|zaloguj się, aby|kontrola bezpieczeństwa|nietypowy ruch/gi,
  /\b(ne|nie) ?(jste|jsem|ste|som) robot|přístup (byl )?(odepřen|zamítnut|zablokován)|prístup (bol )?(zamietnutý|zablokovaný)|že jste člověk|že ste človek|přihlaste se|bezpečnostní kontrola|bezpečnostná kontrola/gi,
  /\bnem (vagy |ön )?robot|hozzáférés (megtagadva|letiltva)|hogy (ön )?ember|jelentkezz(en)? be|biztonsági ellenőrzés/gi,
  /\bet ole robotti|en ole robotti|pääsy (estetty|evätty|kielletty)|että olet ihminen|kirjaudu sisään|turvatarkistus/gi,
  // Russian, Ukrainian, Greek, Turkish
  /не робот|доступ (запрещ|ограничен|заблокирован|заборонен|обмежен)|что вы (не робот|человек)|що ви (не робот|людина)|(войдите|увійдіть), (чтобы|щоб)|проверка безопасности|перевірка безпеки|подозрительн\S{1,6} (трафик|активност)/gi,
  /δεν είστε ρομπότ|δεν είμαι ρομπότ|(άρνηση|απαγορεύ\S{1,12}|δεν επιτρέπεται) (η )?πρόσβασ|ότι είστε άνθρωπος|συνδεθείτε για|έλεγχος ασφαλείας/gi,
  /robot olmadığın|ben robot değilim|erişim (engellendi|reddedildi|yasak)|insan olduğun|giriş yap(ın|arak)|güvenlik (kontrolü|doğrulaması)|olağandışı trafik/gi,
  // Arabic, Hebrew, Hindi
  /لست روبوت|أنك (إنسان|لست)|تم (رفض|حظر|منع) (الوصول|وصولك)|الوصول مرفوض|سجل الدخول|تسجيل الدخول (للمتابعة|لعرض)|التحقق من الأمان|فحص أمني/g,
  /אינך רובוט|אני לא רובוט|הגישה (נדחתה|נחסמה)|שאתה (אדם|אנושי)|התחבר כדי|בדיקת אבטחה/g,
  /रोबोट नहीं|पहुँच (अस्वीकृत|अवरुद्ध|निषिद्ध)|एक्सेस (अस्वीकृत|ब्लॉक)|कि आप (इंसान|मनुष्य|मानव) हैं|(लॉग|साइन) इन करें|सुरक्षा जाँच/g,
  // Chinese, Japanese, Korean, Vietnamese, Thai, Indonesian
  /(不是|非)机器人|(不是|非)機器人|(访问|存取|訪問)(被拒绝|被拒絕|受限|已被禁止)|拒绝访问|拒絕存取|(确认|確認|证明|證明|验证|驗證)您?(是|为)?(真人|人类|人類)|安全(验证|驗證|检查|檢查)|请(先)?登录(后)?(继续)?(阅读|查看)?|請(先)?登入|异常流量/g,
  /ロボットではありません|アクセスが?(拒否|禁止|ブロック|制限)|人間であること|セキュリティ(チェック|確認)|ログイン(して|が必要)|通常と異なるトラフィック/g,
  /로봇이 아닙니다|로봇이 아님|(액세스|접근|접속)(가|이)? ?(거부|차단|제한)|사람인지 확인|보안 (확인|검사)|로그인(하세요|이 필요)|비정상적인 트래픽/g,
  /không phải (là )?(người máy|robot|rô-bốt)|(quyền )?truy cập bị (từ chối|chặn)|bạn là (con )?người|đăng nhập để|kiểm tra bảo mật|lưu lượng bất thường/gi,
  /ไม่ใช่(หุ่นยนต์|โปรแกรมอัตโนมัติ|บอท)|(การเข้าถึง)?ถูก(ปฏิเสธ|บล็อก)|(ยืนยัน|พิสูจน์)ว่าคุณเป็นมนุษย์|โปรดเข้าสู่ระบบ|การตรวจสอบความปลอดภัย/g,
  /bukan robot|akses (ditolak|diblokir|dibatasi)|bahwa anda (adalah )?manusia|masuk untuk (melanjutkan|melihat)|pemeriksaan keamanan|lalu lintas tidak biasa/gi,
];

/** Words about restricted access, which pages on other subjects use as well. */
export const WALL_WORDS: readonly RegExp[] = [
  /\bcaptcha\b|капч|验证码|驗證碼|キャプチャ|캡차|แคปช่า|كابتشا|कैप्चा/gi,
  /\b(403|401) (forbidden|unauthorized)\b|too many requests|rate limit(ed| exceeded)|\baccess (is |was |has been )?(forbidden|restricted|blocked)\b/gi,
  /automated (requests|access|queries)|bot (detection|protection)|ddos protection|security (check|verification)|unusual activity from/gi,
  /please (sign|log) ?in\b|(you must|need to) (be logged|log|sign) ?in/gi,
  /(bitte )?melden sie sich an/gi,
];

/** A longer line has real content. */
const LINE_CHARS_MAX = 200;

/** A short text with one of these waits for a script that we do not run. */
export const SHELL_WORDS =
  /(enable|requires?|turn on|need|without|doesn('|’)t work[a-z ]*) (to enable )?java ?script|java ?script (is |must be |to be )?(disabled|enabled|required|aktivieren|erforderlich)|javascript (aktivieren|erforderlich|activer|necesario|requerido)|(activez|activar|activa|habilite|habilita|attiva(re)?|włącz|aktivera|aktiver|ota) javascript|javascript('?i|'ı)? etkinleştir|(включите|увімкніть|вимкнено|отключен) javascript|(启用|啟用|开启)\s?java ?script|javascript\s?(を有効|を有効に|를 활성화|사용)|^(loading|please wait|wird geladen|bitte warten|chargement|cargando|carregando|caricamento|laden|ładowanie|загрузка|завантаження|yükleniyor|読み込み中|加载中|載入中|로딩 중|đang tải|กำลังโหลด|memuat|जारी है|جار التحميل|טוען)[\s.…]*$/i;

/** A line that stands in for content that has not loaded. */
const WAITING =
  /^(?:loading|please wait|just a (?:second|moment|minute)|getting things ready|wird geladen|bitte warten|chargement|cargando|carregando|caricamento|laden|ładowanie|загрузка|завантаження|yükleniyor|読み込み中|加载中|載入中|로딩 중|đang tải|กำลังโหลด|memuat|जारी है|جار التحميل|טוען)(?:$|[^\p{L}].{0,80}(?:…|\.\.\.)$|\p{L}{0,8}(?:…|\.\.\.)$)|^.{0,60}(?:wird|werden) geladen(?:…|\.\.\.)?$/iu;

export function isWaiting(line: string): boolean {
  return WAITING.test(line.slice(0, LINE_CHARS_MAX).trim());
}

const MOUNT =
  /^<(?:app-root|my-app|ion-app|(?:div|main|section)\b[^>]*\bid=["']?(?:root|app|__next|__nuxt|__gatsby|___gatsby|svelte|application|main-app|react-root|q-app|ember-app)["'\s>])/i;

export function hasMount(tags: readonly string[]): boolean {
  return tags.some((tag) => MOUNT.test(tag));
}

const CLASS = /\bclass=["']?([^"'>]*)/i;
const SKELETON_CLASS = /skeleton|shimmer|placeholder-(?:glow|wave)/i;
const BUSY = /\baria-busy=["']?true/i;

/** Whether a page shows a skeleton of content that has not loaded. */
export function hasSkeleton(tags: readonly string[]): boolean {
  return tags.some((tag) => BUSY.test(tag) || SKELETON_CLASS.test(CLASS.exec(tag)?.[1] ?? ""));
}
