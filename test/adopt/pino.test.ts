// In a process of its own: it patches pino.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRecordedAsTapped } from './bench.ts';
import { leavesNothing, pinoCases, setUp } from './pino-cases.ts';

describe('pino 8', () => pinoCases('pino-8'));

describe('pino 10', () => {
  pinoCases('pino');
  leavesNothing('pino', 10_000);
});

it('levels that count downwards, and levels without INFO, are compared as the logger compares them', (t) => {
  const { pino, out, turn, written } = setUp(t, 'pino');
  const descending = pino(
    {
      name: 'descending',
      useOnlyCustomLevels: true,
      levelComparison: 'DESC',
      customLevels: { error: 1, info: 3, debug: 4, trace: 5 },
      level: 'info',
    } as never,
    out,
  ) as unknown as Record<'error' | 'info' | 'debug' | 'trace', (text: string) => void>;
  const odd = pino(
    { name: 'odd', useOnlyCustomLevels: true, customLevels: { loud: 9, debug: 2 }, level: 'loud' } as never,
    out,
  ) as unknown as Record<'loud' | 'debug', (text: string) => void>;
  const speak = () => {
    descending.trace('t');
    descending.debug('d');
    descending.info('i');
    odd.debug('od');
    odd.loud('ol');
    return written();
  };
  assert.equal(speak(), '3 i, 9 ol');
  turn('DESCENDING', true);
  turn('ODD', true);
  assert.equal(speak(), '5 t, 4 d, 3 i, 2 od, 9 ol');
});

it('a recorded line has the message and fields that a tail has, whatever changes the lines of a logger', async (t) => {
  const settings = [
    {},
    { base: null },
    { msgPrefix: 'at ' },
    { messageKey: 'id' },
    { nestedKey: 'nested' },
    { mixin: () => ({ mixed: 1 }) },
    { redact: ['id'] },
    { serializers: { id: (id: unknown) => `no. ${id}` } },
    { serializers: { [Symbol.for('pino.*')]: () => ({ all: 1 }) } },
    { formatters: { level: (label: string) => ({ severity: label }) } },
    { formatters: { log: (fields: object) => ({ ...fields, formatted: 1 }) } },
    { hooks: { logMethod: (args: unknown[], method: (...given: unknown[]) => void) => method('hooked', ...args) } },
  ];
  const calls: unknown[][] = [
    ['text'],
    ['text %s', 'inserted'],
    ['text %s and %d%%', 'inserted', 1],
    ['100 %', 'left out'],
    [{ id: 7, ok: true, text: 'x' }, 'with fields'],
    [{ id: 7, nothing: null, missing: undefined, huge: Infinity }, 'with more'],
    [{ id: 7, time: 1, msg: 'mine', module: 'mine' }, 'with names of pino'],
    [{ nested: { id: 7 } }, 'nested'],
    [{ id: 7 }],
    [new Error('failed')],
  ];
  for (const copy of ['pino-8', 'pino']) {
    for (const each of settings) {
      const { pino, out, ...bench } = setUp(t, copy);
      const child = pino(each as never, out).child({ module: 'child', bound: 1 });
      await assertRecordedAsTapped(bench, 'CHILD', () => {
        for (const args of calls) child.debug(...(args as [string]));
      });
    }
  }
});
