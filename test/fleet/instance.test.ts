import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeInstance } from '../../src/fleet/instance.ts';

const facts = { id: 'i', host: 'h', pid: 7, startedAt: 1 };
const name = (env: Record<string, string>, given = {}) => {
  const { service, version } = describeInstance({ ...facts, env }, given);
  return [service, version];
};

test('the configuration names the service, else OpenTelemetry’s variables do', () => {
  const attributes = { OTEL_RESOURCE_ATTRIBUTES: 'a=b, service.name=cart%20east ,service.version=1.4,=,x,broken=%' };
  assert.deepEqual(name({}), ['unknown_service', undefined]);
  assert.deepEqual(name(attributes), ['cart east', '1.4']);
  assert.deepEqual(name({ ...attributes, OTEL_SERVICE_NAME: 'cart' }), ['cart', '1.4']);
  assert.deepEqual(name({ ...attributes, OTEL_SERVICE_NAME: '' }), ['cart east', '1.4']);
  assert.deepEqual(name(attributes, { service: 'shop', version: '2' }), ['shop', '2']);
});
