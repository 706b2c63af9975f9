import { join } from 'node:path';
import { before, describe } from 'node:test';
import { folderOfPackage } from '../support/folder.ts';
import { type Consumer, packInto, unpackInto } from './consumer.ts';
import { behavesAsPacked } from './packed.ts';

describe('the packed package, unpacked beside the packages of this repository', () => {
  const directory = folderOfPackage();
  let consumer: Consumer;
  before(async () => {
    consumer = await unpackInto(join(directory, 'application'), await packInto(directory));
  });

  behavesAsPacked(() => consumer);
});
