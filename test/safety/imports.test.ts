import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { newFolder } from '../support/folder.ts';
import { inFull } from '../support/tiers.ts';
import { run } from './program.ts';

const SRC = join(import.meta.dirname, '..', '..', 'src');
const GATE = 'Symbol(opentelemetry-instrumentation-rdcp.gate.v1)';

/** zod's own, which only zod looks at. */
const ZOD = ['__zod_globalConfig', '__zod_globalRegistry'];

/** Every entry but register, with the globals that it leaves. */
const ENTRIES = { index: [...ZOD, GATE], api: [GATE], client: [], redis: ZOD, postgres: ZOD };

describe('importing an entry does nothing to the process', { concurrency: 2 }, () => {
  for (const [entry, globals] of Object.entries(ENTRIES)) {
    (entry === 'index' ? it : inFull)(entry, async (t) => {
      const cwd = newFolder(t);
      const args = [pathToFileURL(join(SRC, `${entry}.ts`)).href];
      const program = run(t, join(import.meta.dirname, 'importing-app.ts'), { args, cwd });
      const [differences] = await once(program.child, 'message');
      assert.deepEqual(differences, { names: globals, functions: [], listeners: [], resources: 0, environment: true });
      assert.equal(await program.endedWithin(8000), 0);
      assert.deepEqual(program.output, { stdout: '', stderr: '' });
      assert.deepEqual(readdirSync(cwd), []);
    });
  }
});
