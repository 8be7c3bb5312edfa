// Recognizes clutter by its words: headings of boxes that lead away from the page, and boilerplate lines.

/** Beginnings of headings of boxes that link elsewhere, beg for sign-ups, or invite comments. */
const HEADED =
  /^(?:related\b|you (?:may|might) also|customers (?:also|who)|people also|more from|more in\b|more on\b|recommended|read next|up next|trending|trends for you|who to follow|popular\b|most (?:read|popular|viewed)|recent posts|latest (?:posts|news)|hot network|share this|follow us|subscribe to (?:our|the)|sign up for|new to \S{1,20}\?|get our|join (?:our|my)|leave a (?:reply|comment)|post a comment|write a (?:comment|review|response)|your answer$|apply for this (?:job|position)|is this page|was this (?:page|article)|this (?:web)?site uses cookies|we (?:value|use)|das könnte|mehr zum|ähnliche|à lire aussi|articles similaires|artículos relacionados|también te|leia também|potrebbe|lees ook|läs också|czytaj też|читайте также|اقرأ أيض|関連記事|相关(?:文章|阅读)|관련 기사)/i;

const ADVERT =
  /^(?:advertisement|ad|sponsored|anzeige|werbung|publicidad|publicité|pubblicità|publicidade|advertentie|reklama|реклама|広告|广告|إعلان)$/i;
const COPYRIGHT = /^(?:©|\(c\)|copyright)\s?(?:©|\(c\))?\s?\d{4}\b/i;
const RIGHTS =
  /(?:all rights reserved|alle rechte vorbehalten|tous droits réservés|todos los derechos reservados|جميع الحقوق محفوظة|版权所有)\.?$/i;
/** Labels of links and buttons that do something. */
const PRESSED =
  /^(?:share|print|save|reply|permalink|follow|listen|report|log ?in|sign ?(?:in|up)|subscribe|add a comment|jump to recipe|print recipe|back to top|view all jobs|•••|\[–\]|\[-\])$/i;

/** Whether a heading belongs to a box that leads away from the page. */
export function leadsAway(heading: string): boolean {
  return HEADED.test(heading);
}

export function isLineOfClutter(line: string): boolean {
  return ADVERT.test(line) || PRESSED.test(line) || COPYRIGHT.test(line) || RIGHTS.test(line);
}
