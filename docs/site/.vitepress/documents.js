// What the sidebars list: the documents by audience, as the README's table has them, and the pages of the reference.

import { globSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../../', import.meta.url);
const read = (path) => readFileSync(new URL(path, ROOT), 'utf8');

const [, table] = read('README.md').split('\n## Documentation\n');

export const audiences = [...table.matchAll(/^\| ([a-z ]+) \| (\[.+) \|$/gm)].map(([, name, links]) => ({
  name,
  documents: [...links.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, text, path]) =>
    path.includes('#') ? { text: capitalized(text), link: `/${path}` } : page(path),
  ),
}));

export const decisions = globSync('docs/decisions/*.md', { cwd: ROOT }).sort().map(page);

/** From what TypeDoc writes: an entry of the package, its kinds of symbols, and these. */
export const reference = JSON.parse(read('docs/site/reference/navigation.json')).map(symbols);

function page(path) {
  return { text: /^# (.+)$/m.exec(read(path))[1], link: `/${path}` };
}

function symbols({ title, path, children }) {
  return {
    text: title,
    ...(path && { link: `/reference/${path}`, collapsed: true }),
    ...(children && { items: children.map(symbols) }),
  };
}

function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
