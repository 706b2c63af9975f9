import { valueAt } from './body.ts';
import { catalogue } from './catalogue.ts';
import { type Level, runChecks, type Selection } from './check.ts';
import type { Target } from './http.ts';
import { isConformant, type Report, summarize } from './report.ts';
import { type Credentials, Session, type Timing } from './session.ts';
import { restore, wellKnown } from './subject.ts';

const LEVEL_OF: Readonly<Record<string, Level>> = { basic: 1, standard: 2, enterprise: 3 };

/** The server to judge, and how. */
export interface Judgement extends Omit<Selection, 'level' | 'signal'> {
  readonly target: Target;
  readonly credentials: Credentials;
  /** The category to switch. @default one that discovery shows switched off */
  readonly category?: string;
  /** @default the level that the server declares */
  readonly level?: Level;
  /** Sends nothing but GET, HEAD and OPTIONS; checks that need more are skipped. @default false */
  readonly readOnly?: boolean;
  /** @default real time */
  readonly timing?: Timing;
}

/**
 * Judges a server, and puts back what it switched.
 * @param notice takes a line about what the run is waiting for
 * @param signal ends the run early; what was switched is put back all the same
 */
export async function judge(options: Judgement, notice: (line: string) => void, signal?: AbortSignal): Promise<Report> {
  const session = new Session({ ...options, notice });
  const claimed = String(valueAt((await wellKnown(session)).body, 'security.level') ?? 'nothing');
  const level = options.level ?? LEVEL_OF[claimed] ?? 1;
  let leftOver: readonly string[] = [];
  const selection = { ...options, level, ...(signal === undefined ? {} : { signal }) };
  const results = await runChecks(catalogue, session, selection).finally(async () => {
    if (options.readOnly !== true) leftOver = await restore(session);
  });
  return {
    url: options.target.url.href,
    claimed,
    level,
    results,
    summary: summarize(results),
    leftOver,
    conformant: isConformant(results),
  };
}
