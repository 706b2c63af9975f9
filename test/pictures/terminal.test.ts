import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { runsOf } from '../../docs/pictures/ansi.ts';
import { READ, SCENES, WIDTHS } from '../../docs/pictures/record.ts';
import { animation } from '../../docs/pictures/svg.ts';
import { ROOT } from '../support/built.ts';
import { assertPlayable } from './playable.ts';

const run = (text: string) => [{ column: 0, text, styles: [] }];

describe('a recording', () => {
  it('has the styles of a terminal, also those that go on in the next row', () => {
    assert.deepEqual(runsOf(['\u001b[1mSTATE\u001b[0m  \u001b[32mon', 'still green\u001b[39m not']), [
      [
        { column: 0, text: 'STATE', styles: ['bold'] },
        { column: 7, text: 'on', styles: ['green'] },
      ],
      [
        { column: 0, text: 'still green', styles: ['green'] },
        { column: 11, text: ' not', styles: [] },
      ],
    ]);
    assert.throws(() => runsOf(['\u001b[2J']), /not a style/);
  });

  it('shows each row for as long as it stood there, and ends with the last frame', () => {
    const frames = [
      { shownMs: 100, screens: [[run('$ '), []]] },
      { shownMs: 300, screens: [[run('$ ls <b>'), []]] },
      { shownMs: 600, screens: [[run('$ ls <b>'), run('out')]] },
    ];
    const svg = animation('label', [{ title: 'a & b', rows: 2 }], frames);
    assertPlayable(svg);
    assert.match(svg, />\$ ls &lt;b&gt;</);
    assert.match(svg, />a &amp; b</);
    assert.match(svg, /@keyframes k0\{0%\{visibility:visible\}10%\{visibility:hidden\}\}/);
    assert.match(svg, /@keyframes k1\{0%\{visibility:hidden\}10%\{visibility:visible\}\}/);
    assert.match(svg, /@keyframes k2\{0%\{visibility:hidden\}40%\{visibility:visible\}\}/);
    assert.match(svg, /<g class="k0 h">.*<g class="k1"><use.*<g class="k2"><use/s);
  });
});

describe('the recording of the terminal', () => {
  const svg = readFileSync(join(ROOT, 'docs/pictures/terminal.svg'), 'utf8');

  it('plays in an <img>: no script, nothing from elsewhere, and still for who wants no motion', () => {
    assertPlayable(svg);
    assert.ok(svg.length < 150 * 1024, `${svg.length} bytes`);
  });

  it('shows each command of the recording', () => {
    for (const { command } of SCENES) assert.ok(svg.includes(`$ ${command}<`), command);
    assert.match(svg, /ORDERS off again for work with user\.id, the time is over/);
  });

  it('has the screens of both widths, and no row that went on in the next one', () => {
    for (const columns of WIDTHS) {
      const text = readFileSync(join(ROOT, `docs/pictures/terminal-${columns}.txt`), 'utf8');
      for (const command of READ) assert.ok(text.includes(`$ ${command}\n`), command);
      const whole = text
        .split('\n')
        .filter((row) => !row.startsWith('$ ') && row.length >= columns && !row.endsWith('...'));
      assert.deepEqual(whole, []);
    }
  });

  it('is what operators see first', () => {
    assert.match(readFileSync(join(ROOT, 'docs/operators.md'), 'utf8'), /!\[[^\]]+\]\(pictures\/terminal\.svg\)/);
  });
});
