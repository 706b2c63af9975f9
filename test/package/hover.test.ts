import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseDuration } from '../../src/wire/time.ts';
import { assertBuilt, ROOT } from '../support/built.ts';
import { type LanguageServer, startLanguageServer } from './language-server.ts';
import { type SchemaOption, schemaOptions } from './options.ts';

const NAME = 'opentelemetry-instrumentation-rdcp';

/** `createRdcp({ server: { port: … } })`, on one line that ends in the option's name and a value of any type. */
function callWith(path: readonly string[]): string {
  const value = path.reduceRight((inner, name) => {
    if (name === '[]') return `[${inner}]`;
    return `{ ${name === '<name>' ? 'NAME' : name}: ${inner} }`;
  }, 'undefined as never');
  return `createRdcp(${value});`;
}

describe('an editor that shows an option of createRdcp', () => {
  assertBuilt();
  mkdirSync(join(ROOT, '.rdcp'), { recursive: true });
  // Inside of the package, so that it is found by its name.
  const folder = mkdtempSync(join(ROOT, '.rdcp', 'hover-'));
  const file = join(folder, 'consumer.ts');
  const options = schemaOptions();
  const lines = [`import { createRdcp } from '${NAME}';`, ...options.map(({ path }) => callWith(path))];
  let server: LanguageServer;

  before(async () => {
    writeFileSync(join(folder, 'tsconfig.json'), '{ "extends": "../../tsconfig.json", "include": ["*.ts"] }');
    writeFileSync(file, lines.join('\n'));
    server = await startLanguageServer(folder);
  });
  after(async () => {
    await server?.close();
    rmSync(folder, { recursive: true });
  });

  for (const [index, option] of options.entries()) {
    it(`${option.path.join('.')} explains it`, async () => {
      const line = lines[index + 1] ?? '';
      const shown = await server.hover(file, index + 1, line.indexOf(': undefined') - 1);
      const { signature, firstSentence, defaultText } = partsOf(shown);
      assert.match(signature, new RegExp(`^\\(property\\) (?:\\w+\\.)?${option.path.at(-1)}\\??: `), shown);
      assert.match(firstSentence, /^[A-Z`].{8,}/s, shown);
      assertDefault(option, defaultText);
    });
  }
});

/** Signature, a sentence, more of them, `@default` with its text. */
function partsOf(shown: string) {
  const [, signature = '', documentation = ''] = /^```typescript\n(.*?)\n```\n(.*)$/s.exec(shown) ?? [];
  const [text = '', defaultText] = documentation.split(/\n*\*@default\* — /);
  return { signature, firstSentence: /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? '', defaultText };
}

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
