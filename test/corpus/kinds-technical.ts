// Pages with structure: documentation, references, changelogs, tables of figures, products.
import { type CorpusPage, Draft, escaped } from "./draft.ts";
import { framed } from "./layouts.ts";
import { within } from "./surroundings.ts";

const LANGUAGES = ["ts", "python", "bash", "go", "yaml", "html"] as const;

function codeOf(draft: Draft, language: string): string {
  const [name, count] = [draft.word(), draft.chance.whole(2, 90)];
  const code: Record<string, string> = {
    ts: `export function ${name}_total(a: Map<string, number>): number {\n  // a_b * c_d, never [x](y)\n  return a.get("${name}") ?? ${count};\n}`,
    python: `def __${name}__(self, *args):\n    if args[0] < ${count} and not self._ok:\n        return f"{args!r}"\n\n    return None`,
    bash: `for f in *_${name}.txt; do\n\techo "$f" | sed 's/a*/b_/g' > "out/\${f%.txt}"\ndone # ${count}`,
    go: `func ${name}(in <-chan int) []*T {\n\tfor i := range in {\n\t\t_ = i &^ ${count}\n\t}\n\treturn nil\n}`,
    yaml: `# ${name}\n- name: '*_${name}'\n  size: ${count}\n  on:\n    - push`,
    html: `<div class="${name}">\n  <p>a &amp; b</p>\n</div> <!-- ${count} -->`,
  };
  return code[language] ?? name;
}

const spans = (code: string) =>
  escaped(code)
    .replace(/(\w{4,})/g, '<span class="n">$1</span>')
    .replace(/&<span class="n">(\w+)<\/span>;/g, "&$1;");
const lines = (code: string) =>
  escaped(code)
    .split("\n")
    .map((line) => `<span class="line"><span style="color:#123">${line}</span></span>`)
    .join("\n");

export function codeBlock(draft: Draft): string {
  const language = draft.chance.of(LANGUAGES);
  const code = codeOf(draft, language);
  const fenced = `\`\`\`${language}\n${code}\n\`\`\``;
  draft.exact.push(fenced);
  return draft.chance.of([
    `<pre><code class="language-${language}">${escaped(code)}\n</code></pre>`,
    `<div class="highlight-${language} notranslate"><div class="highlight"><pre><span></span>${spans(code)}\n</pre></div></div>`,
    `<div class="highlight highlight-source-${language}"><pre>${spans(code)}</pre></div>`,
    `<pre class="shiki" data-language="${language}"><code>${lines(code)}</code></pre>`,
    `<div class="code-wrap"><button class="copy-button">Copy</button><pre class="prettyprint lang-${language}">${escaped(code)}</pre></div>`,
    `<pre class="brush: ${language}"><code>${spans(code)}</code></pre>`,
  ]);
}

export function docs(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const tabs = `<div class="tabs"><ul role="tablist"><li role="tab">npm</li><li role="tab">yarn</li></ul><div role="tabpanel">${codeBlock(draft)}</div><div role="tabpanel" class="tab-pane" ${draft.chance.happens(0.5) ? "hidden" : ""}>${codeBlock(draft)}</div></div>`;
  const note = `<div class="admonition note"><p class="admonition-title">Note</p><p>${draft.wanted()}</p></div>`;
  const main = `${draft.paragraphs(1)}<h2 id="install">Install<a class="headerlink" href="#install">¶</a></h2>${tabs}${draft.paragraphs(1)}${note}<h2>Use</h2><p>${draft.wanted()}</p>${codeBlock(draft)}${draft.paragraphs(1)}`;
  draft.exact.push("## Install\n");
  return draft.end({ kind: "docs", name: `docs-${at}`, html: framed(draft, at + 6, { title: draft.title(), main }) });
}

export function reference(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const params = Array.from(
    { length: 4 },
    (_, one) => [`${draft.word()}_${one}`, draft.chance.of(["string", "integer", "boolean"]), draft.wanted()] as const,
  );
  const [first] = params;
  const table = () => {
    if (first !== undefined) draft.exact.push(`| \`${first[0]}\` | ${first[1]} | ${first[2]} |`);
    return `<table><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${params.map(([name, type, text]) => `<tr><td><code>${name}</code></td><td>${type}</td><td><p>${text}</p></td></tr>`).join("")}</tbody></table>`;
  };
  const list = () =>
    `<dl class="params">${params.map(([name, type, text]) => `<dt><code>${name}</code> <em>${type}</em></dt><dd><p>${text}</p></dd>`).join("")}</dl>`;
  draft.must.push(...params.map(([name]) => name));
  const main = `<p>${draft.wanted()}</p><h2>Parameters</h2>${draft.chance.of([table, list])()}<h2>Example</h2>${codeBlock(draft)}<h2>Errors</h2><p>Status 403 forbidden and 429 too many requests are sent where a rate limit is met. ${draft.wanted()}</p>`;
  return draft.end({
    kind: "reference",
    name: `reference-${at}`,
    html: framed(draft, at + 6, { title: `${draft.word()}.${draft.word()}()`, main }),
  });
}

export function changelog(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const release = (minor: number) => {
    const version = `${at}.${minor}.${draft.chance.whole(0, 9)}`;
    draft.exact.push(`## ${version}`);
    return `<h2 id="v${version}">${version}</h2><p><time>${draft.date()}</time></p><h3>Fixed</h3><ul><li>${draft.wanted()}</li><li>The rate limit is reset after a captcha. ${draft.wanted()}</li></ul>`;
  };
  const main = Array.from({ length: draft.chance.whole(1, 6) }, (_, minor) => release(9 - minor)).join("\n");
  return draft.end({
    kind: "changelog",
    name: `changelog-${at}`,
    html: framed(draft, at, { title: "Changelog", main }),
  });
}

const CURRENCIES = ["12.4", "1,208", "-3.9", "(77)", "0.05", "€9", "48 %"] as const;

export function figures(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const { chance } = draft;
  const years = [2021, 2022, 2023, 2024].slice(0, chance.whole(2, 4));
  const rows = Array.from({ length: chance.whole(4, 20) }, (_, one) => [
    `${draft.word()} ${one}`,
    ...years.map(() => `${chance.of(CURRENCIES)}${chance.whole(1, 9)}`),
  ]);
  for (const row of rows.slice(0, 3)) draft.exact.push(`| ${row.join(" | ")} |`);
  draft.must.push(...rows.map((row) => row.join(" ")));
  const cells = rows
    .map(
      ([name, ...values]) =>
        `<tr><th scope="row">${name}</th>${values.map((value) => `<td align="right">${value}</td>`).join("")}</tr>`,
    )
    .join("\n");
  const heads = years.map((year) => `<th>${year}</th>`).join("");
  const table = chance.of([
    () =>
      `<table class="wikitable"><caption>${draft.wanted()}</caption><thead><tr><th>Item</th>${heads}</tr></thead><tbody>${cells}</tbody></table>`,
    () =>
      `<div class="table-responsive"><table class="table"><tr><th rowspan="2">Item</th><th colspan="${years.length}">Year</th></tr><tr>${heads}</tr>${cells}</table></div>`,
    () =>
      `<table><tbody><tr><td><b>Item</b></td>${years.map((year) => `<td><b>${year}</b></td>`).join("")}</tr>${cells.replace(/(<\/?)th/g, "$1td")}</tbody></table>`,
  ])();
  const main = `<p>${draft.wanted()}</p>${table}<p>${draft.wanted()}</p>`;
  return draft.end({
    kind: "figures",
    name: `figures-${at}`,
    html: framed(draft, at, { title: draft.title(), main, container: "div" }),
  });
}

export function product(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const { chance } = draft;
  const price = `${chance.whole(10, 900)}.${chance.whole(10, 99)} EUR`;
  const specs = [
    ["Weight", `${chance.whole(1, 90)} kg`],
    ["Width", `${chance.whole(10, 90)} cm`],
    ["Material", draft.word()],
  ] as const;
  draft.must.push(price, ...specs.map(([name, value]) => `${name} ${value}`));
  draft.exact.push(`| ${specs[0].join(" | ")} |`);
  const title = draft.title();
  const facts = JSON.stringify({
    "@type": "Product",
    name: title,
    offers: { price: price.slice(0, -4), priceCurrency: "EUR" },
    aggregateRating: { ratingValue: "4.4", reviewCount: 31 },
  });
  const review = () => `<div class="review"><span class="author">${draft.name()}</span><p>${draft.wanted()}</p></div>`;
  const main = `<div class="product"><div class="gallery"><img src="/p/1.jpg" alt="${title}"></div><div class="summary"><p class="price">${price}</p><p>${draft.wanted()}</p><button class="add-to-cart">Add to cart</button></div><div class="description">${draft.paragraphs(chance.whole(1, 2))}</div><h2>Specifications</h2><table class="specs">${specs.map(([name, value]) => `<tr><th>${name}</th><td>${value}</td></tr>`).join("")}</table><h2>Reviews</h2>${review()}${review()}</div>${within(draft)}`;
  const head = `<script type="application/ld+json">${facts}</script>`;
  return draft.end({
    kind: "product",
    name: `product-${at}`,
    html: framed(draft, at, { title, main, head, container: "div" }),
  });
}
