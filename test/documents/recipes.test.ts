import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { KNOWN } from '../../src/assembly/register/environment.ts';
import { parseConfig } from '../../src/options/config.ts';
import { withProgram } from '../examples/required-program.ts';
import { newFolder } from '../support/folder.ts';
import { blocksOf } from './blocks.ts';

const RECIPES = 'docs/recipes.md';
const REGISTER = '--import opentelemetry-instrumentation-rdcp/register';

describe('the recipe for Docker', () => {
  const [block, ...others] = blocksOf('dockerfile');
  const instructions = (block?.code ?? '')
    .trim()
    .split('\n')
    .map((line) => /^([A-Z]+) (.+)$/.exec(line)?.slice(1) ?? [line]);

  it('is a Dockerfile of instructions that there are, which starts from an image', () => {
    const known = ['FROM', 'WORKDIR', 'COPY', 'RUN', 'USER', 'ENV', 'EXPOSE', 'CMD'];
    assert.deepEqual(others, []);
    assert.equal(instructions[0]?.[0], 'FROM');
    for (const [name = ''] of instructions) assert.ok(known.includes(name), name);
  });

  it('loads the remote control, and runs the application itself, as a user without rights', () => {
    const last = (name: string) => instructions.findLast(([instruction]) => instruction === name)?.[1];
    const variables = instructions.flatMap(([name, value = '']) => (name === 'ENV' ? [value] : []));
    assert.ok(variables.includes(`NODE_OPTIONS="${REGISTER}"`));
    for (const variable of variables) {
      const [name = ''] = variable.split('=');
      assert.ok(!name.startsWith('RDCP_') || KNOWN.includes(name), name);
    }
    assert.equal(JSON.parse(last('CMD') ?? '')[0], 'node');
    assert.equal(last('USER'), 'node');
  });
});

describe('the recipe for Kubernetes', () => {
  const resources = blocksOf('yaml')
    .filter(({ document }) => document === RECIPES)
    .flatMap(({ code }) => parseAllDocuments(code).map((each) => each.toJS()));
  const byKind = Object.fromEntries(resources.map((resource) => [resource.kind, resource]));
  const configurationOf = (name: string) => {
    const map = resources.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
    return JSON.parse(map.data['rdcp.json']);
  };
  const PODS = { Deployment: byKind.Deployment.spec, CronJob: byKind.CronJob.spec.jobTemplate.spec };

  it('has configurations, a deployment, a job and a network policy', () => {
    assert.deepEqual(Object.keys(byKind).sort(), ['ConfigMap', 'CronJob', 'Deployment', 'NetworkPolicy']);
  });

  for (const [kind, { template }] of Object.entries(PODS)) {
    it(`configures what the service accepts, and mounts what that names (${kind})`, () => {
      const [container] = template.spec.containers;
      const environment = Object.fromEntries(
        container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
      );
      assert.equal(environment.NODE_OPTIONS, REGISTER);
      for (const name of Object.keys(environment)) assert.ok(!name.startsWith('RDCP_') || KNOWN.includes(name), name);
      const mounts: string[] = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath);
      assert.ok(mounts.includes(environment.RDCP_CONFIG));
      const volumes = template.spec.volumes as { name: string; configMap?: { name: string } }[];
      const configuration = configurationOf(volumes.find(({ name }) => name === 'rdcp')?.configMap?.name ?? '');
      const { security, pull } = parseConfig({ store: environment.RDCP_STORE, ...configuration });
      const file = pull?.file ?? (security.apiKeys as { file: string }).file;
      assert.ok(mounts.some((path) => dirname(file) === path));
      for (const { name } of container.volumeMounts)
        assert.ok(
          volumes.some((volume) => volume.name === name),
          name,
        );
    });
  }

  it('lets others to the port of the application alone', () => {
    const { spec } = byKind.NetworkPolicy;
    assert.deepEqual(spec.podSelector, byKind.Deployment.spec.selector);
    const open = spec.ingress.filter((rule: { from?: unknown }) => rule.from === undefined);
    assert.deepEqual(open, [{ ports: [{ port: 8080 }] }]);
    const guarded = spec.ingress.filter((rule: { from?: unknown }) => rule.from !== undefined);
    assert.deepEqual(
      guarded.flatMap((rule: { ports: { port: number }[] }) => rule.ports.map(({ port }) => port)),
      [9465, 9464],
    );
  });
});

it('the scrape configuration in docs/telemetry.md is one of Prometheus', (t) =>
  withProgram(t, 'promtool', async () => {
    const [block] = blocksOf('yaml').filter(({ document }) => document === 'docs/telemetry.md');
    const folder = newFolder(t);
    writeFileSync(join(folder, 'prometheus.yml'), block?.code ?? '');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', join(folder, 'prometheus.yml')], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
  }));
