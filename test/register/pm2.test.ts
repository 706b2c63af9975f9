import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { takePm2Variables } from '../../src/assembly/register/environment.ts';
import { applicationPackage } from '../../src/otel/loading/package.ts';
import { newFolder } from '../support/folder.ts';

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

it('names the application that PM2 runs, and not PM2', (t) => {
  const folder = newFolder(t);
  const program = (name: string) => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ name }));
    return join(folder, name, 'main.js');
  };
  const [pm2, shop] = [program('pm2'), program('shop')];
  assert.equal(applicationPackage(pm2, { pm_exec_path: shop }), 'shop');
  assert.equal(applicationPackage(pm2, {}), undefined);
  // A process that the application has started.
  assert.equal(applicationPackage(program('report'), { pm_exec_path: shop }), 'report');
  assert.equal(applicationPackage(undefined, {}), undefined);
});
