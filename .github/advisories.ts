// Looks for known advisories of the packages that dist/ bundles: `npm audit` of these alone, in the versions of the SBOM.
// `node .github/advisories.ts` fails if there are any, and if that is not known: a registry may answer no audits (status 405).

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SBOM = join(import.meta.dirname, '../dist/sbom.cdx.json');

interface Component {
  readonly name: string;
  readonly version: string;
}

interface Report {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string; readonly range: string }>>;
  /** Why there is no report. */
  readonly message?: string;
}

/** The bundled packages and their versions. */
export function bundledComponents(): readonly Component[] {
  return (JSON.parse(readFileSync(SBOM, 'utf8')) as { readonly components: readonly Component[] }).components;
}

/**
 * One line for each package with a known advisory.
 * @param npm the command that asks
 * @throws if it is not known whether there are any, as with a registry that answers no audits
 */
export function knownAdvisories(components: readonly Component[], npm = 'npm'): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-advisories-'));
  try {
    const dependencies = Object.fromEntries(components.map(({ name, version }) => [name, version]));
    const project = { name: 'bundled', version: '0.0.0' };
    const installed = components.map(({ name, version }) => [`node_modules/${name}`, { version }]);
    const packages = Object.fromEntries([['', { ...project, dependencies }], ...installed]);
    writeFileSync(join(directory, 'package.json'), JSON.stringify({ ...project, dependencies }));
    writeFileSync(join(directory, 'package-lock.json'), JSON.stringify({ ...project, lockfileVersion: 3, packages }));
    const audit = ['audit', '--package-lock-only', '--json'];
    const { stdout, stderr, error } = spawnSync(npm, audit, { cwd: directory, encoding: 'utf8' });
    if (error !== undefined) throw new Error(`npm could not be started: ${error.message}`);
    const { vulnerabilities, message } = reportIn(stdout);
    if (vulnerabilities === undefined) {
      // The address of the registry may hold credentials.
      const reason = (message ?? stderr.trim()).replace(/https?:\/\/\S+/g, 'the registry');
      throw new Error(`not known, because npm audit gives no report: ${reason || 'it says nothing'}`);
    }
    return Object.entries(vulnerabilities).map(
      ([name, { severity, range }]) => `${name} ${dependencies[name]} has a known advisory (${severity}, ${range})`,
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function reportIn(output: string): Report {
  try {
    return (JSON.parse(output) as Report | null) ?? {};
  } catch {
    return {};
  }
}

if (import.meta.main) {
  try {
    const found = knownAdvisories(bundledComponents());
    if (found.length > 0) throw new Error(found.join(', '));
  } catch (error) {
    console.error(`advisories: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
