import assert from 'node:assert/strict';
import { it } from 'node:test';
import { takePm2Variables } from '../../src/register/pm2.ts';

it("takes what it needs from the variables that PM2's cluster mode unpacks later, and no others", () => {
  const pm2_env = JSON.stringify({
    name: 'shop',
    namespace: 'default',
    pm_id: 3,
    RDCP_PORT: '1',
    PATH: '/elsewhere',
    env: { RDCP_PORT: '9000', OTEL_SERVICE_NAME: 'shop', SECRET: 'x' },
  });
  const env: NodeJS.ProcessEnv = { pm2_env, PATH: '/bin' };
  takePm2Variables(env);
  assert.deepEqual(env, {
    pm2_env,
    PATH: '/bin',
    name: 'shop',
    namespace: 'default',
    pm_id: '3',
    RDCP_PORT: '9000',
    OTEL_SERVICE_NAME: 'shop',
  });
});

it('leaves a variable of that name alone that is not from PM2', () => {
  const env: NodeJS.ProcessEnv = { pm2_env: 'production' };
  takePm2Variables(env);
  assert.deepEqual(env, { pm2_env: 'production' });
});
