import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { start } from '../examples/child.ts';
import { writeCertificate } from '../support/certificate.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { adapted, blockOf, listening, type Service } from './recipe.ts';

/** The recipe's server block in an nginx of its own. */
export async function startNginx(
  t: TestContext,
  { port: servicePort }: Pick<Service, 'port'>,
): Promise<{ port: number; cert: string }> {
  const folder = newFolder(t);
  const port = await freePort();
  const { cert, certFile, keyFile } = writeCertificate();
  const server = adapted(blockOf('nginx', 'nginx'), [
    ['listen 443', `listen 127.0.0.1:${port}`],
    ['/etc/nginx/tls/debug.example.com.crt', certFile],
    ['/etc/nginx/tls/debug.example.com.key', keyFile],
    ['http://127.0.0.1:9465', `http://127.0.0.1:${servicePort}`],
  ]);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`);
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; master_process off; pid nginx.pid; error_log stderr; events {}
     http { access_log off; ${paths.join(' ')}
     ${server} }`,
  );
  const nginx = await start('nginx', ['-p', `${folder}/`, '-e', 'stderr', '-c', file], {});
  t.after(() => nginx.end('SIGKILL'));
  await Promise.race([
    listening(port),
    nginx.ended.then((code) => assert.fail(`nginx ended with ${code}: ${nginx.output.stderr}`)),
  ]);
  return { port, cert };
}
