import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { documentedOptions, flat, optionsDocument, withOptions } from '../document.ts';
import { CONDITIONS } from '../src/conditions.ts';
import { schemaOptions } from './package/options.ts';

test('docs/messages.md lists every condition with what is said of it', () => {
  const text = readFileSync(join(import.meta.dirname, '..', 'docs', 'messages.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(\w+)` \| (.*?) ?\| (.*?) ?\| (.*?) \| (.+) \|$/gm)];
  const documented = rows.map(([, name, meanwhile, credentials, over]) => [
    name,
    meanwhile,
    credentials === 'yes',
    over,
  ]);
  const said = Object.entries(CONDITIONS).map(([name, meaning]) => [
    name,
    'meanwhile' in meaning ? meaning.meanwhile : '',
    meaning.credentials,
    meaning.over,
  ]);
  assert.deepEqual(documented, said);
});

describe('the documentation of the options', () => {
  const options = documentedOptions();

  it('is of every option that the schema accepts, and of no other', () => {
    const inTypes = flat(options).map(({ path }) => path.replaceAll('[]', ''));
    const inSchema = schemaOptions().map(({ path }) => path.filter((name) => name !== '[]').join('.'));
    assert.deepEqual(inTypes.sort(), [...new Set(inSchema)].sort());
  });

  it('stands in docs/options.md and in the README as the types have it', () => {
    const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8');
    const advice = 'run `npm run document`';
    assert.equal(read('docs/options.md'), optionsDocument(options), advice);
    assert.equal(read('README.md'), withOptions(read('README.md'), options), advice);
  });
});
