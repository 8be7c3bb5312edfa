// Pages by several authors: forum threads, questions with their answers.
import { type CorpusPage, Draft } from "./draft.ts";
import { codeBlock } from "./kinds-technical.ts";
import { framed } from "./layouts.ts";

function post(draft: Draft, at: number, style: number): string {
  const [name, date] = [`${draft.name()} ${at}`, draft.date()];
  draft.must.push(name, date);
  const text = draft.paragraphs(draft.chance.whole(1, 2));
  const controls = `<ul class="post-controls"><li><button>Like</button></li><li><a href="#r${at}">Reply</a></li></ul>`;
  const styles = [
    `<article class="topic-post" data-post="${at}"><div class="topic-meta-data"><span class="username"><a href="/u/${at}">${name}</a></span><time datetime="2024-01-01">${date}</time></div><div class="cooked">${text}</div>${controls}</article>`,
    `<div class="post has-profile" id="p${at}"><dl class="postprofile"><dt><a class="username" href="/u/${at}">${name}</a></dt><dd>Posts: ${at}</dd></dl><div class="postbody"><p class="author">${date}</p><div class="content">${text}</div></div></div>`,
    `<li class="comment depth-1" id="comment-${at}"><div class="comment-author vcard"><b class="fn">${name}</b></div><div class="comment-meta"><a href="#c">${date}</a></div><div class="comment-content">${text}</div></li>`,
    `<div class="css-p0s7"><div class="css-4u7h"><span>${name}</span> · <span>${date}</span></div><div class="css-b0dy">${text}</div></div>`,
  ];
  return styles[style % styles.length] ?? "";
}

export function forum(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const posts = Array.from({ length: draft.chance.whole(2, 9) }, (_, one) => post(draft, one, at)).join("\n");
  const list = at % 4 === 2 ? `<ol class="comment-list">${posts}</ol>` : `<div class="posts">${posts}</div>`;
  const main = `${list}<p class="hint">You must be logged in to reply.</p>`;
  // The layout of articles has a place for one author; a forum has none.
  return draft.end({
    kind: "forum",
    name: `forum-${at}`,
    html: framed(draft, [1, 3, 4, 5, 7][at % 5] ?? 1, { title: draft.title(), main, container: "div" }),
  });
}

export function questions(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const signed = () => {
    const [name, date] = [draft.name(), draft.date()];
    draft.must.push(name, date);
    return `<div class="user-info"><a href="/users/1">${name}</a> <span class="relativetime">${date}</span></div>`;
  };
  const body = () => `<div class="s-prose js-post-body">${draft.paragraphs(1)}${codeBlock(draft)}</div>`;
  const answer = () =>
    `<div class="answer"><div class="votecell"><button>up</button><span>${draft.chance.whole(0, 90)}</span></div>${body()}${signed()}<ul class="comments-list"><li class="comment"><span class="comment-copy">${draft.wanted()}</span></li></ul></div>`;
  const main = `<div id="question" class="question">${body()}${signed()}</div><div id="answers"><h2>Answers</h2>${answer()}${answer()}</div>`;
  return draft.end({
    kind: "questions",
    name: `questions-${at}`,
    html: framed(draft, [1, 2, 3, 4, 7][at % 5] ?? 1, { title: `${draft.title()}?`, main, container: "div" }),
  });
}
