// Loaded into a test process before its tests: one source has a fault, in memory only. `MUTANT` says which.

import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/built.ts';
import type { Fault } from './faults.ts';

const { file, start, end, instead } = JSON.parse(process.env.MUTANT!) as Fault & { readonly file: string };
const source = pathToFileURL(join(ROOT, file)).href;

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (url !== source) return loaded;
    const text = String(loaded.source);
    return { ...loaded, source: text.slice(0, start) + instead + text.slice(end) };
  },
});
