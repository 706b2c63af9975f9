import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Node, SyntaxKind } from 'typescript/unstable/ast';
import { API, type Symbol as Named, type Project, SymbolFlags } from 'typescript/unstable/sync';
import { assertBuilt, ROOT } from '../support/built.ts';
import { folderOfPackage } from '../support/folder.ts';
import { MANIFEST } from './consumer.ts';

const DIST = join(ROOT, 'dist');
const DECLARED = SymbolFlags.Interface | SymbolFlags.TypeAlias | SymbolFlags.Class | SymbolFlags.Enum;
const NAMED = DECLARED | SymbolFlags.Function | SymbolFlags.BlockScopedVariable;

/** The entries with JavaScript, as `index`, `api`, … */
const ENTRIES = Object.values(MANIFEST.exports).flatMap((target) => {
  const types = typeof target === 'object' && target !== null && 'types' in target ? String(target.types) : '';
  return types === '' ? [] : [types.slice('./dist/'.length, -'.d.ts'.length)];
});

describe('a name in the signatures of', () => {
  assertBuilt();
  const tsconfig = join(folderOfPackage(), 'tsconfig.json');
  const compilerOptions = { noEmit: true, rootDir: ROOT };
  const files = ENTRIES.map((entry) => join(DIST, `${entry}.d.ts`));
  writeFileSync(tsconfig, JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: [], files }));
  const api = new API({ cwd: ROOT });
  after(() => api.close());
  const [project] = api.updateSnapshot({ openProjects: [tsconfig] }).getProjects();
  assert.ok(project);
  const root = exportsOf(project, 'index');
  const nameable = new Set(ENTRIES.flatMap((entry) => namesOf(project, entry)).map(({ id }) => id));

  for (const entry of ENTRIES) {
    it(`${entry} is exported by one of the entries`, () => {
      const missing = namesOf(project, entry).flatMap((symbol) =>
        namesIn(project, symbol)
          .filter(({ id }) => !nameable.has(id))
          .map(({ name }) => `${name}, of ${symbol.name}`),
      );
      assert.deepEqual(missing, []);
    });
  }

  it('has one meaning in all entries', () => {
    const meanings = new Map<string, Set<number>>();
    for (const { name, id } of ENTRIES.flatMap((entry) => exportsOf(project, entry))) {
      meanings.set(name, (meanings.get(name) ?? new Set()).add(id));
    }
    assert.deepEqual(
      [...meanings].filter(([, ids]) => ids.size > 1).map(([name]) => name),
      [],
    );
  });

  it('is one of at most 72 of the root', () => {
    assert.ok(root.length <= 72, `${root.length}: ${root.map(({ name }) => name).join(' ')}`);
  });

  it('is explained, and each of its members', () => {
    const symbols = ENTRIES.flatMap((entry) => namesOf(project, entry));
    const members = new Map(symbols.flatMap((symbol) => membersOf(project, symbol)));
    assert.ok(members.has('DiscoveredCategory.metrics.callsTotal') && members.has('RdcpClient.tokens'));
    const unexplained = [...members].filter(([, text]) => !text.trimStart().startsWith('/**'));
    assert.deepEqual(unexplained.map(([name]) => name).sort(), []);
  });

  it('is found: createRdcp takes a configuration and returns a remote control', () => {
    const [createRdcp] = root.filter(({ name }) => name === 'createRdcp');
    assert.ok(createRdcp);
    assert.deepEqual(
      namesIn(project, createRdcp)
        .map(({ name }) => name)
        .sort(),
      ['Rdcp', 'RdcpConfig', 'createRdcp'],
    );
  });
});

function target({ checker }: Project, symbol: Named): Named {
  return (symbol.flags & SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
}

function exportsOf(project: Project, entry: string): Named[] {
  const { checker, program } = project;
  const file = program.getSourceFile(join(DIST, `${entry}.d.ts`));
  assert.ok(file, entry);
  const module = checker.getSymbolAtLocation(file);
  return module === undefined ? [] : checker.getExportsOfModule(module).map((symbol) => target(project, symbol));
}

/** What an entry exports, and what is in its namespaces. */
function namesOf(project: Project, entry: string): Named[] {
  return exportsOf(project, entry).flatMap((symbol) =>
    (symbol.flags & (SymbolFlags.NamespaceModule | SymbolFlags.ValueModule)) === 0
      ? [symbol]
      : project.checker.getExportsOfModule(symbol).map((each) => target(project, each)),
  );
}

/** Everything of this package that the declarations of a symbol name. */
function namesIn(project: Project, symbol: Named): Named[] {
  const found = new Map<number, Named>();
  const visit = (node: Node): void => {
    const named = node.kind === SyntaxKind.Identifier ? project.checker.getSymbolAtLocation(node) : undefined;
    const meant = named && target(project, named);
    if (meant !== undefined && (meant.flags & NAMED) !== 0 && isOurs(meant)) found.set(meant.id, meant);
    node.forEachChild((child) => {
      visit(child);
    });
  };
  for (const declaration of symbol.declarations) {
    const node = declaration.resolve(project);
    assert.ok(node, symbol.name);
    visit(node);
  }
  return [...found.values()];
}

const MEMBERS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.PropertySignature,
  SyntaxKind.MethodSignature,
  SyntaxKind.PropertyDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.GetAccessor,
]);

/** Interfaces and classes of this package, with their members and those of objects in them: the text with what stands before it. */
function membersOf(project: Project, symbol: Named): [name: string, text: string][] {
  if (!isOurs(symbol)) return [];
  return symbol.declarations.flatMap((declaration) => {
    const node = declaration.resolve(project);
    if (node?.kind !== SyntaxKind.InterfaceDeclaration && node?.kind !== SyntaxKind.ClassDeclaration) return [];
    const { text } = node.getSourceFile();
    const found: [string, string][] = [[symbol.name, text.slice(node.pos, node.end)]];
    const visit = (inner: Node, path: string): void => {
      const member = MEMBERS.has(inner.kind);
      const [name = ''] = member ? (/[\w$#]+(?='?\??[:(<;])/.exec(inner.getText()) ?? []) : [];
      if (member && name !== '#private') found.push([`${path}.${name}`, text.slice(inner.pos, inner.end)]);
      const callable = inner.kind === SyntaxKind.MethodSignature || inner.kind === SyntaxKind.MethodDeclaration;
      if (!callable) inner.forEachChild((child) => visit(child, member ? `${path}.${name}` : path));
    };
    node.forEachChild((child) => visit(child, symbol.name));
    return found;
  });
}

function isOurs({ declarations }: Named): boolean {
  return declarations.some(({ path }) => path.startsWith(`${DIST}/`));
}
