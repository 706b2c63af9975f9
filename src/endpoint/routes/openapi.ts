import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { REFUSALS } from '../../wire/refusals.ts';
import { packageFolder } from '../package-folder.ts';
import type { RouteParts } from '../parts.ts';
import type { Handler } from '../steps.ts';

/** `GET /rdcp/v1/openapi.json`: of all that the document of the package describes, what this server has. */
export function openApi({ hasPath }: RouteParts): Handler {
  let made: Promise<object> | undefined;

  async function make(): Promise<object> {
    const document = JSON.parse(await readFile(join(packageFolder(), 'dist/openapi.json'), 'utf8'));
    const paths = Object.entries(document.paths).filter(([path]) => hasPath(path));
    return { ...document, paths: Object.fromEntries(paths) };
  }

  return async () => {
    made ??= make();
    try {
      return { body: await made };
    } catch (cause) {
      made = undefined;
      throw REFUSALS.notInstalled('The OpenAPI document', cause);
    }
  };
}
