import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { documentedOptions, flat } from '../../docs/document.ts';
import { parseDuration } from '../../src/wire/time.ts';
import { ROOT } from '../support/built.ts';
import { CONFIGURATIONS } from './configurations.ts';
import { type SchemaOption, schemaOptions } from './options.ts';

// What an editor shows of an option is its comment in the types; public-names.test.ts finds these in the declarations.

describe('an option of createRdcp', () => {
  const documented = new Map(flat(documentedOptions()).map((option) => [option.path.replaceAll('[]', ''), option]));

  for (const option of schemaOptions()) {
    const path = option.path.filter((name) => name !== '[]').join('.');
    it(`${path} is explained, with its default`, () => {
      const { meaning, default: text } = documented.get(path) ?? assert.fail('it is in no type');
      assert.match(meaning, /^[A-Z`].{8,}?\.(?=\s|$)/);
      assertDefault(option, text);
    });
  }
});

function assertDefault({ optional, default: value }: SchemaOption, text: string | undefined): void {
  assert.equal(text !== undefined, optional, `${text}`);
  if (text === undefined || value === undefined) return;
  const [literal] = /^(?:'[^']*'|[\d.]+|true|false|\[\]|\{\})(?=$|\W)/.exec(text) ?? [];
  // A group may say in words what its own options have as defaults.
  if (literal === undefined) {
    assert.deepEqual(value, {}, text);
    return;
  }
  const documented: unknown = JSON.parse(literal.replaceAll("'", '"'));
  const duration = typeof documented === 'string' && typeof value === 'number';
  assert.deepEqual(duration ? parseDuration(documented) : documented, value);
}

test('the table of the documentation says what is run', () => {
  const rows = readFileSync(join(ROOT, 'docs/compatibility.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1);
  assert.deepEqual(
    rows,
    CONFIGURATIONS.map(({ name, tried }) => `| ${name} | ${tried} |`),
  );
});
