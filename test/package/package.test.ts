import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { ROOT } from '../support/built.ts';
import { type Consumer, packInto, unpackInto } from './consumer.ts';
import { behavesAsPacked } from './packed.ts';

describe('the packed package, unpacked beside the packages of this repository', () => {
  mkdirSync(join(ROOT, '.rdcp'), { recursive: true });
  const directory = mkdtempSync(join(ROOT, '.rdcp', 'package-'));
  let consumer: Consumer;
  before(async () => {
    consumer = await unpackInto(join(directory, 'application'), await packInto(directory));
  });
  after(() => rmSync(directory, { recursive: true }));

  behavesAsPacked(() => consumer);
});
