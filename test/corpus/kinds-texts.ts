// Pages of prose: articles, news behind a stub, recipes, job ads, landing pages, long legal texts.
import { type CorpusPage, Draft } from "./draft.ts";
import { framed } from "./layouts.ts";
import { within } from "./surroundings.ts";

function figure(draft: Draft): string {
  const caption = draft.wanted();
  const file = `/img/${draft.word()}-${draft.chance.whole(1, 99)}.jpg`;
  draft.exact.push(`https://article.example${file}`);
  return draft.chance.of([
    `<figure><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="${file}" alt="A view"><figcaption>${caption}</figcaption></figure>`,
    `<figure class="wp-block-image"><img src="${file}" alt="A view"><figcaption>${caption}</figcaption></figure>`,
    `<figure><picture><source data-srcset="${file} 800w"><img data-srcset="${file} 800w, /img/small.jpg 200w" alt="A view"></picture><figcaption>${caption}</figcaption></figure>`,
  ]);
}

function quote(draft: Draft): string {
  const said = draft.wanted();
  draft.exact.push(`> ${said}`);
  return `<blockquote><p>${said}</p></blockquote>`;
}

function section(draft: Draft, count: number): string {
  const heading = draft.title();
  draft.exact.push(`## ${heading}`);
  return `<h2>${heading}</h2>${draft.paragraphs(count)}`;
}

export function article(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const [title, name] = [draft.title(), draft.name()];
  const facts = JSON.stringify({
    "@context": "https://schema.org",
    "@type": "Article",
    headline: title,
    author: { name },
    datePublished: "2024-05-06",
  });
  const head = `<script type="application/ld+json">${facts}</script>`;
  const main = [
    draft.paragraphs(2),
    figure(draft),
    section(draft, 2),
    within(draft),
    quote(draft),
    section(draft, 3),
    within(draft),
  ].join("\n");
  return draft.end({ kind: "article", name: `article-${at}`, html: framed(draft, at, { title, main, head }) });
}

export function paywalled(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const stub = draft.chance.of([
    `<div class="paywall"><h3>Subscribe to continue reading</h3><p>Already a subscriber? <a href="/login">Sign in</a></p></div>`,
    `<div class="gate"><p>This article is for subscribers. Choose a plan to read on.</p><a href="/plans">See plans</a></div>`,
    `<div class="css-8g7f6d"><p>You have 0 free articles left this month.</p></div>`,
  ]);
  const main = `<p class="dek">${draft.wanted()}</p>${draft.paragraphs(draft.chance.whole(2, 4))}${stub}`;
  return draft.end({ kind: "paywall", name: `paywall-${at}`, html: framed(draft, at, { title: draft.title(), main }) });
}

export function recipe(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const { chance } = draft;
  const parts = Array.from(
    { length: chance.whole(5, 10) },
    () => `${chance.whole(1, 900)} g of ${draft.word()} ${chance.of(["flour", "butter", "syrup", "seeds", "peel"])}`,
  );
  const steps = Array.from({ length: chance.whole(3, 6) }, () => draft.wanted());
  draft.must.push(...parts);
  draft.exact.push(`- ${parts[0]}`, `1. ${steps[0]}`);
  const list = chance.of([
    () =>
      `<ul class="ingredients">${parts.map((one) => `<li><label><input type="checkbox"> ${one}</label></li>`).join("")}</ul>`,
    () => `<ul>${parts.map((one) => `<li>${one}</li>`).join("\n")}</ul>`,
    () =>
      `<ul class="wprm-recipe">${parts.map((one) => `<li><span class="amount">${one.split(" g ")[0]}</span> <span class="unit">g</span> <span class="name">${one.split(" g ")[1]}</span></li>`).join("")}</ul>`,
  ])();
  const main = `${draft.paragraphs(1)}<h2>Ingredients</h2>${list}${within(draft)}<h2>Method</h2><ol>${steps.map((one) => `<li><p>${one}</p></li>`).join("")}</ol>`;
  return draft.end({ kind: "recipe", name: `recipe-${at}`, html: framed(draft, at, { title: draft.title(), main }) });
}

export function jobAd(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const facts = Object.entries({
    Location: draft.word(),
    Salary: `${draft.chance.whole(40, 99)},000 euros`,
    Hours: "36 a week",
  });
  draft.must.push(...facts.map(([name, value]) => `${name}: ${value}`));
  const duties = Array.from({ length: 5 }, () => `<li>${draft.wanted()}</li>`).join("");
  const summary = draft.chance.of([
    () => `<p>${facts.map(([name, value]) => `<strong>${name}:</strong> ${value}`).join("<br>")}</p>`,
    () => `<ul class="job-facts">${facts.map(([name, value]) => `<li><b>${name}:</b> ${value}</li>`).join("")}</ul>`,
    () => `<div class="job-header">${facts.map(([name, value]) => `<div>${name}: ${value}</div>`).join("")}</div>`,
  ])();
  const main = `${summary}<div class="job-description">${draft.paragraphs(1)}<h2>What you do</h2><ul>${duties}</ul><h2>What we offer</h2>${draft.paragraphs(1)}</div><a class="btn" href="/apply">Apply now</a>`;
  return draft.end({
    kind: "job",
    name: `job-${at}`,
    html: framed(draft, at, { title: draft.title(), main, container: "div" }),
  });
}

export function landing(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const feature = () =>
    `<div class="feature col"><i class="icon"></i><h3>${draft.title()}</h3><p>${draft.wanted()}</p></div>`;
  const plan = (name: string, price: number) =>
    `<div class="pricing-card"><h3>${name}</h3><div class="price">${price} euros a month</div><ul><li>${draft.wanted()}</li><li>${draft.wanted()}</li></ul></div>`;
  const [low, high] = [draft.chance.whole(5, 20), draft.chance.whole(30, 90)];
  draft.must.push(`${low} euros a month`, `${high} euros a month`);
  const main = [
    `<section class="hero"><p class="lead">${draft.wanted()}</p><a class="btn" href="/start">Start now</a></section>`,
    `<section class="features"><div class="grid">${feature()}${feature()}${feature()}</div></section>`,
    `<section class="testimonials"><blockquote>${draft.wanted()}</blockquote></section>`,
    `<section class="pricing">${plan("Small", low)}${plan("Large", high)}</section>`,
  ].join("\n");
  return draft.end({
    kind: "landing",
    name: `landing-${at}`,
    html: framed(draft, at, { title: draft.title(), main, container: "div" }),
  });
}

export function legal(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  // A text about walls and banners is not one itself.
  const about = [
    "We use cookies to keep you signed in, and you must log in to change them.",
    "Automated requests are refused with a rate limit and a captcha, and access may be denied.",
  ];
  draft.must.push(...about);
  const part = (number: number) =>
    `<h2>${number}. ${draft.title()}</h2><ol type="a"><li>${draft.paragraph()}</li><li>${draft.paragraph()}</li></ol>${draft.paragraphs(2)}`;
  const main = `${part(1)}<h2>2. Cookies</h2><p>${about[0]}</p>${part(3)}<h2>4. Automated use</h2><p>${about[1]}</p>${Array.from({ length: 8 }, (_, more) => part(more + 5)).join("\n")}`;
  return draft.end({
    kind: "legal",
    name: `legal-${at}`,
    html: framed(draft, at, { title: draft.title(), main, container: at % 2 === 0 ? "div" : "article" }),
  });
}
