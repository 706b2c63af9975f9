import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { newFolder } from '../support/folder.ts';
import { rdcp } from './run.ts';

const NAME = 'opentelemetry-instrumentation-rdcp';
const IMPORT = `--import ${NAME}/register`;
const INSTALLED = { [NAME]: '1', '@opentelemetry/sdk-node': '1' };

type Files = Readonly<Record<string, string | object>>;

/** A project folder. Objects are written as JSON. */
function project(t: TestContext, files: Files) {
  const folder = newFolder(t);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content, undefined, 2));
  }
  const contents = () =>
    Object.fromEntries(
      readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => {
          const path = join(entry.parentPath, entry.name);
          return [path.slice(folder.length + 1), readFileSync(path, 'utf8')];
        }),
    );
  return { folder, contents, init: (...args: string[]) => rdcp(['init', ...args], { cwd: folder }) };
}

/** An application that a script starts, with the packages that it needs. */
const app = (t: TestContext, start: string, more: Files = {}) =>
  project(t, { 'package.json': { scripts: { start }, dependencies: INSTALLED }, ...more });

const script = (contents: Record<string, string>, name = 'start') =>
  JSON.parse(contents['package.json'] ?? '').scripts[name];

describe('rdcp init', () => {
  it('shows the start script of an Express app, and with --write changes that string alone, once', async (t) => {
    const manifest = `{\n    "name":"shop", "note": "node server.js",\n\t"scripts": { "test": "node --test", "start" : "NODE_ENV=production node --env-file=.env server.js" },\n    "dependencies": ${JSON.stringify({ express: '5', pino: '10', ...INSTALLED })}\n}\n`;
    const { contents, init } = project(t, { 'package.json': manifest, 'server.js': '' });
    const before = contents();
    const shown = await init();
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /^Found: JavaScript; CommonJS; express; loggers: pino$/m);
    assert.ok(shown.stdout.includes(`+ NODE_ENV=production node ${IMPORT} --env-file=.env server.js`));
    assert.deepEqual(contents(), before);
    await init('--write');
    assert.deepEqual(contents(), {
      ...before,
      'package.json': manifest.replace('production node', `production node ${IMPORT}`),
    });
    const again = await init('--write');
    assert.match(again.stdout, /^Nothing to do: the project is under control\.$/m);
    assert.equal(contents()['package.json'], manifest.replace('production node', `production node ${IMPORT}`));
  });

  it('names the directory that it was given in the line that writes, as a shell takes it', async (t) => {
    const { folder, init } = project(t, { 'package.json': { scripts: { start: 'node server.js' } }, 'server.js': '' });
    const lineFor = async (...args: string[]) =>
      /^To write the scripts: (.*)$/m.exec((await init(...args)).stdout)?.[1];
    assert.equal(await lineFor(), 'npx opentelemetry-instrumentation-rdcp init --write');
    assert.equal(await lineFor(folder), `npx opentelemetry-instrumentation-rdcp init --write ${folder}`);
    const odd = join(folder, "it's here");
    mkdirSync(odd);
    for (const name of ['package.json', 'server.js']) copyFileSync(join(folder, name), join(odd, name));
    assert.equal(await lineFor(odd), `npx opentelemetry-instrumentation-rdcp init --write '${folder}/it'\\''s here'`);
  });

  it('changes the script of a Nest app that runs node, and says how to install what is missing', async (t) => {
    const { contents, init } = project(t, {
      'package.json': {
        scripts: { start: 'nest start', 'start:prod': 'npm run build && node dist/main' },
        dependencies: { '@nestjs/core': '11', '@nestjs/common': '11' },
      },
      'tsconfig.json': {},
      'pnpm-lock.yaml': '',
    });
    const { stdout } = await init('--write');
    assert.match(stdout, /^Found: TypeScript; CommonJS; @nestjs\/core; loggers: @nestjs\/common$/m);
    assert.ok(stdout.includes(`pnpm add ${Object.keys(INSTALLED).join(' ')}`));
    assert.equal(script(contents(), 'start:prod'), `npm run build && node ${IMPORT} dist/main`);
    assert.equal(script(contents()), 'nest start');
  });

  for (const [form, type, line] of [
    ['ES modules', 'module', `import { RdcpInstrumentation } from '${NAME}';`],
    ['CommonJS', 'commonjs', `const { RdcpInstrumentation } = require('${NAME}');`],
  ] as const) {
    it(`shows the lines for an SDK file of ${form}, and edits neither it nor the scripts`, async (t) => {
      const sdk = 'const sdk = new NodeSDK({ instrumentations: [] });\n';
      const { folder, contents, init } = project(t, {
        'package.json': {
          type,
          scripts: { start: 'node --import ./src/tracing.js app.js' },
          dependencies: { [NAME]: '1' },
        },
        'src/tracing.js': sdk,
      });
      const before = contents();
      const { stdout } = await init('--write');
      assert.ok(stdout.includes('In src/tracing.js, add:'));
      assert.ok(stdout.includes(line));
      assert.ok(stdout.includes('new RdcpInstrumentation({ adopt: true }),'));
      assert.deepEqual(contents(), before);
      writeFileSync(join(folder, 'src/tracing.js'), `${line}\n${sdk}`);
      assert.match((await init()).stdout, /Nothing to do/);
    });
  }

  it('shows the command where there is no start script, or another program runs node', async (t) => {
    const bare = await project(t, { 'package.json': { main: 'lib/app.js', dependencies: INSTALLED } }).init('--write');
    assert.ok(bare.stdout.includes(`node ${IMPORT} lib/app.js`));
    const next = app(t, 'next start');
    const before = next.contents();
    assert.ok((await next.init('--write')).stdout.includes(`NODE_OPTIONS='${IMPORT}' npm start`));
    assert.deepEqual(next.contents(), before);
  });

  it('puts itself behind modules that are preloaded, and into NODE_OPTIONS that a script sets', async (t) => {
    for (const [start, changed] of [
      [
        'node -r @opentelemetry/auto-instrumentations-node/register app.js',
        `node -r @opentelemetry/auto-instrumentations-node/register ${IMPORT} app.js`,
      ],
      [
        'node --env-file=.env --import=./a.mjs --import ./b.mjs app.js',
        `node --env-file=.env --import=./a.mjs --import ./b.mjs ${IMPORT} app.js`,
      ],
      ["NODE_OPTIONS='--no-warnings' next start", `NODE_OPTIONS='--no-warnings ${IMPORT}' next start`],
      [
        'cross-env NODE_OPTIONS=--no-warnings next start',
        `cross-env NODE_OPTIONS="--no-warnings ${IMPORT}" next start`,
      ],
      [
        'cross-env NODE_OPTIONS="--no-warnings" next start',
        `cross-env NODE_OPTIONS="--no-warnings ${IMPORT}" next start`,
      ],
      ['tsx src/main.ts', `tsx ${IMPORT} src/main.ts`],
      ['tsx watch src/main.ts', 'tsx watch src/main.ts'],
      // A command only where a shell would take it for one.
      ['cd node && ./run', 'cd node && ./run'],
      ['echo "a node b"', 'echo "a node b"'],
      ['cross-env A="1 2" B=3 node app.js | pino-pretty', `cross-env A="1 2" B=3 node ${IMPORT} app.js | pino-pretty`],
      ['node build.js && node app.js', `node build.js && node ${IMPORT} app.js`],
    ] as const) {
      const { contents, init } = app(t, start);
      await init('--write');
      assert.equal(script(contents()), changed);
    }
  });

  it('changes the script that the start script runs', async (t) => {
    const scripts = { start: 'npm run serve', serve: 'yarn app', app: 'node app.js', loop: 'npm run loop' };
    const { contents, init } = project(t, { 'package.json': { scripts, dependencies: INSTALLED } });
    await init('--write');
    assert.deepEqual(JSON.parse(contents()['package.json'] ?? '').scripts, {
      ...scripts,
      app: `node ${IMPORT} app.js`,
    });
    assert.match((await init('--write')).stdout, /Nothing to do/);
  });

  it('finds the SDK in a file of another name that a script preloads', async (t) => {
    const { init } = project(t, {
      'package.json': { scripts: { start: 'node --import ./setup.mjs app.js' } },
      'setup.mjs': 'new NodeSDK().start();',
    });
    assert.match((await init()).stdout, /^In setup\.mjs, add:$/m);
  });

  it('attaches to the SDK of auto-instrumentations, and says what comes next', async (t) => {
    const { init } = project(t, {
      'package.json': {
        scripts: { start: 'node app.js' },
        dependencies: { '@opentelemetry/auto-instrumentations-node': '1' },
      },
    });
    const { stdout } = await init();
    assert.match(stdout, new RegExp(`Install what is missing:\n  npm install ${NAME}\n`));
    assert.match(stdout, /Then start the service, and list its categories, in the same folder:\n {2}npx rdcp list\n$/);
  });

  it('names the option of an ecosystem file that has one, and what Nest starts in development', async (t) => {
    const { init } = app(t, 'pm2-runtime ecosystem.config.js', {
      'ecosystem.config.js': "module.exports = { apps: [{ script: 'app.js', node_args: '--no-warnings' }] };",
    });
    const { stdout } = await init();
    assert.ok(stdout.includes(`In ecosystem.config.js, add to node_args of the app:\n  ${IMPORT}`));
    assert.ok(!stdout.includes('NODE_OPTIONS'));
    const nest = project(t, {
      'package.json': { scripts: { start: 'nest start', 'start:prod': 'node dist/main' }, dependencies: INSTALLED },
    });
    assert.ok((await nest.init()).stdout.includes(`NODE_OPTIONS='${IMPORT}' npm start`));
  });

  it('keeps a byte order mark and the ends of lines', async (t) => {
    const manifest = '\uFEFF{\r\n  "scripts": {\r\n    "start": "node app.js"\r\n  }\r\n}\r\n';
    const { contents, init } = project(t, { 'package.json': manifest });
    assert.equal((await init('--write')).code, 0);
    assert.equal(contents()['package.json'], manifest.replace('node app', `node ${IMPORT} app`));
  });

  it('mentions a Dockerfile and an ecosystem file, and leaves them alone', async (t) => {
    const { contents, init } = app(t, 'node app.js', {
      Dockerfile: 'FROM node:24\nCMD ["node", "app.js"]\n',
      'ecosystem.config.cjs': "module.exports = { apps: [{ script: 'app.js' }] };\n",
    });
    const before = contents();
    const { stdout } = await init('--write');
    assert.ok(stdout.includes(`CMD ["node", "--import", "${NAME}/register", "app.js"]`));
    assert.ok(stdout.includes(`node_args: '${IMPORT}',`));
    assert.deepEqual({ ...contents(), 'package.json': '' }, { ...before, 'package.json': '' });
  });

  it('sends the root of a workspace to its services, which it takes as a directory', async (t) => {
    const { contents, init } = project(t, {
      'package.json': { workspaces: ['services/*'] },
      'services/shop/package.json': { scripts: { start: 'node app.js' }, dependencies: INSTALLED },
    });
    const before = contents();
    assert.match((await init('--write')).stdout, /root of a workspace: run rdcp init in the folder of each service/);
    assert.deepEqual(contents(), before);
    await init('--write', 'services/shop');
    assert.equal(JSON.parse(contents()['services/shop/package.json'] ?? '').scripts.start, `node ${IMPORT} app.js`);
  });

  it('refuses a folder without a package.json, or with one that is no JSON', async (t) => {
    const { code, stderr } = await project(t, {}).init();
    assert.deepEqual([code, stderr], [2, 'rdcp: there is no package.json: run rdcp init in the folder of a service\n']);
    for (const manifest of ['{', '[]', 'null']) {
      assert.equal((await project(t, { 'package.json': manifest }).init()).code, 2);
    }
  });

  it('says by hand what no script says: the image, the file of PM2 and the command of an app without scripts', async (t) => {
    const { init } = project(t, {
      'package.json': { name: 'shop' },
      'yarn.lock': '',
      Dockerfile: 'FROM node:24\nCMD node app.js\n',
      'ecosystem.config.json': { apps: [{ script: 'app.js' }] },
    });
    const { code, stdout, stderr } = await init();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /\byarn add opentelemetry-instrumentation-rdcp /);
    assert.ok(stdout.includes(`node ${IMPORT} app.js`), stdout);
    assert.ok(stdout.includes(`CMD node ${IMPORT} app.js`), stdout);
    assert.ok(stdout.includes(`"node_args": "${IMPORT}"`), stdout);
  });
});
