import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import type { Option } from '../../../src/tools/cli/command.ts';
import { root } from '../../../src/tools/cli/commands/root.ts';
import { CONNECTION_OPTIONS } from '../../../src/tools/cli/connection.ts';
import { SERVICE_OPTIONS, servicesLast } from '../../../src/tools/cli/services.ts';
import { commandsOf } from '../../cli/commands.ts';
import { wordsOf } from '../../cli/run.ts';
import { startRedis, whyNoRedis } from '../../store/redis-server.ts';
import { ROOT } from '../../support/built.ts';
import { newFolder } from '../../support/folder.ts';
import { freePort } from '../../support/free-port.ts';
import { startPostgres, whyNoPostgres } from '../../support/postgres.ts';
import { until } from '../../support/until.ts';
import { schemaOptions } from '../options.ts';
import { type Application, install } from './application.ts';
import { COMMANDS, type Row } from './commands.ts';
import { FEATURES } from './features.ts';
import { CONFIGURATIONS } from './programs/configurations.ts';
import { startServices } from './services.ts';

const textOf = (program: string) => readFileSync(join(import.meta.dirname, 'programs', program), 'utf8');

/** Options of nearly every command, which one row for all of them tries. */
const OF_ALL = new Set<Option>(Object.values({ ...CONNECTION_OPTIONS, ...SERVICE_OPTIONS }));

test('every command and each of its options has a row, and every row names what there is', async () => {
  const commands = (await commandsOf(root.commands)).sort(([one], [other]) => other.length - one.length);
  const typed = new Set<string>();
  for (const [line] of Object.values(COMMANDS).flat()) {
    const words = servicesLast(wordsOf(line));
    const [path, { options }] =
      commands.find(([path]) => path.every((word, at) => words[at] === word)) ?? assert.fail(line);
    typed.add(path.join(' '));
    for (const word of words) {
      const [, long, short] = /^(?:--([a-z-]+)|-([a-z])$)/.exec(word) ?? [];
      if (long === undefined && short === undefined) continue;
      const [name, option] =
        Object.entries(options).find(([name, option]) => name === long || (short && option.short === short)) ??
        assert.fail(`${word} of "${line}" is no option`);
      typed.add(OF_ALL.has(option) ? `--${name}` : `${path.join(' ')} --${name}`);
    }
  }
  const wanted = commands.flatMap(([path, { options }]) => {
    const name = path.join(' ');
    return [name, ...Object.entries(options).map(([long, each]) => `${OF_ALL.has(each) ? '' : `${name} `}--${long}`)];
  });
  assert.deepEqual(
    [...new Set(wanted)].filter((each) => !typed.has(each)).sort(),
    [],
    'in test/package/installed/commands.ts',
  );
});

test('every page of docs/ is tried or says why not, and its rows and programs are there', () => {
  const pages = globSync('docs/*.md', { cwd: ROOT }).map((path) => basename(path, '.md'));
  assert.deepEqual(Object.keys(FEATURES).sort(), pages.sort(), 'in test/package/installed/features.ts');
  const lines = Object.values(COMMANDS).flatMap((rows) => rows.map(([line]) => line));
  for (const [page, { program, rows = [], not }] of Object.entries(FEATURES)) {
    assert.ok(program !== undefined || rows.length > 0 || not !== undefined, page);
    const untyped = rows.filter((start) => !lines.some((line) => line.startsWith(start)));
    assert.deepEqual(untyped, [], page);
  }
});

test('the configurations have every option', () => {
  const has = (value: unknown, [name, ...rest]: readonly string[]): boolean => {
    if (name === undefined) return value !== undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value) !== (name === '[]')) return false;
    const inner =
      name === '[]' || name === '<name>' ? Object.values(value) : [(value as Record<string, unknown>)[name]];
    return inner.some((each) => has(each, rest));
  };
  const missing = schemaOptions().filter(({ path }) => !CONFIGURATIONS.some((each) => has(each, path)));
  assert.deepEqual(
    missing.map(({ path }) => path.join('.')),
    [],
    'in test/package/installed/programs/configurations.ts',
  );
});

describe('installed from its tarball in an empty folder', () => {
  const folder = newFolder();
  let app: Application;
  let variables: Record<string, string>;
  const servers: { readonly url: string; close(): Promise<void> }[] = [];
  const skips = { REDIS_URL: whyNoRedis(), POSTGRES_URL: whyNoPostgres() };
  before(async () => {
    app = await install(folder);
    variables = await startServices(app);
    for (const [name, start] of Object.entries({ REDIS_URL: startRedis, POSTGRES_URL: startPostgres })) {
      if (skips[name as keyof typeof skips]) continue;
      const server = await start();
      servers.push(server);
      variables[name] = server.url;
    }
  });
  after(async () => {
    await app?.close();
    for (const server of servers) await server.close();
  });
  const skipOf = (text: string) => Object.entries(skips).find(([name]) => text.includes(name))?.[1] ?? false;

  it('finds nothing of this repository', () => {
    const { resolve } = createRequire(join(app.directory, 'shop.ts'));
    assert.ok(!app.directory.startsWith(ROOT));
    assert.ok(resolve('opentelemetry-instrumentation-rdcp').startsWith(join(app.directory, 'node_modules')));
    assert.throws(() => resolve('commander'), { code: 'MODULE_NOT_FOUND' }, 'a dependency of ours for development');
  });

  describe('rdcp', { concurrency: 3 }, () => {
    for (const [name, rows] of Object.entries(COMMANDS)) {
      describe(name, { concurrency: 1 }, () => {
        const found: Record<string, string> = {};
        for (const row of rows) it(row[0], { skip: skipOf(row[0]) }, () => prints(row, found));
      });
    }
  });

  describe('the features of docs', { concurrency: 3 }, () => {
    for (const [page, { program, env = {} }] of Object.entries(FEATURES)) {
      if (program !== undefined)
        it(`${page}.md`, { skip: skipOf(textOf(`${page}.ts`)) }, () => runs([...program, `${page}.ts`], env));
    }
    it('conditions from CommonJS', () => runs(['--no-experimental-require-module', 'conditions.cjs']));
    it('completion in bash', async () => {
      const script = `source <(rdcp completion bash); COMP_WORDS=(rdcp enable ORD); COMP_CWORD=2; _rdcp; echo "$COMPREPLY"`;
      const { printed } = await app.type(`bash -c '${script}'`, { env: variables });
      assert.equal(printed, 'ORDERS\n');
    });
  });

  async function runs(program: readonly string[], given: Readonly<Record<string, string>> = {}): Promise<void> {
    const env = { ...variables };
    for (const [name, value] of Object.entries(given)) env[name] = value === 'PORT' ? `${await freePort()}` : value;
    const { code, printed } = await app.type(`node ${program.join(' ')}`, { env });
    assert.equal(code, 0, printed);
  }

  async function prints([line, expected, more = {}]: Row, found: Record<string, string>): Promise<void> {
    const { code = 0, stdin, endless, meanwhile, again, logged } = more;
    const env = { ...variables, ...found };
    // Under a shell of its own, Ctrl-C would end that first.
    const type = () => app.type(`exec rdcp ${line}`, { env, stdin, meanwhile, until: endless && expected });
    let typed = await type();
    for (const end = Date.now() + 20_000; again && !expected.test(typed.printed) && Date.now() < end; )
      typed = await type();
    assert.match(typed.printed, expected);
    assert.equal(typed.code, code, typed.printed);
    Object.assign(found, expected.exec(typed.printed)?.groups);
    if (logged !== undefined) await until(`the services write ${logged}`, () => logged.test(app.logged()));
  }
});
