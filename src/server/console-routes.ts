import { randomBytes } from 'node:crypto';
import type { Router } from '@koa/router';
import type { Clock, Delay } from '../clock.ts';
import type { ResolvedConfig } from '../config.ts';
import { type AuthMethod, CONSOLE_PATHS } from '../protocol/constants.ts';
import type { RecordAccess } from './access-audit.ts';
import { type CodeBoard, ConsoleCodes } from './console-codes.ts';
import { CONSOLE_FILES, type ConsoleFileName, createConsoleFiles } from './console-files.ts';
import { consoleSettings } from './console-settings.ts';
import { jsonBody } from './middleware/body.ts';
import { sameMachineOnly } from './middleware/loopback-only.ts';
import type { OpenStreams } from './open-streams.ts';
import { limitAddress, limitRefusals, type RateLimiter } from './rate-limit.ts';
import { consoleFile, consoleRedirect } from './routes/console.ts';
import { consoleCode, consoleSession } from './routes/console-session.ts';
import { answer, endpoint, type RequestState, type Step } from './steps.ts';

export interface ConsoleParts {
  readonly config: ResolvedConfig;
  readonly clock: Clock;
  readonly delay: Delay;
  readonly streams: OpenStreams;
  /** Shared by the processes of a cluster. @default this process alone */
  readonly board?: (() => CodeBoard | undefined) | undefined;
  readonly report: (error: unknown) => void;
  readonly recordAccess: RecordAccess;
  readonly methods: readonly AuthMethod[];
  /** Steps of a request with a credential, in their order. */
  readonly identified: readonly Step[];
  /** Determines the tenant. */
  readonly tenancy: Step;
  /** Counts refusals of requests whose credential is in the body. */
  readonly anonymous: RateLimiter;
  /** Counts requests for files. */
  readonly visitors: RateLimiter;
}

/** The routes of the console, where it is served. @returns the paths of its files */
export function routeConsole(router: Router<RequestState>, parts: ConsoleParts): ReadonlySet<string> {
  const { config, clock, streams, recordAccess, methods, identified, tenancy, anonymous, visitors } = parts;
  const files = new Set<string>();
  if (consoleSettings(config) === undefined) return files;
  const codes = new ConsoleCodes({ ...parts, randomCode: () => randomBytes(32).toString('base64url') });
  streams.add(() => codes.clear());
  const access = { codes, recordAccess, clock, methods, tenancy };
  router.post(CONSOLE_PATHS.code, endpoint(...identified, tenancy, sameMachineOnly(), answer(consoleCode(access))));
  router.post(
    CONSOLE_PATHS.session,
    limitRefusals(anonymous, sameMachineOnly(), jsonBody(), answer(consoleSession(access))),
  );
  const read = createConsoleFiles();
  const serve = (path: string, step: Step) => {
    files.add(path);
    router.get(path, endpoint(limitAddress(visitors), step));
  };
  serve(CONSOLE_PATHS.folder, consoleRedirect());
  for (const name of Object.keys(CONSOLE_FILES) as ConsoleFileName[]) {
    serve(CONSOLE_PATHS.page + (name === 'index.html' ? '' : name), consoleFile(name, read));
  }
  return files;
}
