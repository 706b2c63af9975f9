import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { unsupportedNode } from '../../src/otel/loading/node-version.ts';
import { assertBuilt, ROOT } from '../support/built.ts';
import { findOldNode } from './old-node.ts';

it('Node 22.15 is the oldest that is supported', () => {
  for (const version of ['22.15.0', '22.22.1', '24.0.0', '26.1.0']) assert.equal(unsupportedNode(version), undefined);
  for (const version of ['18.20.0', '20.20.2', '22.14.9', '21.99.0']) {
    assert.equal(
      unsupportedNode(version),
      `opentelemetry-instrumentation-rdcp needs Node 22.15 or newer, this is Node ${version}`,
    );
  }
});

const oldNode = findOldNode();

describe('an older Node gets one line', { skip: oldNode === undefined && 'no older Node on this machine' }, () => {
  const LINE = /opentelemetry-instrumentation-rdcp needs Node 22\.15 or newer, this is Node [\d.]+/;

  function run(...args: string[]) {
    assertBuilt();
    const { status, stdout, stderr } = spawnSync(oldNode as string, args, { cwd: ROOT, encoding: 'utf8' });
    assert.equal(status, 1, stderr);
    assert.equal(stdout, '');
    return stderr;
  }

  it('from the rdcp command', () => {
    assert.match(run('dist/cli/main.js', '--version'), new RegExp(`^rdcp: ${LINE.source}\n$`));
  });

  it('from register, before the application runs', () => {
    const stderr = run('--import', 'opentelemetry-instrumentation-rdcp/register', '-e', 'console.log("ran")');
    assert.match(stderr, new RegExp(`^rdcp: ${LINE.source}\n$`));
  });

  it('as the error of the import, with no stack', () => {
    const stderr = run('--input-type=module', '-e', 'await import("opentelemetry-instrumentation-rdcp")');
    assert.match(stderr, LINE);
    assert.doesNotMatch(stderr, /groupBy|\n {4}at /);
  });
});
