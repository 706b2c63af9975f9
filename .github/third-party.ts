// Lists the packages that `build.ts` has bundled: names, versions and licences for dist/, as text and as an SBOM.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RolldownOutput } from 'rolldown';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/** A package of which a part is bundled. */
interface Bundled extends Manifest {
  readonly licenceText: string;
}

/** The packages whose files are in these outputs, by name. */
export function bundledPackages(outputs: readonly RolldownOutput[]): Bundled[] {
  const chunks = outputs.flatMap(({ output }) => output.filter((file) => file.type === 'chunk'));
  const folders = chunks
    .flatMap(({ moduleIds }) => moduleIds)
    .flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []);
  return [...new Set(folders)]
    .map((folder) => ({ ...manifestIn(folder), licenceText: licenceIn(folder) }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function manifestIn(folder: string): Manifest {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  return { name, version, license };
}

function licenceIn(folder: string): string {
  const file = readdirSync(folder).find((name) => /^licen[cs]e(?:\.|$)/i.test(name));
  if (file === undefined) throw new Error(`${folder} has no licence text`);
  return readFileSync(join(folder, file), 'utf8').trim();
}

/** THIRD_PARTY.md: each package with its version and the text of its licence. */
export function licencesOf(packages: readonly Bundled[]): string {
  const sections = packages.map(
    ({ name, version, license, licenceText }) =>
      `## ${name} ${version}\n\n${license}\n\n\`\`\`text\n${licenceText}\n\`\`\`\n`,
  );
  return `# Third-party software\n\nThe files of this package contain parts of these packages.\n\n${sections.join('\n')}`;
}

/** An SBOM of the format CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/). */
export function sbomOf(packages: readonly Bundled[]): string {
  const component = ({ name, version, license }: Manifest) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    return { type: 'library', 'bom-ref': purl, name, version, licenses: [{ license: { id: license } }], purl };
  };
  const own = component(manifestIn(join(import.meta.dirname, '..')));
  const components = packages.map(component);
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: own },
    components,
    dependencies: [{ ref: own.purl, dependsOn: components.map(({ purl }) => purl) }],
  };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}
