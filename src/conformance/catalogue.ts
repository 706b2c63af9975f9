import type { Check } from './check.ts';
import { answerDecisions } from './otelrdcp/answers.ts';
import { authenticationDecisions } from './otelrdcp/authentication.ts';
import { controlDecisions } from './otelrdcp/control.ts';
import { requestDecisions } from './otelrdcp/requests.ts';
import { streamDecisions } from './otelrdcp/streams.ts';
import { auditChecks } from './rdcp/audit.ts';
import { authenticationChecks } from './rdcp/authentication.ts';
import { controlChecks } from './rdcp/control.ts';
import { discoveryChecks } from './rdcp/discovery.ts';
import { enterpriseChecks } from './rdcp/enterprise.ts';
import { errorChecks } from './rdcp/errors.ts';
import { headerChecks } from './rdcp/headers.ts';
import { healthChecks } from './rdcp/health.ts';
import { limitChecks } from './rdcp/limits.ts';
import { malformedChecks } from './rdcp/malformed.ts';
import { metricsChecks } from './rdcp/metrics.ts';
import { scopeChecks } from './rdcp/scopes.ts';
import { standardChecks } from './rdcp/standard.ts';
import { statusChecks } from './rdcp/status.ts';
import { temporaryChecks } from './rdcp/temporary.ts';
import { tenancyChecks } from './rdcp/tenancy.ts';
import { transportChecks } from './rdcp/transport.ts';
import { wellKnownChecks } from './rdcp/well-known.ts';

const specified: readonly Check[] = [
  ...transportChecks,
  ...wellKnownChecks,
  ...discoveryChecks,
  ...statusChecks,
  ...healthChecks,
  ...controlChecks,
  ...malformedChecks,
  ...temporaryChecks,
  ...authenticationChecks,
  ...scopeChecks,
  ...errorChecks,
  ...headerChecks,
  ...metricsChecks,
  ...auditChecks,
  ...standardChecks,
  ...tenancyChecks,
  ...enterpriseChecks,
  ...limitChecks,
];

const decided: readonly Check[] = [
  ...requestDecisions,
  ...authenticationDecisions,
  ...controlDecisions,
  ...answerDecisions,
  ...streamDecisions,
];

/** Every check, in the order in which they are made: what uses up a rate limit comes last. */
export const catalogue: readonly Check[] = [...specified, ...decided].sort(
  (a, b) => Number(a.exhaust ?? false) - Number(b.exhaust ?? false),
);
