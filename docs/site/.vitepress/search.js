// What readers type who do not know our words, by the section that answers it: its words are found there, and come first.
const KEYWORDS = {
  '/README.html#start': 'install installation setup',
  '/docs/command-line.html#rdcp-end': 'turn off stop undo',
  '/docs/debug-lines.html#budgets': 'budget exceeded dropped rate limit',
  '/docs/endpoint.html#errors': '401 403 404 429 503 unauthorized forbidden',
  '/docs/performance.html#performance': 'overhead cost slow cpu memory latency',
};

/** A page as the index of the search sees it: the keywords stand below the headings of their sections. */
export function renderForSearch(source, env, md) {
  let html = md.render(source, env);
  const address = `/${env.relativePath.replace(/md$/, 'html')}`;
  for (const [section, words] of Object.entries(KEYWORDS)) {
    const [page, anchor] = section.split('#');
    if (page !== address) continue;
    const heading = new RegExp(`<(h\\d) id="${anchor}".*?</\\1>`, 's');
    if (!heading.test(html)) throw new Error(`docs/site/.vitepress/search.js: there is no ${section}`);
    html = html.replace(heading, (found) => `${found}<p>${words}</p>`);
  }
  return html;
}

/**
 * The heading of a page before those of its sections, and what readers look for before how it is made. It runs in the browser,
 * from its text, so it holds the keywords itself.
 */
const boostDocument = new Function(
  'address',
  'term',
  '{ titles }',
  `const [section = ''] = /\\/(?:docs\\/)?[^/]*$/.exec(address) ?? [];
  const words = ${JSON.stringify(KEYWORDS)}[section]?.split(' ') ?? [];
  const place = /\\/(reference|decisions|test)\\/|CHANGELOG/.test(address) ? 0.2 : 1;
  return (titles.length === 0 ? 2 : 1) * place * (words.includes(term) ? 20 : 1);`,
);

export const searchOptions = {
  // A section that has every word comes first; where few have, one with some is better than nothing.
  combineWith: 'OR',
  boost: { title: 8, titles: 2, text: 1 },
  boostDocument,
};
