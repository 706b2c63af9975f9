// The repository is the source: every document is a page at the path that it has there, so that its links lead to the
// same places on the site and on GitHub.

import { cpSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { audiences, decisions, reference } from './documents.js';
import { renderForSearch, searchOptions } from './search.js';

const sidebar = [
  { text: 'Start', link: '/README' },
  ...audiences.map(({ name, documents }) => ({ text: `For ${name}`, items: documents })),
  { text: 'Decisions', link: '/ARCHITECTURE.md#decisions', collapsed: true, items: decisions },
];

export default defineConfig({
  srcDir: '../..',
  srcExclude: ['.*/**', '**/built/**', 'test/!(conformance)/**'],
  rewrites: { 'docs/site/:rest*': ':rest*' },
  outDir: 'built',
  // The pages of a project lie below its name on GitHub Pages.
  base: process.env.SITE_BASE ?? '/',
  title: 'RDCP for Node.js',
  titleTemplate: ':title · opentelemetry-instrumentation-rdcp',
  description: 'Debug output of running Node.js services under remote control (RDCP 1.0).',
  markdown: {
    linkify: false,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (md) => void md.core.ruler.push('empty_table_headers', emptyHeadersAsCells),
    anchor: { slugify: slugOfGitHub },
    // Shiki has no grammar for these: they are shown without colours.
    languages: ['haproxy', 'logql'].map((name) => ({ name, scopeName: `text.${name}`, patterns: [] })),
  },
  vite: {
    // Vite looks for vue beside the documents, which lie outside of this package.
    resolve: { alias: { vue: dirname(fileURLToPath(import.meta.resolve('vue/package.json'))) } },
    // The index of the search is one file.
    build: { chunkSizeWarningLimit: 5_000 },
  },
  // VitePress copies the pictures that a page shows, and not those that it links to.
  buildEnd: ({ srcDir, outDir }) =>
    cpSync(`${srcDir}/docs/screenshots`, `${outDir}/docs/screenshots`, {
      recursive: true,
      filter: (path) => !path.endsWith('.ts'),
    }),
  themeConfig: {
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/README' },
      { text: 'Options', link: '/docs/options' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: { '/': sidebar, '/reference/': reference },
    search: { provider: 'local', options: { _render: renderForSearch, miniSearch: { searchOptions } } },
  },
});

/** The anchor that GitHub gives a heading. */
function slugOfGitHub(heading) {
  return heading
    .toLowerCase()
    .trim()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** A header without text is announced by screen readers as the header of its column. */
function emptyHeadersAsCells({ tokens }) {
  tokens.forEach((token, at) => {
    if (token.type === 'th_open' && tokens[at + 1].content === '') token.tag = tokens[at + 2].tag = 'td';
  });
}
