import { valueAt } from './body.ts';
import { catalogue } from './catalogue.ts';
import { type Level, runChecks } from './check.ts';
import type { Options } from './options.ts';
import { isConformant, type Report, summarize } from './report.ts';
import { Session } from './session.ts';
import { restore, wellKnown } from './subject.ts';

const LEVEL_OF: Readonly<Record<string, Level>> = { basic: 1, standard: 2, enterprise: 3 };

/**
 * Judges a server, and puts back what it switched.
 * @param notice takes a line about what the run is waiting for
 * @param signal ends the run early; what was switched is put back all the same
 */
export async function judge(
  options: Omit<Options, 'json'>,
  notice: (line: string) => void,
  signal?: AbortSignal,
): Promise<Report> {
  const session = new Session({ ...options, notice });
  const claimed = String(valueAt((await wellKnown(session)).body, 'security.level') ?? 'nothing');
  const level = options.level ?? LEVEL_OF[claimed] ?? 1;
  let leftOver: readonly string[] = [];
  const selection = { ...options, level, ...(signal === undefined ? {} : { signal }) };
  const results = await runChecks(catalogue, session, selection).finally(async () => {
    leftOver = await restore(session);
  });
  return {
    url: options.target.url.href,
    claimed,
    level,
    ...(options.profile === undefined ? {} : { profile: options.profile }),
    results,
    summary: summarize(results),
    leftOver,
    conformant: isConformant(results),
  };
}
