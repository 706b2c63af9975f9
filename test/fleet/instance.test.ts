import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeInstance } from '../../src/control/fleet/instance.ts';
import { resourceAttribute } from '../../src/otel/resource.ts';

const facts = { id: 'i', host: 'h', pid: 7, startedAt: 1, packageName: () => undefined };
const name = (env: Record<string, string>) => {
  const { service, version } = describeInstance({
    ...facts,
    env,
    resource: (attribute) => resourceAttribute(attribute, env),
  });
  return [service, version];
};

test('OpenTelemetry’s variables name the service and its version', () => {
  const attributes = { OTEL_RESOURCE_ATTRIBUTES: 'a=b, service.name=cart%20east ,service.version=1.4,=,x,broken=%' };
  assert.deepEqual(name({}), ['unknown_service', undefined]);
  assert.deepEqual(name(attributes), ['cart east', '1.4']);
  assert.deepEqual(name({ ...attributes, OTEL_SERVICE_NAME: 'cart' }), ['cart', '1.4']);
  assert.deepEqual(name({ ...attributes, OTEL_SERVICE_NAME: '' }), ['cart east', '1.4']);
});

test('a service that nothing names has the name of its package', () => {
  const named = (service: string | undefined) =>
    describeInstance({
      ...facts,
      env: {},
      resource: (name) => (name === 'service.name' ? service : undefined),
      packageName: () => 'shop-app',
    }).service;
  assert.equal(named(undefined), 'shop-app');
  assert.equal(named('unknown_service:node'), 'shop-app', "the SDK's own name for it");
  assert.equal(named('shop'), 'shop');
});

test('a member of the fleet keeps its own id beside that of its resource, which others may share', () => {
  const env = { OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=pod-1' };
  const resource = (name: string) => resourceAttribute(name, env);
  const { id, serviceInstanceId } = describeInstance({ ...facts, env, resource });
  assert.deepEqual([id, serviceInstanceId], ['i', 'pod-1']);
});
