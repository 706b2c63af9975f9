import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { record, SCENES } from '../../docs/pictures/record.ts';
import { withProgram } from '../examples/required-program.ts';
import { assertBuilt } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { assertPlayable } from './playable.ts';

test('npm run record makes the recording of the terminal from a run', (t) =>
  withProgram(t, 'tmux', async () => {
    assertBuilt();
    const file = join(newFolder(t), 'terminal.svg');
    await record(file);
    const svg = readFileSync(file, 'utf8');
    assertPlayable(svg);
    for (const { command } of SCENES) assert.ok(svg.includes(`$ ${command}<`), command);
    assert.match(svg, /ORDERS off again for work with user\.id, the time is over/);
    assert.match(svg, /DEBUG ORDERS asked for/);
  }));
