import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { start } from '../examples/child.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { until } from '../support/until.ts';
import type { Consumer } from './consumer.ts';

const NAME = 'opentelemetry-instrumentation-rdcp';

/** The output of the demo, once it has printed the commands to try. */
export interface Shown {
  readonly stdout: string;
  readonly stderr: string;
  readonly metrics: string;
}

/** Starts the demo of an installed package in an empty folder, runs each command that it shows, and ends it. */
export async function followDemo(t: TestContext, consumer: Consumer): Promise<Shown> {
  const cwd = newFolder(t);
  const main = join(consumer.directory, 'node_modules', NAME, 'dist/demo/main.js');
  const metrics = String(await freePort());
  const ports = { SHOP_PORT: '0', RDCP_PORT: String(await freePort()), OTEL_EXPORTER_PROMETHEUS_PORT: metrics };
  const env = { ...PROGRAM_ENV, ...ports };
  const demo = await start(process.execPath, [main, 'demo'], { cwd, env });
  t.after(() => demo.end('SIGKILL'));
  await until('the commands to try', () => (demo.output.stdout.includes('Ctrl-C') ? true : undefined));
  assert.ok(demo.output.stdout.includes(`Remote control http://127.0.0.1:${ports.RDCP_PORT}, key in `));

  const commands = demo.output.stdout.split('\n').filter((line) => line.startsWith('  '));
  assert.equal(commands.length, 4);
  for (const command of commands) {
    assert.match(command, new RegExp(` npx ${NAME} `));
    // npx would ask a registry for the package.
    const shell = command.replace(`npx ${NAME}`, `'${process.execPath}' '${main}'`);
    const child = await start('sh', ['-c', shell], { cwd, env });
    assert.equal(await child.ended, 0, `${command}: ${child.output.stderr}`);
    assert.match(child.output.stdout, /DATABASE|ORDERS/);
  }
  await until('a line of DATABASE', () => (/ DEBUG DATABASE query /.test(demo.output.stderr) ? true : undefined));
  assert.equal(await demo.end(), 0, demo.output.stderr);
  return { ...demo.output, metrics };
}
