import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import * as api from '../../src/api.ts';
import { gate } from '../../src/gate/gate.ts';
import { newFolder } from '../support/folder.ts';
import { RecordingController } from './controllers.ts';

test('a second copy of the package in the process uses the gate of the first', async (t) => {
  const directory = newFolder(t);
  const source = join(import.meta.dirname, '..', '..', 'src');
  cpSync(join(source, 'api.ts'), join(directory, 'api.ts'));
  cpSync(join(source, 'gate'), join(directory, 'gate'), { recursive: true });
  const second: typeof api = await import(pathToFileURL(join(directory, 'api.ts')).href);
  assert.notEqual(second.category, api.category);

  const handle = second.category('SECOND_COPY');
  assert.equal(api.category('SECOND_COPY'), handle);
  const controller = new RecordingController();
  const attachment = gate.attach(controller);
  t.after(() => attachment.detach());
  attachment.setTenant('acme', gate.categories().length - 1, true);
  second.runWithTenant('acme', () => api.category('SECOND_COPY').debug('m'));
  api.runWithTenant('acme', () => handle.debug('n'));
  assert.deepEqual(
    controller.emitted.map(({ message }) => message),
    ['m', 'n'],
  );
});
