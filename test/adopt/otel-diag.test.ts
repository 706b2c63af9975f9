// In a process of its own: it sets the diagnostics logger of the process.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { context, DiagLogLevel, diag } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { processAdoption } from '../../src/adopt/process.ts';
import { gate } from '../../src/gate/gate.ts';
import type { Attachment } from '../../src/gate/types.ts';
import { withoutTracing } from '../../src/otel/own-work.ts';
import { RecordingController } from '../gate/controllers.ts';

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
const adoption = processAdoption(gate);
const registry: Record<string, unknown> = Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1'));
const component = diag.createComponentLogger({ namespace: 'contrib' });

let controller: RecordingController;
let attachment: Attachment;
let leave: () => void;
/** What the application's own logger got. */
const own: string[] = [];
const logger = (name: string) => {
  const log = (level: string) => (message: string) => own.push(`${name} ${level} ${message}`);
  return { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug'), verbose: log('verbose') };
};

function set(on: boolean): void {
  attachment.setBase(
    gate.categories().findIndex(({ name }) => name === 'OTEL_DIAG'),
    on,
  );
}
const told = () =>
  controller.emitted
    .splice(0)
    .map(({ message, attributes }) => [message, (attributes as Record<string, unknown>)['otel.diag.level']]);

beforeEach(() => {
  controller = new RecordingController();
  attachment = gate.attach(controller);
  leave = adoption.join({ options: { otel: true }, warn: assert.fail });
  own.length = 0;
});
afterEach(() => {
  leave();
  attachment.detach();
  diag.disable();
});

describe("OpenTelemetry's diagnostics as a category", () => {
  it('come out while it is on, of components too, and in the logger of the application as before', () => {
    diag.setLogger(logger('app'), DiagLogLevel.WARN);
    diag.debug('before');
    set(true);
    diag.debug('registered', 'twice');
    component.warn('patched', { module: 'http' });
    diag.verbose('more');
    assert.deepEqual(controller.emitted[1]?.attributes, {
      'otel.diag.level': 'warn',
      'otel.diag.arguments': [{ module: 'http' }],
    });
    assert.deepEqual(told(), [
      ['registered twice', 'debug'],
      ['contrib patched', 'warn'],
    ]);
    set(false);
    diag.warn('after');
    assert.deepEqual(told(), []);
    assert.deepEqual(own, ['app warn contrib', 'app warn after']);
  });

  it('are given back exactly as they were', () => {
    for (const before of [() => {}, () => void diag.setLogger(logger('app'))]) {
      before();
      const descriptors = Object.getOwnPropertyDescriptors(registry);
      set(true);
      assert.notDeepEqual(Object.getOwnPropertyDescriptors(registry), descriptors);
      set(false);
      assert.deepEqual(Object.getOwnPropertyDescriptors(registry), descriptors);
      set(true);
      leave();
      assert.deepEqual(Object.getOwnPropertyDescriptors(registry), descriptors);
      leave = adoption.join({ options: { otel: true }, warn: assert.fail });
      set(false);
    }
  });

  it('follow a logger that is set meanwhile', () => {
    diag.setLogger(logger('old'), { suppressOverrideMessage: true });
    set(true);
    diag.setLogger(logger('new'), { logLevel: DiagLogLevel.DEBUG, suppressOverrideMessage: true });
    own.length = 0;
    diag.debug('one');
    assert.deepEqual(told().at(-1), ['one', 'debug']);
    set(false);
    diag.debug('two');
    assert.deepEqual(own, ['new debug one', 'new debug two']);
  });

  it('come out of an API that registers something later', () => {
    const key = Symbol.for('opentelemetry.js.api.1');
    const before = Object.getOwnPropertyDescriptor(globalThis, key)!;
    Reflect.deleteProperty(globalThis, key);
    set(true);
    set(false);
    assert.equal(Object.getOwnPropertyDescriptor(globalThis, key), undefined);
    set(true);
    diag.setLogger(logger('late'), DiagLogLevel.ALL);
    const { value, ...rest } = Object.getOwnPropertyDescriptor(globalThis, key)!;
    assert.deepEqual(rest, { writable: true, enumerable: true, configurable: true });
    diag.debug('one');
    assert.deepEqual(told().at(-1), ['one', 'debug']);
    set(false);
    assert.equal(typeof Object.getOwnPropertyDescriptor(value, 'diag')?.value, 'object');
    Object.defineProperty(globalThis, key, before);
  });

  it('survive that they are disabled meanwhile', () => {
    set(true);
    diag.disable();
    told();
    diag.debug('nobody');
    set(false);
    assert.deepEqual(told(), []);
    assert.equal('diag' in registry, false);
  });

  it('leave out what an exporter says while it sends, but its failures', () => {
    set(true);
    withoutTracing(() => {
      diag.debug('items to be sent');
      diag.info('retrying');
      diag.error('unavailable');
    });
    assert.deepEqual(told(), [['unavailable', 'error']]);
  });
});
